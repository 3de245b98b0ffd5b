import { readSync } from 'node:fs';

/** Fills `into` from `offset` of the open file, waiting for the disk. Returns its bytes, fewer only at the end of the file. Throws the system's error. */
export function readFullySync(fd: number, into: Buffer, offset: number): number {
  let done = 0;
  while (done < into.length) {
    const count = readSync(fd, into, done, into.length - done, offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}
