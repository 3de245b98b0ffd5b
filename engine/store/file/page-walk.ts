// Walks the pages that a partition's file uses, reading the file and never mapping it: damage of any kind is told with its
// place, where LMDB would end the process. What must hold: each page's own number, kind and bounds; the order of the keys;
// depth and counts of each tree; no page is used twice, or used and free; none lies beyond the end of the file.

import { isDeepStrictEqual } from 'node:util';
import { isGone } from '../../reason.ts';
import {
  DataFile,
  DataFileDamaged,
  DB_SIZE,
  type Meta,
  NO_PAGE,
  PAGE_HEADER_SIZE,
  readTree,
  type TreeRecord,
} from './data-file.ts';
import { dataFileOf } from './layout.ts';

const P_BRANCH = 1;
const P_LEAF = 2;
const P_OVERFLOW = 4;
/** Bits of a page's flags that say what it is; the others are about pages in memory. */
const P_KINDS = 0x6f;
const NODE_HEADER_SIZE = 8;
const F_BIG = 1;
const F_TREE = 2;
const OVERFLOW_REFERENCE_SIZE = 24;
const INTEGER_KEYS = 8;
const METAS = 2;
const DEPTH_MAX = 32;
const PROBLEMS_MAX = 20;
/** Pages that are read in one turn: some milliseconds. */
const PAGES_A_TURN = 128;
/** Looks at a file that somebody writes: each costs milliseconds, or the reading of the whole file. */
const ATTEMPTS: Readonly<Record<Extent, number>> = { roots: 20, all: 3 };

/** What is looked at: every page, or only the list of tables and the root of each. */
type Extent = 'all' | 'roots';

/**
 * Looks at the file before LMDB maps it: metas, size and the roots of its tables, or everything when the file is shorter than
 * its meta says (which it may be while its last pages are free). Throws DataFileDamaged. A file that is not there or empty is
 * LMDB's to make.
 */
export function checkDataFile(partitionDir: string): void {
  const path = dataFileOf(partitionDir);
  const [problem] = atOnce(problemsOf(path, 'roots'));
  if (problem !== undefined) throw new DataFileDamaged(path, problem);
}

/** What is wrong with the structure of the partition's file: the first problems, each a text with its place. */
export function walkDataFile(partitionDir: string): readonly string[] {
  return atOnce(walkInTurns(partitionDir));
}

/** As `walkDataFile`, for a thread that others use: yields every some milliseconds, so that they may have a turn. */
export function walkInTurns(partitionDir: string): Generator<void, readonly string[]> {
  return problemsOf(dataFileOf(partitionDir), 'all');
}

/** What the work gives, without a turn for others. */
function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

function* problemsOf(path: string, extent: Extent): Generator<void, readonly string[]> {
  const file = openIfThere(path);
  if (file === null) return [];
  try {
    if (file.size === 0) return [];
    // Somebody may be writing. Pages of a state stay as they are until two transactions later, so a finding counts if the
    // meta is the same after it. Where it never is, LMDB works on the file, and has opened it.
    for (let attempt = 0; attempt < ATTEMPTS[extent]; attempt++) {
      const before = metaOf(file);
      const problems = typeof before === 'string' ? [before] : yield* new Walk(file, before).problems(extent);
      if (problems.length === 0 || isDeepStrictEqual(before, metaOf(file))) return problems;
    }
    return [];
  } finally {
    file.close();
  }
}

