// The one place that knows how lmdb is opened and read fast. `getBinaryFast` returns a buffer that the next read overwrites, and whose
// true size is its `length` property only; `fast` gives back a plain view of the right size, valid until the next read.

import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { constants as osConstants } from 'node:os';
import { join } from 'node:path';
import {
  type Database,
  type Key,
  open,
  type RootDatabase,
  type RootDatabaseOptionsWithPath,
  type TransactionFlags,
} from 'lmdb';
import { Memory } from '../../bytes.ts';
import { DATA_FILE, LOCK_FILE } from './layout.ts';

// biome-ignore lint/suspicious/noExplicitAny: lmdb's transaction handle has no exported type
export type ReadOptions = { transaction?: any };

type FastReader = (key: unknown, options?: ReadOptions) => Buffer | Uint8Array<ArrayBuffer> | undefined;

/**
 * Opens an environment. lmdb wants to close all of a thread's environments in its `exit` event; while a sync runs for one of them,
 * that ends the process with a signal instead of the thread alone. Without that listener they are closed a moment later, when
 * Node has waited for what runs.
 */
export function openEnvironment(options: RootDatabaseOptionsWithPath): RootDatabase {
  const before = new Set(process.listeners('exit'));
  const env = open(options);
  for (const listener of process.listeners('exit')) if (!before.has(listener)) process.off('exit', listener);
  return env;
}

type TableOptions = Parameters<RootDatabase['openDB']>[1];

/**
 * A table of the environment, which is made where it is not there. Where nobody can write, one that is not there has nothing in it: the store
 * is older than the table.
 */
export function openTable<K extends Key>(env: RootDatabase, name: string, options: TableOptions): Database<Buffer, K> {
  return (env.openDB<Buffer, K>(name, options) as Database<Buffer, K> | undefined) ?? NO_TABLE;
}

/** A table with nothing in it: all that readers ask of one. */
const NO_TABLE = {
  get: () => undefined,
  getBinaryFast: () => undefined,
  getKeys: () => [],
  getRange: () => [],
  getKeysCount: () => 0,
} as unknown as Database<Buffer, never>;

/** How many entries a table has. Within a write transaction: with its changes so far. */
export function entryCount<K extends Key>(table: Database<Buffer, K>): number {
  const { db } = table as unknown as { db: { stat(): { entryCount: number } } };
  return db.stat().entryCount;
}

/** Whether the environment's list of free pages has nothing in it, as in a new one and in a compacted copy. */
export function hasNoFreeList(env: RootDatabase): boolean {
  const { free } = env.getStats() as { free: { entryCount: number } };
  return free.entryCount === 0;
}

/** Whether nobody can write there, such as on a snapshot of a file system: LMDB then reads without a lock file. */
export function isOnReadOnlyFileSystem(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/**
 * Throws when the files of the environment in `dir` may not be used, or made where they are not there: lmdb does not survive a
 * lock file that it cannot open. They are not opened here, as closing a lock file lets go of the locks that the process has on it.
 */
export function checkAccess(dir: string): void {
  const files = [DATA_FILE, LOCK_FILE].map((name) => join(dir, name));
  for (const path of [dir, ...files.filter((file) => existsSync(file))]) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
    } catch (error) {
      const advice = 'all files of a data directory belong to the user of the server';
      throw new Error(`${path} cannot be read and written: ${(error as Error).message}; ${advice}`, { cause: error });
    }
  }
}

/** Files that an environment has open: its lock, its data, and these once more, for the pages that tell which state counts. */
const FILES_OPEN = 3;

/** Throws when so many files cannot be opened in `dir` at present, as where too many are open: lmdb does not survive that. */
export function requireFiles(dir: string): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_OPEN) opened.push(openSync(dir, 'r'));
  } finally {
    for (const file of opened) closeSync(file);
  }
}

/** What LMDB's lock file takes: an entry for each reader, and its head. */
const lockSize = (readers: number): number => Math.ceil(((readers + 8) * 64) / 4096) * 4096;

/**
 * Makes the lock file of the environment in `dir`, if there is none, with all the room that it needs. LMDB itself only sets its length, and writes
 * it through a mapping: on a full disk the process would not survive that. Throws ENOSPC.
 */
export function allocateLock(dir: string, readers: number): void {
  const lock = join(dir, LOCK_FILE);
  if (existsSync(lock)) return;
  // It gets its name when it is whole: another thread may be about to open it.
  const made = `${lock}.${randomUUID().slice(0, 8)}`;
  try {
    writeFileSync(made, Buffer.alloc(lockSize(readers)), { mode: 0o600 });
    linkSync(made, lock);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST')
      throw Object.assign(new Error(`${lock} cannot be made: ${message}`, { cause: error }), { code });
  } finally {
    rmSync(made, { force: true });
  }
}

/** What lmdb itself opens each table with: committed at once, flushed in the background. */
const OPEN_TABLES = 0x10002 as TransactionFlags;

/** Opens tables of the environment in `dir`. Alone, each would be a transaction, and if it is new a flush. */
export function inOneTransaction<T>(env: RootDatabase, dir: string, open: () => T): T {
  return writeTransaction(env, dir, open, OPEN_TABLES);
}

/** Runs `change` in one write transaction of the environment in `dir`. Throws what it throws, and when it cannot be committed. */
export function writeTransaction<T>(env: RootDatabase, dir: string, change: () => T, flags: TransactionFlags): T {
  try {
    return env.transactionSync(change, flags);
  } catch (error) {
    throw ofFailedWrite(error, dir);
  }
}

