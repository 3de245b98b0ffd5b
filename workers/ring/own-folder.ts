// Whether a folder may become a data directory. One that has its description (`store.json`) is one. In any other, nothing that somebody may
// miss must have one of the names by which a start writes over files and removes folders. What a first start leaves that broke off before
// the description was written may be there, for the next start to go on with, and so may partitions' folders on other disks.

import { existsSync, lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import {
  INFO_NAME,
  isScratch,
  isUnfinishedLock,
  LOCK_NAME,
  NEW_INFO_NAME,
  RUNNING_NAME,
} from '../../engine/store/file/layout.ts';
import { partitionsWithData } from '../../engine/store/file/store-info.ts';

/** Longest file of its kind, bytes. */
const SMALL = 1024;

interface Entry {
  readonly path: string;
  readonly stats: Stats;
}

/** Names of what a start writes over, each with what tells it from another thing of that name. */
const ownNames: Readonly<Record<string, (entry: Entry) => boolean>> = {
  [LOCK_NAME]: isLock,
  [RUNNING_NAME]: (entry) => /^\d*\n?$/.test(smallText(entry)),
  [NEW_INFO_NAME]: (entry) => /^(?:$|\{"format":)/.test(smallText(entry)),
};

/**
 * Throws when the folder is no data directory yet and has something that is not ours under a name that a start writes over or removes. Nothing is changed.
 */
export function requireOwnFolder(dir: string): void {
  if (existsSync(join(dir, INFO_NAME))) return;
  let names: string[];
  try {
    names = readdirSync(dir).sort();
    // The start tells that its description is missing.
    if (partitionsWithData(dir).length > 0) return;
  } catch {
    // It is not there, or is none, or may not be read: told by what makes it and locks it.
    return;
  }
  const stranger = names.find((name) => !isOwn(join(dir, name)));
  if (stranger === undefined) return;
  throw new Error(
    `${dir} is no data directory: it has no ${INFO_NAME}, but ${stranger}, which is not what a data directory has under that name. Nothing was changed; choose another folder`,
  );
}

/** What a start leaves as it is may be there. */
function isOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // Another start has removed it meanwhile.
  if (stats === undefined) return true;
  const name = basename(path);
  if (isScratch(name)) return holdsOnly({ path, stats }, /^(?:(?:data|lock)\.mdb|partition-\d+)$/);
  if (isUnfinishedLock(name)) return isLock({ path, stats });
  return !Object.hasOwn(ownNames, name) || ownNames[name]!({ path, stats });
}

/** A socket, or a folder with nothing else in it, as far as it can be seen: who has it, or cannot, the lock itself tells. */
function isLock({ path, stats }: Entry): boolean {
  if (!stats.isDirectory()) return stats.isSocket();
  try {
    return readdirSync(path, { withFileTypes: true }).every((entry) => entry.isSocket());
  } catch {
    return true;
  }
}

function holdsOnly({ path, stats }: Entry, names: RegExp): boolean {
  return stats.isDirectory() && readdirSync(path).every((name) => names.test(name));
}

/** What is no small file has a text that is none of ours. */
function smallText({ path, stats }: Entry): string {
  return stats.isFile() && stats.size <= SMALL ? readFileSync(path, 'utf8') : 'not ours';
}
