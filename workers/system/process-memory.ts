// How much memory the process takes, as Linux and Node tell it.

import { readFileSync } from 'node:fs';
import { procFile } from './proc-file.ts';

/** Of `/proc/self/statm`: pages that are resident, and those of files and shared memory among them. */
const STATM_RESIDENT = 1;
const STATM_SHARED = 2;

/** Bytes that are resident: those of files, and those that belong to none. */
export interface ResidentMemory {
  readonly all: number;
  readonly files: number;
  readonly own: number;
}

/** What is resident of this process now, as /proc/self/statm tells. `page`: bytes of a page (`pageSize`). */
export function residentMemory(page: number): ResidentMemory {
  statm ??= procFile('/proc/self/statm');
  const pages = statm().split(' ');
  const all = Number(pages[STATM_RESIDENT]) * page;
  const files = Number(pages[STATM_SHARED]) * page;
  return { all, files, own: all - files };
}
let statm: (() => string) | null = null;

/** What Node tells. It opens a file for that, as Linux tells what is resident in one; null where none can be opened. */
export function memoryUsage(): NodeJS.MemoryUsage | null {
  try {
    return process.memoryUsage();
  } catch {
    return null;
  }
}

/** Bytes of a page of memory; null where the system does not tell what is resident. */
export function pageSize(): number | null {
  try {
    const pages = Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[STATM_RESIDENT]);
    // The auxiliary vector is the one place that tells: pairs of words, 6 is the size of a page.
    const words = new BigUint64Array(Uint8Array.from(readFileSync('/proc/self/auxv')).buffer);
    for (let at = 0; at + 1 < words.length; at += 2) if (words[at] === 6n && pages > 0) return Number(words[at + 1]);
    return null;
  } catch {
    return null;
  }
}
