// Bounds how much of the mapped data counts as memory of the process. LMDB maps its files; a page that was looked at stays
// resident until the system wants its memory for something else, so a dump of everything makes the process look as large as its
// data, and a container's limit may hit it for it. When the whole process has grown beyond a bound, and what is mapped beyond
// another one, mappings are given back with madvise(MADV_DONTNEED): the pages stay in the system's cache, are clean (LMDB writes
// through the file, never through the map), and come back when they are looked at again. That costs queries over much of a small
// store a tenth of their time, so they keep what the heaps leave. Queries over much of a large one it would cost most of their time,
// so there is a bound to how much is given back a second. Pages of the program itself, of which the start needs more than what comes
// after it (20 MB), are given back once, with the first ones of the data.
//
// Only Linux tells where the mappings are, and only with the optional package `koffi` can madvise be called; elsewhere nothing
// is bounded.

import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATA_FILE, PARTITION_PREFIX } from '../../engine/store/file/layout.ts';
import { nativeFunction } from './native.ts';
import { pageSize, type ResidentMemory, residentMemory } from './process-memory.ts';

/** A load of new nodes touches 100 MB a second. */
const CHECK_MS = 50;
/** How often all mappings are read, half a millisecond with the heaps of some threads. Whether known ones are still there is seen sooner. */
const READ_MAPS_MS = 1000;
/**
 * Bytes a second that are given back while commands are applied, and while they are not. A store of some thousand nodes does not come back
 * faster than the first; of a large one a query brings in more within a tenth of a second, and would wait for the same pages again and
 * again. They stay, above the bounds, for as long as such queries come. Without commands the heaps do not grow, either, and whoever
 * asks for much will ask again: then the pages of small stores, too, go only so fast that few are missed.
 */
const RATE = 400 << 20;
const RATE_AT_REST = 20 << 20;
/** Milliseconds for which commands count after the last one. */
const BUSY_MS = 1000;
/** Bytes by which files grow again, where giving back was not enough, before it is done once more. */
const GROWTH_MIN = 16 << 20;
const MADV_DONTNEED = 4;

/** Gives mappings back to the system. */
type Release = (start: bigint, size: number) => void;

export interface MappedMemoryOptions {
  /** Data directory. */
  readonly dir: string;
  /** Bytes of files that may be resident in any case, those of the program itself included. 0: any. */
  readonly max: number;
  /** Bytes that the process may take with more than that. */
  readonly total: number;
  /** Whether commands are applied at present. */
  readonly isBusy: () => boolean;
  /** Bytes a second that are given back at most, and so many at once: while commands are applied, and otherwise. */
  readonly rate?: number;
  readonly rateAtRest?: number;
}

/** Starts watching. Returns what ends it, or null where it is not possible. */
export function boundMappedMemory(options: MappedMemoryOptions): (() => void) | null {
  const { dir, max, total, isBusy, rate = RATE, rateAtRest = RATE_AT_REST } = options;
  const page = max === 0 ? null : pageSize();
  if (page === null) return null;
  const folder = realpathSync(dir);
  const isTooMuch = ({ files, all }: ResidentMemory): boolean => files > max && all > total;
  // Loaded when it is needed first: small stores never do.
  let release: Release | null = null;
  let isProgramReleased = false;
  const known = new KnownMappings(folder);
  let turn = 0;
  /** What stayed of files the last time when that was still too much: the program alone may be. */
  let left = 0;
  /** Bytes that may be given back now. Below 0 after a mapping that had more. */
  let credit = isBusy() ? rate : rateAtRest;
  let creditedAt = performance.now();
  let busyAt = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    const elapsed = performance.now() - creditedAt;
    creditedAt += elapsed;
    if (isBusy()) busyAt = creditedAt;
    const present = creditedAt - busyAt < BUSY_MS ? rate : rateAtRest;
    credit = Math.min(present, credit + (present * elapsed) / 1000);
    if (credit <= 0) return;
    let now = residentMemory(page);
    if (now.files <= max) left = 0;
    if (!isTooMuch(now) || (left > 0 && now.files < left + GROWTH_MIN)) return;
    release ??= madvise();
    if (release === null) return clearInterval(timer);
    // Where it cannot be read, nothing is given back.
    if (!isProgramReleased) releaseProgram(release).catch(() => {});
    isProgramReleased = true;
    const mappings = known.now();
    // In turn, and no more than has to go: what is being read should stay.
    for (let count = 0; count < mappings.length && isTooMuch(now) && credit > 0; count++) {
      const { start, size } = mappings[turn++ % mappings.length] as Mapping;
      const { files } = now;
      release(start, size);
      now = residentMemory(page);
      credit -= Math.max(0, files - now.files);
    }
    left = isTooMuch(now) && credit > 0 ? now.files : 0;
  }, CHECK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What is mapped of the process, in addresses and bytes. */
