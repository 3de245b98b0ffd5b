// Where what belongs to a data directory lies: every name that more than one module knows. Makes and reads nothing.

import { join } from 'node:path';

/** Its description (store-info.ts), and the same while it is written. */
export const INFO_NAME = 'store.json';
export const NEW_INFO_NAME = `${INFO_NAME}.new`;
export const infoFile = (dir: string): string => join(dir, INFO_NAME);

/** The lock of the process that uses it (workers/ring/data-lock.ts), and what is called like this before it is the lock. */
export const LOCK_NAME = 'lock';
export const isUnfinishedLock = (name: string): boolean => /^lock\.[0-9a-f]{8}$/.test(name);
/** Tells that a process uses it, or did not end in order (workers/ring/run-marker.ts). */
export const RUNNING_NAME = 'running';

/** The command log. */
export const inboxDir = (dir: string): string => join(dir, 'inbox');
/** The dead letters. */
export const discardedDir = (dir: string): string => join(dir, 'discarded');

/** What the names of partitions' folders begin with, and no other one in the data directory. */
export const PARTITION_PREFIX = 'partition-';
export const partitionDir = (dir: string, slot: number): string => join(dir, `${PARTITION_PREFIX}${numbered(slot)}`);
export const isPartition = (name: string): boolean => PARTITION.test(name);
const PARTITION = new RegExp(`^${PARTITION_PREFIX}\\d{3,}$`);

/** For what a thread writes and nobody reads later. `slot`: the first one of the thread. */
export const scratchDir = (dir: string, slot: number): string => join(dir, `scratch-${numbered(slot)}`);
export const isScratch = (name: string): boolean => SCRATCH.test(name);
const SCRATCH = /^scratch-\d{3,}$/;

/** Where a backup that is being made holds what it still needs (engine/backup/make.ts). */
export const holdDir = (dir: string, id: string): string => join(dir, `${HOLD_PREFIX}${id}`);
export const isHold = (name: string): boolean => name.startsWith(HOLD_PREFIX);
const HOLD_PREFIX = 'backup-';

const numbered = (slot: number): string => String(slot).padStart(3, '0');

/** LMDB's names of a partition's files; whoever opens a partition, also to check it, makes and writes the second one. */
export const DATA_FILE = 'data.mdb';
export const LOCK_FILE = 'lock.mdb';
export const dataFileOf = (partition: string): string => join(partition, DATA_FILE);
/** Address space reserved per partition; LMDB grows the file as needed, and lmdb grows the map beyond this by itself. */
export const MAP_SIZE = 64 * 1024 ** 3;
