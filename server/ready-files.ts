// Files that tell scripts around the server that it is ready.

import { lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from '../engine/directories.ts';

/** One port a line, in a file that is there only once the server is ready. */
export function writePorts(file: string | null, ports: readonly (number | undefined)[]): void {
  if (file === null) return;
  writeWhole(file, `${ports.filter((port) => port !== undefined).join('\n')}\n`);
}

/** Takes the file away, as far as that can be done: who waits for it waits for the next start. */
export function removePorts(file: string | null): void {
  try {
    if (file !== null && lstatSync(file).isFile()) rmSync(file);
  } catch {
    // It is not there, or no longer ours.
  }
}

/** Service scripts wait for this counter to change. It wraps to 1. */
export function countRestart(file: string | null): void {
  if (file === null) return;
  let count = 0;
  try {
    count = Number.parseInt(readFileSync(file, 'utf8'), 10) || 0;
  } catch {
    // The first start.
  }
  writeWhole(file, String(count >= Number.MAX_SAFE_INTEGER ? 1 : count + 1));
}

function writeWhole(file: string, text: string): void {
  const made = `${file}.new`;
  try {
    makeDirectory(dirname(file), 0o777);
    // A device or a pipe is written to: it must not be replaced by a file.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) writeFileSync(file, text);
    else {
      // What has that name was left, or put there by somebody who may write to the folder: a link is not followed.
      rmSync(made, { force: true });
      writeFileSync(made, text, { flag: 'wx' });
      renameSync(made, file);
    }
  } catch (error) {
    rmSync(made, { force: true });
    throw new Error(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
