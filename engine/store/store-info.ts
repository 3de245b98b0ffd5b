// What a data directory says of itself: `store.json` records what must never change, the format and the number of partitions
// (slot = hash(certname) mod partitions). Knows nothing of LMDB, so that a thread that only routes need not load it.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Version of what lies on disk. */
export const FORMAT_VERSION = 1;

export interface StoreInfo {
  readonly format: number;
  readonly partitions: number;
}

export const PARTITIONS_DEFAULT = 8;

/** FNV-1a over the UTF-8 bytes of the certname, finished so that low bits are good; mod the number of partitions. */
export function slotOf(certname: string, partitions: number): number {
  let h = 0x811c9dc5;
  const bytes = Buffer.from(certname, 'utf8');
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i]!, 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 12;
  return (h >>> 0) % partitions;
}

/** Reads the directory's description, or writes a new one. Throws when it was written by a newer version. */
export function openStoreInfo(dir: string, options: { partitions?: number } = {}): StoreInfo {
  const file = join(dir, 'store.json');
  if (existsSync(file)) {
    const info = JSON.parse(readFileSync(file, 'utf8')) as StoreInfo;
    if (info.format > FORMAT_VERSION) {
      throw new Error(
        `${dir} was written by a newer version (format ${info.format}, this program knows ${FORMAT_VERSION})`,
      );
    }
    const missing = partitionDirs(dir, info).find((path) => !existsSync(path));
    if (missing !== undefined)
      throw new Error(`${missing} is missing: without it the data of its nodes is gone; restore a backup`);
    return info;
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const info: StoreInfo = { format: FORMAT_VERSION, partitions: options.partitions ?? PARTITIONS_DEFAULT };
  // The partitions are there before the description says so: one that is not there later was lost.
  for (const path of partitionDirs(dir, info)) mkdirSync(path, { recursive: true, mode: 0o700 });
  const temporary = `${file}.new`;
  writeFileSync(temporary, `${JSON.stringify(info)}\n`, { mode: 0o600, flush: true });
  renameSync(temporary, file);
  return info;
}

const partitionDirs = (dir: string, { partitions }: StoreInfo): string[] =>
  Array.from({ length: partitions }, (_, slot) => partitionDir(dir, slot));

export const partitionDir = (dir: string, slot: number): string =>
  join(dir, `partition-${String(slot).padStart(3, '0')}`);
