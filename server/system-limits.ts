// What the system allows this process: how many files may be open, as threads that cannot open theirs would die and be started again without an
// end, and how many addresses it may take, as LMDB ends the process where it cannot map a file.

import { readFileSync } from 'node:fs';
import { MAP_SIZE } from '../engine/store/file/layout.ts';
import type { Settings } from '../schemas/config.ts';

/** Measured of running servers: what each has open, an actor while it warms up. */
const FILES_OF = { partition: 3, actor: 7, queryThread: 5, process: 25 } as const;
/** For modules while they are loaded, and some connections. */
const SPARE = 10;

/** Files that a server with these settings has open before clients come, and some more. */
function filesNeeded({ partitions, actorThreads, queryThreads }: FileUsers): number {
  const ofThreads = actorThreads * FILES_OF.actor + queryThreads * FILES_OF.queryThread;
  return FILES_OF.process + partitions * FILES_OF.partition + ofThreads + SPARE;
}

export type FileUsers = Pick<Settings, 'partitions' | 'actorThreads' | 'queryThreads'>;

/** Where Linux tells; elsewhere nothing is known. */
const LIMITS = '/proc/self/limits';

/** How many files the process may have open; Infinity where that is not known. */
export const filesAllowed = (path = LIMITS): number => limitOf('open files', path);

const limitOf = (what: string, path: string): number =>
  Number(new RegExp(`^Max ${what} +(\\d+)`, 'm').exec(textOf(path))?.[1] ?? Number.POSITIVE_INFINITY);

/** Connections of clients that leave the server the files that it needs itself. */
export const connectionsAllowed = (users: FileUsers, path = LIMITS): number =>
  Math.max(1, filesAllowed(path) - filesNeeded(users));

/** Throws Error when the system allows fewer open files than the server needs. */
export function checkOpenFiles(users: FileUsers, path = LIMITS): void {
  const allowed = filesAllowed(path);
  const needed = filesNeeded(users);
  if (allowed >= needed) return;
  throw new Error(
    `the system allows at most ${allowed} open files (ulimit -n, LimitNOFILE), and the server needs ${needed} for ` +
      `${users.partitions} partitions and its threads, beside one for each connection`,
  );
}

/** Throws Error when the system allows fewer addresses than the files of the partitions take, and those that actors warm up with. */
export function checkAddresses({ partitions, actorThreads }: FileUsers, path = LIMITS): void {
  const allowed = limitOf('address space', path);
  const needed = (partitions + actorThreads) * MAP_SIZE;
  if (allowed >= needed) return;
  const [most, more] = [allowed, needed].map((bytes) => `${Math.floor(bytes / 2 ** 30)} GB`);
  throw new Error(
    `the system allows at most ${most} of addresses (ulimit -v, LimitAS), and the server needs more than ${more} for ${partitions} partitions`,
  );
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
