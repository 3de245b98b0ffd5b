// Directories as the program makes them. Node's own recursive form never ends where the system says of a new name that it is not
// there (below /proc for example), so this one walks by itself.

import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { naming } from './reason.ts';

/** Whether there is one; a link to one counts. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Whether there is something of that name; a link that leads nowhere is nothing. Throws where the system cannot tell, as on a disk that fails: what
 * is taken for missing then would be left out, or made anew.
 */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/**
 * Makes the directory and those above it that are not there, and their names durable: what is written below them is as lasting as they are.
 * Throws the system's error of the one that cannot be made; ENOTDIR names what stands in the way.
 */
export function makeDirectory(dir: string, mode = 0o700): void {
  const missing: string[] = [];
  for (let at = resolve(dir); !isDirectory(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  for (const path of missing.reverse()) {
    try {
      mkdirSync(path, { mode });
    } catch (error) {
      // Another one was faster, which is just as good.
      if (isDirectory(path)) continue;
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw Object.assign(new Error(`${path} is no directory`, { cause: error }), { code: 'ENOTDIR' });
    }
    try {
      syncNow(dirname(path));
    } catch (error) {
      // A directory that can be written to need not be readable, and then cannot be synced.
      if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    }
  }
}

/** Makes a file, or the names in a directory, durable; waits for the disk. Throws the system's error. */
export function syncNow(path: string): void {
  const fd = openSync(path, 'r');
  try {
    naming(path, () => fsyncSync(fd));
  } finally {
    closeSync(fd);
  }
}

/** Makes the names in the directory durable: those that were made, changed or removed. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await naming(path, () => directory.sync());
  } finally {
    await directory.close();
  }
}
