// Files of Linux's /proc that are read again and again: each stays open, and is read into the same memory.

import { openSync, readSync } from 'node:fs';

/** What is longer is cut. */
const SIZE_MAX = 256;

/** Reads the file anew at each call. A file of a thread is that of the thread which makes this. Throws when it cannot be opened. */
export function procFile(path: string): () => string {
  const file = openSync(path, 'r');
  const text = Buffer.alloc(SIZE_MAX);
  return () => text.toString('latin1', 0, readSync(file, text, 0, SIZE_MAX, 0));
}
