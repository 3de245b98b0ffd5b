// The few file operations the log is made of, as an interface so that tests can make any of them fail.

import { type FileHandle, open, readdir, unlink } from 'node:fs/promises';
import { makeDirectory } from '../directories.ts';

export type LogFile = Pick<FileHandle, 'read' | 'writev' | 'datasync' | 'truncate' | 'stat' | 'close'>;

export interface LogFileSystem {
  open(path: string, flags: 'r+' | 'wx+'): Promise<LogFile>;
  makeDirectory(path: string): Promise<void>;
  list(path: string): Promise<string[]>;
  remove(path: string): Promise<void>;
  /** Makes created and removed names durable. */
  syncDirectory(path: string): Promise<void>;
}

export const diskFiles: LogFileSystem = {
  open: (path, flags) => open(path, flags, 0o600),
  makeDirectory: async (path) => {
    makeDirectory(path);
  },
  list: (path) => readdir(path),
  remove: (path) => unlink(path),
  syncDirectory: async (path) => {
    const directory = await open(path, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
};

/** Writes all buffers at `position`, however many calls the system wants for it. */
export async function writeAll(file: LogFile, buffers: readonly Uint8Array[], position: number): Promise<void> {
  let rest: Uint8Array[] = buffers.filter((buffer) => buffer.length > 0);
  let at = position;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at);
    if (bytesWritten === 0) throw new Error('the system wrote nothing and gave no reason');
    at += bytesWritten;
    rest = dropBytes(rest, bytesWritten);
  }
}

function dropBytes(buffers: Uint8Array[], count: number): Uint8Array[] {
  let left = count;
  let index = 0;
  while (index < buffers.length && left >= buffers[index]!.length) left -= buffers[index++]!.length;
  const rest = buffers.slice(index);
  if (left > 0) rest[0] = rest[0]!.subarray(left);
  return rest;
}

/** Reads exactly `length` bytes, fewer only at the end of the file. */
export async function readFully(file: LogFile, target: Buffer, length: number, position: number): Promise<number> {
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(target, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return done;
}