/** Whether a write or sync failed after part of it may have been done. Not for want of room, of which the system tells before. */
export function isFailedSync(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'number' && code > 0 && code !== ENOSPC && code !== EDQUOT;
}
const { ENOSPC, EDQUOT } = osConstants.errno;

const DAMAGE: ReadonlySet<unknown> = new Set([
  -30797, // MDB_PAGE_NOTFOUND
  -30796, // MDB_CORRUPTED
  -30782, // MDB_BAD_TXN: what comes after one of the others within a transaction
  -30779, // MDB_PROBLEM
]);

/** Whether lmdb threw this because it found a page that is not what it should be. */
export function tellsOfDamage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (
    DAMAGE.has((error as { code?: unknown }).code) ||
    /^MDB_(PAGE_NOTFOUND|CORRUPTED|BAD_TXN|PROBLEM)\b/.test(error.message)
  );
}

/**
 * Whether LMDB lets nobody in this process use the environment any more: it could not write which state counts. The file is as sound as the disk
 * is, and another process can use it.
 */
export const tellsOfTheEnd = (error: unknown): boolean => error instanceof Error && /\bMDB_PANIC\b/.test(error.message);

/**
 * What a transaction on the environment in `dir` threw, in words for whoever runs the server when the system is to blame: those
 * errors keep their `code`, a number above 0 (lmdb's own are below). Others stay as they are.
 *
 * lmdb also tells standard error of a write that fails, without ending the line: the log's next line of JSON would be part of that line, and no
 * JSON. So it is ended here. Where a part could be written lmdb says nothing and calls it EIO: then this leaves an empty line, and how much
 * room the file system has tells what it was.
 */
function ofFailedWrite(error: unknown, dir: string): unknown {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  if (typeof code !== 'number' || code <= 0) return error;
  try {
    writeSync(STDERR, '\n');
  } catch {
    // Nobody reads it.
  }
  // After it: where lmdb was about to write, for its developers.
  const [what] = (error as Error).message.split(': Attempting');
  const left = isNearlyFull(dir) ? `; its file system has less than ${ROOM_MIN >>> 20} MB left` : '';
  return Object.assign(new Error(`${what} (${dir}${left})`, { cause: error }), { code });
}
const STDERR = 2;
/** More than the writes of a commit that belong together. */
const ROOM_MIN = 1 << 20;

const isNearlyFull = (dir: string): boolean => (volumeOf(dir)?.room ?? ROOM_MIN) < ROOM_MIN;

/** Bytes of the file system of `dir`, and those that may still be written; null when it does not tell. */
function volumeOf(dir: string): { readonly size: number; readonly room: number } | null {
  try {
    const { bavail, blocks, bsize } = statfsSync(dir);
    // Some that are not disks call themselves empty.
    return blocks === 0 ? null : { size: blocks * bsize, room: bavail * bsize };
  } catch {
    return null;
  }
}

/** More than the pages of indexes that a batch of common commands changes. A small file system keeps an eighth of itself. */
const ROOM_KEPT = 64 << 20;
/** What content takes at most, with copies and with pages that are not full. */
const CONTENT_FACTOR = 3;

/**
 * Throws ENOSPC when the file system of `dir` may have no room for a transaction whose content is of so many bytes. To be asked
 * before each: where a write of many pages fails, lmdb composes a message that is longer than its memory, which all threads share, and the
 * process does not survive that.
 */
export function requireRoom(dir: string, bytes: number): void {
  const volume = volumeOf(dir);
  if (volume === null) return;
  const wanted = Math.min(ROOM_KEPT, volume.size / 8) + CONTENT_FACTOR * bytes;
  if (volume.room >= wanted) return;
  const [left, needed] = [volume.room, wanted].map((size) => `${Math.ceil(size / (1 << 20))} MB`);
  const text = `No space left on device (${dir}: its file system has ${left} left, ${needed} are wanted)`;
  throw Object.assign(new Error(text), { code: 'ENOSPC' });
}

/** The value's bytes, or undefined. Copy what outlives the next read of the same environment. */
export function fast<K extends Key>(table: Database<Buffer, K>, key: K, options?: ReadOptions): Buffer | undefined {
  const bytes = raw(table, key, options);
  return bytes === undefined ? undefined : bytes.subarray(0, bytes.length);
}

/** The same without a view of its own: only `length` tells the size, the memory goes on. For what is looked at at once. */
export function raw<K extends Key>(table: Database<Buffer, K>, key: K, options?: ReadOptions): Buffer | undefined {
  const bytes = (table as unknown as { getBinaryFast: FastReader }).getBinaryFast(key, options);
  // Values of more than 16 MB are given as a part of the mapped file, which is no Buffer.
  return bytes === undefined || Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether the key is there. */
export function present<K extends Key>(table: Database<Buffer, K>, key: K, options?: ReadOptions): boolean {
  return (table as unknown as { getBinaryFast: FastReader }).getBinaryFast(key, options) !== undefined;
}

/** Memory that read values are copied to, so that they outlive the next read: one value at a time. */
export class Scratch {
  #bytes = Buffer.alloc(0);
  readonly #source = new Memory();
  readonly #offset: number;

  /** `offset`: values begin so many bytes behind the start of the memory, so that what is read of them as wider numbers is aligned. */
  constructor(offset = 0) {
    this.#offset = offset;
  }

  /** Takes what `raw` gave; `room`: so many bytes behind it can be written to. */
  copy(value: Buffer, room = 0): Buffer {
    const size = value.length;
    if (size + room > this.#bytes.length) {
      this.#bytes = Buffer.allocUnsafeSlow(this.#offset + (size + room) * 2).subarray(this.#offset);
    }
    this.#bytes.set(this.#source.of(value, 0, size));
    return this.#bytes;
  }
}
