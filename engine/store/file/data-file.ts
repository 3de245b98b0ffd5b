// A partition's `data.mdb` as bytes, read without mapping it. LMDB maps the file and trusts it: a file that is shorter than
// its own record of itself, or garbage where a page should be, ends the whole process with a signal. So the file is looked at
// before LMDB gets it. The layout is that of the `lmdb` package's own fork of LMDB (mdb.c: MDB_meta, MDB_page, MDB_db);
// numbers are in the machine's order, which is little-endian wherever this runs.
//
//   page 0   header | meta A ... | half way: meta of the last flushed transaction
//   page 1   header | meta B
//   page n   header | branch, leaf or overflow page
//
// Transaction N writes meta N mod 2; the flushed one follows once its pages are on the disk.

import { closeSync, fdatasyncSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { readFullySync } from '../../read-fully.ts';
import { naming } from '../../reason.ts';

/** What to do about a damaged file: the end of every message that tells of one. */
export const DAMAGE_ADVICE = '`muster check` tells more; restore a backup';

/** The partition's file cannot be used. The message names it, says what is wrong, and what to do. */
export class DataFileDamaged extends Error {
  readonly file: string;
  readonly problem: string;
  constructor(file: string, problem: string) {
    super(`${file} is damaged: ${problem}. ${DAMAGE_ADVICE}`);
    this.file = file;
    this.problem = problem;
  }
}

export const PAGE_HEADER_SIZE = 24;
export const DB_SIZE = 48;
/** Root of a tree without pages. */
export const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const META_SIZE = 144;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const P_META = 8;
/** Set in the metas of transactions that have not been flushed. */
const UNFLUSHED = 0x1000;
const PAGE_SIZE_MIN = 256;
const PAGE_SIZE_MAX = 65536;

/** A tree: MDB_db. */
export interface TreeRecord {
  readonly flags: number;
  /** Levels; 0 for an empty tree. */
  readonly depth: number;
  readonly branchPages: bigint;
  readonly leafPages: bigint;
  readonly overflowPages: bigint;
  readonly entries: bigint;
  /** Page number, or NO_PAGE. */
  readonly root: bigint;
}

/** One state of the file: MDB_meta. */
export interface Meta {
  readonly transaction: bigint;
  readonly pageSize: number;
  readonly flushed: boolean;
  readonly lastPage: bigint;
  /** Of the machine's run that wrote it, 0 when unknown. */
  readonly boot: bigint;
  readonly free: TreeRecord;
  readonly main: TreeRecord;
}

const AT_ONCE = 1 << 20;

/**
 * Writes every byte of the file to where it is, some at a time, and flushes it. For after a sync that failed: the system tells of it once, and
 * then takes for written what it could not write. It still has these bytes in memory, but does not write them again by itself. Nobody may write
 * or flush meanwhile. Throws errors of the file system.
 */
export function* writeAgain(path: string): Generator<undefined, void> {
  const file = openSync(path, 'r+');
  try {
    const bytes = Buffer.allocUnsafe(AT_ONCE);
    for (let at = 0; ; ) {
      const size = readSync(file, bytes, 0, bytes.length, at);
      if (size === 0) break;
      for (let done = 0; done < size; ) done += writeSync(file, bytes, done, size - done, at + done);
      at += size;
      yield;
    }
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The MDB_db at that place. */
export function readTree(bytes: Buffer, offset: number): TreeRecord {
  return {
    flags: bytes.readUInt16LE(offset + 4),
    depth: bytes.readUInt16LE(offset + 6),
    branchPages: bytes.readBigUInt64LE(offset + 8),
    leafPages: bytes.readBigUInt64LE(offset + 16),
    overflowPages: bytes.readBigUInt64LE(offset + 24),
    entries: bytes.readBigUInt64LE(offset + 32),
    root: bytes.readBigUInt64LE(offset + 40),
  };
}

function readMeta(bytes: Buffer): Meta {
  return {
    pageSize: bytes.readUInt32LE(24),
    flushed: (bytes.readUInt16LE(28) & UNFLUSHED) === 0,
    free: readTree(bytes, 24),
    main: readTree(bytes, 24 + DB_SIZE),
    lastPage: bytes.readBigUInt64LE(120),
    transaction: bytes.readBigUInt64LE(128),
    boot: bytes.readBigInt64LE(136),
  };
}

/** An open file with the state that LMDB would take. */
export class DataFile {
  readonly path: string;
  readonly #fd: number;
  readonly #boot: bigint;

  /** Throws the system's error when it cannot be opened. */
  constructor(path: string, boot: bigint = bootId()) {
    this.path = path;
    this.#fd = openSync(path, 'r');
    this.#boot = boot;
  }

  get size(): number {
    return naming(this.path, () => fstatSync(this.#fd).size);
  }

  /** Fills `into` from `offset`. Throws DataFileDamaged when the file ends before. */
  read(into: Buffer, offset: number): void {
    const filled = naming(this.path, () => readFullySync(this.#fd, into, offset));
    if (filled < into.length) throw this.damaged(`it ends at ${offset + filled}, in the middle of a page`);
  }

  damaged(problem: string): DataFileDamaged {
    return new DataFileDamaged(this.path, problem);
  }

  /** Throws DataFileDamaged when the metas are not those of a data file of ours. */
  meta(): Meta {
    const [first, pageSize] = this.#metaPage(0, 0);
    const [second] = this.#metaPage(1, pageSize);
    const flushed = this.#metaAt(pageSize / 2);
    for (const { transaction, pageSize: size } of [first, second, flushed]) {
      if (transaction !== 0n && size !== pageSize) throw this.damaged(`page sizes ${pageSize} and ${size}`);
    }
    return pick(pick(first, second, this.#boot), flushed, this.#boot);
  }

  #metaPage(number: number, offset: number): [Meta, pageSize: number] {
    const header = Buffer.alloc(PAGE_HEADER_SIZE + 8);
    this.read(header, offset);
    const flags = header.readUInt16LE(18);
    const magic = header.readUInt32LE(PAGE_HEADER_SIZE);
    const version = header.readUInt32LE(PAGE_HEADER_SIZE + 4) & 0xffff;
    if ((flags & P_META) === 0 || magic !== MAGIC) throw this.damaged(`its meta page ${number} is none`);
    if (version !== DATA_VERSION) throw this.damaged(`its meta page ${number} is of version ${version}`);
    const meta = this.#metaAt(offset);
    const { pageSize } = meta;
    const isSize = pageSize >= PAGE_SIZE_MIN && pageSize <= PAGE_SIZE_MAX && (pageSize & (pageSize - 1)) === 0;
    if (!isSize) throw this.damaged(`its meta page ${number} says that pages have ${pageSize} bytes`);
    return [meta, pageSize];
  }

  #metaAt(offset: number): Meta {
    const bytes = Buffer.alloc(META_SIZE);
    this.read(bytes, offset + PAGE_HEADER_SIZE);
    return readMeta(bytes);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** The state that LMDB opens (mdb_pick_meta): the newest, unless it was not flushed and the machine has restarted since. */
function pick(a: Meta, b: Meta, boot: bigint): Meta {
  if (b.transaction === 0n) return a;
  const latest = a.transaction >= b.transaction ? a : b;
  if (latest.flushed || (boot !== 0n && latest.boot === boot)) return latest;
  return a.transaction > b.transaction ? b : a;
}

/** What LMDB takes for the machine's run: the first group of the kernel's id; 0 where there is none. */
function bootId(): bigint {
  try {
    const [group] = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').split('-');
    return BigInt(`0x${group}`);
  } catch {
    return 0n;
  }
}
