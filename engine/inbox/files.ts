// The few file operations the log is made of, as an interface so that tests can make any of them fail.

import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { makeDirectory, syncDirectory } from '../directories.ts';

/** What `writev` has written is durable when it resolves. */
export type LogFile = Pick<FileHandle, 'fd' | 'read' | 'writev' | 'datasync' | 'truncate' | 'stat' | 'close'>;

const { O_CREAT, O_DSYNC, O_EXCL, O_RDONLY, O_RDWR } = constants;
const OPEN_FLAGS = { r: O_RDONLY, 'r+': O_RDWR, 'wx+': O_RDWR | O_CREAT | O_EXCL };

/**
 * On Linux a write is durable when its call returns. A sync of its own would go through the thread pool once more, after a turn of the main
 * thread's event loop: on a busy machine that takes as long as the disk does.
 */
async function openDurably(path: string, flags: keyof typeof OPEN_FLAGS): Promise<LogFile> {
  if (process.platform === 'linux') return open(path, OPEN_FLAGS[flags] | O_DSYNC, 0o600);
  return syncing(await open(path, OPEN_FLAGS[flags], 0o600));
}

/** The same file, each write followed by a sync. */
export function syncing(file: LogFile): LogFile {
  return {
    fd: file.fd,
    read: file.read.bind(file),
    datasync: () => file.datasync(),
    truncate: (size) => file.truncate(size),
    stat: file.stat.bind(file),
    close: () => file.close(),
    writev: async (buffers, position) => {
      const written = await file.writev(buffers, position);
      await file.datasync();
      return written;
    },
  } as LogFile;
}

export interface LogFileSystem {
  open(path: string, flags: 'r' | 'r+' | 'wx+'): Promise<LogFile>;
  makeDirectory(path: string): Promise<void>;
  list(path: string): Promise<string[]>;
  remove(path: string): Promise<void>;
  /** Takes the place of what has the new name. */
  rename(from: string, to: string): Promise<void>;
  /** Makes created, changed and removed names durable. */
  syncDirectory(path: string): Promise<void>;
}

export const diskFiles: LogFileSystem = {
  open: openDurably,
  makeDirectory: async (path) => {
    makeDirectory(path);
  },
  list: (path) => readdir(path),
  remove: (path) => unlink(path),
  rename: (from, to) => rename(from, to),
  syncDirectory,
};

/** Writes all buffers durably at `position`, however many calls the system wants for it. */
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