function openIfThere(path: string): DataFile | null {
  try {
    return new DataFile(path);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

function metaOf(file: DataFile): Meta | string {
  try {
    return file.meta();
  } catch (error) {
    if (error instanceof DataFileDamaged) return error.problem;
    throw error;
  }
}

/** Ends a walk that has told enough. */
class Enough extends Error {}

interface Counted {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

/** One tree on its way: what its record says is compared with this at the end. */
interface TreeWalk extends Counted {
  readonly name: string;
  readonly record: TreeRecord;
  /** The key before, which the next one must not be smaller than; equal only when one of them is a branch's. */
  last: Buffer | null;
  lastIsEntry: boolean;
  /** What the entries of a leaf are for. */
  readonly onEntry: ((key: Buffer, value: () => Buffer, isTree: boolean) => void) | null;
}

class Walk {
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #pages: number;
  readonly #used: Uint8Array;
  readonly #problems: string[] = [];
  /** Pages since the last turn. */
  #read = 0;

  constructor(file: DataFile, meta: Meta) {
    this.#file = file;
    this.#meta = meta;
    const { size } = file;
    this.#pages = Math.min(Math.floor(size / meta.pageSize), Number(meta.lastPage) + 1);
    this.#used = new Uint8Array((this.#pages >> 3) + 1);
  }

  *problems(extent: Extent): Generator<void, readonly string[]> {
    const { free, main, lastPage, pageSize } = this.#meta;
    const isShort = this.#pages <= Number(lastPage);
    const everything = extent === 'all' || isShort;
    try {
      const tables: [name: string, record: TreeRecord][] = [];
      yield* this.#tree('list of tables', main, (key, value, isTree) => {
        if (isTree) tables.push([key.toString('latin1').replace(/\0$/, ''), readTree(value(), 0)]);
      });
      for (const [name, record] of tables) {
        if (everything) yield* this.#tree(`table ${name}`, record, null);
        else this.#root(`table ${name}`, record);
      }
      if (everything) yield* this.#free(free);
      else this.#root('list of free pages', free);
    } catch (error) {
      if (!(error instanceof Enough) && !(error instanceof DataFileDamaged)) throw error;
      if (error instanceof DataFileDamaged) this.#problems.push(error.problem);
    }
    if (isShort && this.#problems.length > 0) {
      this.#problems.unshift(`it has ${this.#file.size} bytes and should have ${(Number(lastPage) + 1) * pageSize}`);
    }
    return this.#problems;
  }

  #say(problem: string): void {
    this.#problems.push(problem);
    if (this.#problems.length >= PROBLEMS_MAX) throw new Enough();
  }

  /** Whether so many pages have been read since the last time that others may have a turn. */
  #isTurnOver(): boolean {
    if (this.#read < PAGES_A_TURN) return false;
    this.#read = 0;
    return true;
  }

  /** The pages that are free must not be in use. */
  *#free(record: TreeRecord): Generator<void, void> {
    const free: [page: number, count: number][] = [];
    yield* this.#tree('list of free pages', record, (_, value) => {
      const pages = value();
      const count = pages.length < 8 ? 0 : Math.min(Number(pages.readBigInt64LE(0)), pages.length / 8 - 1);
      for (let i = 1; i <= count; i++) {
        // A negative number is the size of the block that the next one begins; 0 is a gap.
        const entry = Number(pages.readBigInt64LE(i * 8));
        const first = entry < 0 && i < count ? Number(pages.readBigInt64LE(++i * 8)) : entry;
        if (first > 0) free.push([first, Math.max(1, -entry)]);
      }
    });
    for (const [first, count] of free) {
      for (let page = first; page < Math.min(first + count, this.#pages); page++) {
        if (this.#isUsed(page)) this.#say(`page ${page} is in use and free`);
      }
    }
  }

  #isUsed(page: number): boolean {
    return (this.#used[page >> 3]! & (1 << (page & 7))) !== 0;
  }

  /** false (and told) when the page cannot be, or is used already. */
  #use(where: string, page: bigint): boolean {
    if (page < METAS || page >= this.#pages) {
      this.#say(`${where} leads to page ${page}, the file has ${this.#pages}`);
      return false;
    }
    const number = Number(page);
    if (this.#isUsed(number)) {
      this.#say(`${where} leads to page ${page}, which is in use already`);
      return false;
    }
    this.#used[number >> 3]! |= 1 << (number & 7);
    return true;
  }

  #root(name: string, { root, depth }: TreeRecord): void {
    if (root === NO_PAGE || !this.#use(name, root)) return;
    this.#page(name, root, depth > 1 ? P_BRANCH : P_LEAF);
  }

  *#tree(name: string, record: TreeRecord, onEntry: TreeWalk['onEntry']): Generator<void, void> {
    const { root, depth } = record;
    if (root === NO_PAGE) return;
    if (depth < 1 || depth > DEPTH_MAX) {
      this.#say(`${name} has ${depth} levels`);
      return;
    }
    const walk: TreeWalk = {
      name,
      record,
      branchPages: 0,
      leafPages: 0,
      overflowPages: 0,
      entries: 0,
      last: null,
      lastIsEntry: false,
      onEntry,
    };
    const before = this.#problems.length;
    yield* this.#descend(walk, root, depth);
    if (this.#problems.length > before) return;
    for (const count of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
      if (BigInt(walk[count]) !== record[count])
        this.#say(`${name}: ${walk[count]} ${count}, should be ${record[count]}`);
    }
  }

  *#descend(walk: TreeWalk, number: bigint, level: number): Generator<void, void> {
    const kind = level > 1 ? P_BRANCH : P_LEAF;
    if (!this.#use(walk.name, number)) return;
    const page = this.#page(walk.name, number, kind);
    if (page === null) return;
    const count = page.readUInt16LE(20) >> 1;
    if (kind === P_BRANCH) walk.branchPages++;
    else walk.leafPages++;
    for (let i = 0; i < count; i++) {
      const node = this.#node(page, i, kind);
      if (node === null) {
        this.#say(`${walk.name}: entry ${i} of page ${number} does not fit into the page`);
        return;
      }
      const key = page.subarray(node + NODE_HEADER_SIZE, node + NODE_HEADER_SIZE + page.readUInt16LE(node + 6));
      if (kind === P_BRANCH) {
        // The first key of a branch is none.
        if (i > 0) this.#ordered(walk, key, number, false);
        const [low, high, top] = [page.readUInt16LE(node), page.readUInt16LE(node + 2), page.readUInt16LE(node + 4)];
        yield* this.#descend(walk, (BigInt(top) << 32n) | BigInt(high * 65536 + low), level - 1);
      } else {
        this.#ordered(walk, key, number, true);
        walk.entries++;
        this.#value(walk, page, node, key);
      }
      if (this.#isTurnOver()) yield;
    }
  }

  /** Offset of an entry, null when it is not within the page. */
  #node(page: Buffer, index: number, kind: number): number | null {
    const upper = page.readUInt16LE(22);
    const offset = page.readUInt16LE(PAGE_HEADER_SIZE + index * 2);
    const start = offset + PAGE_HEADER_SIZE;
    if (offset < upper || start + NODE_HEADER_SIZE > page.length) return null;
    let size = NODE_HEADER_SIZE + page.readUInt16LE(start + 6);
    if (kind === P_LEAF) {
      const isBig = (page.readUInt16LE(start + 4) & F_BIG) !== 0;
      size += isBig ? OVERFLOW_REFERENCE_SIZE : page.readUInt32LE(start);
    }
    return start + size <= page.length ? start : null;
  }

  #ordered(walk: TreeWalk, key: Buffer, page: bigint, isEntry: boolean): void {
    const isInteger = (walk.record.flags & INTEGER_KEYS) !== 0;
    const order = walk.last === null ? 1 : isInteger ? compareIntegers(key, walk.last) : Buffer.compare(key, walk.last);
    if (order < 0 || (order === 0 && isEntry && walk.lastIsEntry)) {
      this.#say(`${walk.name}: the keys of page ${page} are not in order`);
    }
    walk.last = key;
    walk.lastIsEntry = isEntry;
  }

  #value(walk: TreeWalk, page: Buffer, node: number, key: Buffer): void {
    const flags = page.readUInt16LE(node + 4);
    const size = page.readUInt32LE(node);
    const at = node + NODE_HEADER_SIZE + key.length;
    const isTree = (flags & F_TREE) !== 0;
    if (isTree && size !== DB_SIZE) {
      this.#say(`${walk.name}: ${key.toString('latin1')} is no table`);
      return;
    }
    if ((flags & F_BIG) === 0) {
      walk.onEntry?.(key, () => page.subarray(at, at + size), isTree);
      return;
    }
    const first = page.readBigUInt64LE(at);
    const count = page.readBigUInt64LE(at + 16);
    walk.overflowPages += Number(count);
    if (count < 1n || BigInt(size) > count * BigInt(this.#meta.pageSize) - BigInt(PAGE_HEADER_SIZE)) {
      this.#say(`${walk.name}: a value of ${size} bytes has ${count} pages`);
      return;
    }
    for (let i = 0n; i < count; i++) if (!this.#use(walk.name, first + i)) return;
    const head = this.#page(walk.name, first, P_OVERFLOW);
    if (head === null) return;
    if (BigInt(head.readUInt32LE(20)) !== count) {
      this.#say(`${walk.name}: page ${first} begins ${head.readUInt32LE(20)} pages, should be ${count}`);
      return;
    }
    walk.onEntry?.(key, () => this.#bytes(first, size), false);
  }

  #bytes(firstPage: bigint, size: number): Buffer {
    const bytes = Buffer.alloc(size);
    this.#file.read(bytes, Number(firstPage) * this.#meta.pageSize + PAGE_HEADER_SIZE);
    return bytes;
  }

  /** The page, null (and told) when it is not what it should be. */
  #page(where: string, number: bigint, kind: number): Buffer | null {
    this.#read++;
    const page = Buffer.alloc(this.#meta.pageSize);
    this.#file.read(page, Number(number) * this.#meta.pageSize);
    const own = page.readBigUInt64LE(0);
    const flags = page.readUInt16LE(18);
    const say = (problem: string): null => {
      this.#say(`${where}: page ${number} ${problem}`);
      return null;
    };
    if (own !== number) return say(`says that it is page ${own}`);
    if ((flags & P_KINDS) !== kind) return say(`is of kind ${flags & P_KINDS}, should be ${kind}`);
    if (kind === P_OVERFLOW) return page;
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    const isWithin = lower % 2 === 0 && lower <= upper && upper <= this.#meta.pageSize - PAGE_HEADER_SIZE;
    if (!isWithin) return say(`has entries to ${lower} and values from ${upper}`);
    return page;
  }
}

/** Unsigned, in the machine's order, of 4 or 8 bytes. */
function compareIntegers(a: Buffer, b: Buffer): number {
  for (let i = Math.max(a.length, b.length) - 1; i >= 0; i--) {
    const order = (a[i] ?? 0) - (b[i] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}