interface Mapping {
  readonly start: bigint;
  readonly size: number;
}

/** The same mappings, while they are there, and others a moment after they have come. */
export class KnownMappings {
  readonly #folder: string;
  #known: readonly Mapping[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(folder: string) {
    this.#folder = folder;
  }

  now(): readonly Mapping[] {
    const now = performance.now();
    if (now - this.#readAt >= READ_MAPS_MS || !this.#known.every(isMapped)) {
      this.#readAt = now;
      try {
        this.#known = dataMappings(this.#folder);
      } catch {
        // No file can be opened at present.
        this.#known = [];
      }
    }
    return this.#known;
  }
}

/** Whether a file is mapped just there, where the system tells. */
function isMapped({ start, size }: Mapping): boolean {
  const [from, to] = [start, start + BigInt(size)].map((address) => address.toString(16));
  try {
    return lstatSync(`/proc/self/map_files/${from}-${to}`, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Mappings of the partitions' files below the folder: other ones may be unmapped, and their addresses given to others, before they are given back. */
export function dataMappings(folder: string): Mapping[] {
  const found: Mapping[] = [];
  for (const line of readFileSync('/proc/self/maps', 'utf8').split('\n')) {
    // 7f00-7f10 r--s 00000000 fe:00 123    /data/partition-0/data.mdb
    const at = line.indexOf('/');
    if (at < 0 || !line.endsWith(`/${DATA_FILE}`) || !line.startsWith(join(folder, PARTITION_PREFIX), at)) continue;
    const [start = '', end = ''] = line.slice(0, line.indexOf(' ')).split('-');
    found.push(mapping(start, end));
  }
  return found;
}

/** Of two addresses in hexadecimal digits. */
function mapping(from: string, to: string): Mapping {
  const start = BigInt(`0x${from}`);
  return { start, size: Number(BigInt(`0x${to}`) - start) };
}

/**
 * Gives back what is mapped of the program and was not changed since. Not of its libraries: one that is unloaded between the look and
 * the call leaves its addresses to others. Resolves with the bytes.
 */
export async function releaseProgram(release: Release): Promise<number> {
  let size = 0;
  for (const part of unchanged(await readFile('/proc/self/smaps', 'utf8'))) {
    release(part.start, part.size);
    size += part.size;
  }
  return size;
}

/**
 * Read-only mappings of the program's file in which no page is the process's own (as those are that were relocated when the program was loaded):
 * what is given back comes from the file again.
 */
function unchanged(smaps: string): Mapping[] {
  const found: Mapping[] = [];
  // 5600-5700 r-xp 00000000 fe:00 123    /usr/bin/node      then, of each mapping, lines as `Anonymous:    0 kB`
  for (const [, start = '', end = '', path, own] of smaps.matchAll(READ_ONLY)) {
    if (path === process.execPath && own === '0') found.push(mapping(start, end));
  }
  return found;
}
const READ_ONLY = /^([\da-f]+)-([\da-f]+) r-[-x]p \S+ \S+ \d+ +(\/.*)\n(?:[A-Z].*\n)*?Anonymous: +(\d+) kB$/gm;

/** Null where it cannot be called. */
export function madvise(): Release | null {
  const call = nativeFunction('int madvise(uintptr_t start, size_t size, int advice)');
  return call === null ? null : (start, size) => void call(start, size, MADV_DONTNEED);
}
