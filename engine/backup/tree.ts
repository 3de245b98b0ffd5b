// Folders with all that is below them: copied, measured, made to last.

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, realpathSync } from 'node:fs';
import { chmod, copyFile, open, readdir, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isThere, makeDirectory, syncDirectory } from '../directories.ts';
import { isUnfinished } from '../inbox/dead-letters.ts';
import { isGone, naming, reasonOf } from '../reason.ts';
import { LOCK_FILE, LOCK_NAME } from '../store/file/layout.ts';
import { BackupFailed } from './errors.ts';

/** Runs `work`, and removes what is left under the paths when it has ended, however it did. */
export type Leftovers = <T>(paths: readonly string[], work: () => Promise<T>) => Promise<T>;

type Copy = (from: string, to: string) => Promise<void>;

/** Makes the folder `to` and copies into it what is in `from`, if there is such a folder: each file with `copy`. */
export async function copyFolder(from: string, to: string, copy: Copy): Promise<void> {
  if (isBelow(to, from)) throw new BackupFailed(`${to} lies in ${from}, which is to be copied`);
  makeDirectory(to);
  if (!isThere(from)) return;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const { name } = entry;
    // Locks belong to the directory that is in use, not to its copy; files that are being written get their names later.
    if (name === LOCK_NAME || name === LOCK_FILE || isUnfinished(name)) continue;
    if (entry.isDirectory()) await copyFolder(join(from, name), join(to, name), copy);
    else await copy(join(from, name), join(to, name));
  }
}

export const isBelow = (path: string, folder: string): boolean => resolve(path).startsWith(join(resolve(folder), sep));

/** The path without links, also of what is not there yet. */
export function realPath(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(realPath(dirname(whole)), basename(whole));
}

/** Gives a folder its name, for good: where that cannot be made to last it has the one before again. */
export async function renameForGood(from: string, to: string): Promise<void> {
  await rename(from, to);
  try {
    await syncDirectory(dirname(to));
  } catch (error) {
    await rename(to, from);
    throw error;
  }
}

/** Copies a file so that it can be written to: a backup may be kept read-only, and the server writes to what is put back. */
export async function copyWritable(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
}

/** SHA-256 in hex. Errors name the file. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(chunk);
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error)}`, { cause: error });
  }
  return hash.digest('hex');
}

/** At a time. */
const READ_BYTES = 1 << 20;

/** Copies a file, unless it is gone: a running server removes some, of dead letters for example, and these need not be in the copy. */
export async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await copyWritable(from, to);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

/** Files that are synced at the same time: the system does several in little more than the time of one. */
const SYNCS_MAX = 4;

/** Makes everything below `folder` survive a power failure. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  await eachOf(files, SYNCS_MAX, ({ name }) => syncFile(join(folder, name)));
  for (const entry of entries) if (entry.isDirectory()) await syncTree(join(folder, entry.name));
  await syncDirectory(folder);
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await naming(path, () => file.sync());
  } finally {
    await file.close();
  }
}

/** Does the work for each item, for `most` of them at the same time. After a failure none is begun; rejects with it once nothing is at work any more. */
async function eachOf<Item>(items: readonly Item[], most: number, work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values();
  const failures: unknown[] = [];
  const workThrough = async (): Promise<void> => {
    for (const item of left) {
      if (failures.length > 0) return;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: most }, workThrough));
  if (failures.length > 0) throw failures[0];
}

/** Bytes of every file below a folder whose name is wanted, by its path there. */
export async function filesBelow(
  folder: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<Record<string, number>> {
  const files: Record<string, number> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !isWanted(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    files[relative(folder, path)] = (await stat(path)).size;
  }
  return files;
}

/** Bytes of all files below a folder. */
export async function sizeOf(folder: string): Promise<number> {
  return Object.values(await filesBelow(folder)).reduce((sum, size) => sum + size, 0);
}
