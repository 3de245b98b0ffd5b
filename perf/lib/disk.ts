// How much disk a folder takes: allocated blocks, so that sparse files count for what they use.

import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes of a server's store without its command log; NaN where its folders are not known. */
export const storeBytes = ({
  dirs,
  logDirs,
}: {
  readonly dirs: readonly string[];
  readonly logDirs: readonly string[];
}): number => (dirs.length === 0 ? Number.NaN : diskBytes(dirs) - diskBytes(logDirs));

/** Bytes. */
function diskBytes(dirs: readonly string[]): number {
  let total = 0;
  const pending = [...dirs];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    try {
      const stat = lstatSync(path);
      total += stat.blocks * 512;
      if (stat.isDirectory()) for (const name of readdirSync(path)) pending.push(join(path, name));
    } catch {
      // It was removed meanwhile.
    }
  }
  return total;
}
