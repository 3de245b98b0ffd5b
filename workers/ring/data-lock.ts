// One process per data directory. The lock is a listening Unix socket in the directory: the kernel drops it with the process,
// however that ends, so a lock whose socket refuses connections is stale and may be taken over. It gets its name when it listens: one
// that only is about to would be taken for a stale one. Process ids would lie in containers, and advisory file locks are not to be had in Node.

import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../../engine/directories.ts';
import { reasonOf } from '../../engine/reason.ts';

export interface DataLock {
  release(): Promise<void>;
}

/** Addresses of sockets end at 107 bytes on Linux and 103 elsewhere. */
const ADDRESS_SIZE_MAX = 100;
/** What the names of sockets have behind that of the lock before they are the lock, or when they were. */
const SUFFIX_SIZE = 9;
const suffixed = (path: string): string => `${path}.${randomUUID().slice(0, SUFFIX_SIZE - 1)}`;
const ATTEMPTS = 5;

/** Creates the directory if need be. Throws when that cannot be, or when another process uses it. */
export async function lockDataDirectory(dir: string): Promise<DataLock> {
  createDirectory(dir);
  const address = addressIn(dir);
  try {
    const { server, own } = await takeOver(address.path, dir);
    return {
      release: () =>
        new Promise((done) => {
          // While it listens nobody takes it over; somebody may have put something else there by hand.
          if (socketAt(address.path) === own) rmSync(address.path, { force: true });
          server.close(() => {
            address.close();
            done();
          });
        }),
    };
  } catch (error) {
    address.close();
    throw error;
  }
}

interface Holder {
  readonly server: Server;
  /** Its socket (`socketAt`). */
  readonly own: string | null;
}

async function takeOver(path: string, dir: string): Promise<Holder> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const holder = await listen(path, dir);
    if (holder !== null) return holder;
    const found = socketAt(path);
    if (found === 'other') throw new Error(`${join(dir, 'lock')} is no socket: it is not the lock of a process`);
    if (await answers(path, dir)) break;
    if (found !== null) removeStale(path, found);
  }
  throw new Error(`${dir} is used by another process`);
}

function createDirectory(dir: string): void {
  try {
    makeDirectory(dir);
  } catch (error) {
    const why = existsSync(dir) ? 'it is there and is no directory' : reasonOf(error);
    throw new Error(`the data directory ${dir} cannot be made: ${why}`, { cause: error });
  }
}

interface Address {
  readonly path: string;
  /** Once nobody needs the path any more. */
  close(): void;
}

/**
 * Where the socket is: always in the directory itself, so that all who use the directory meet there, by whatever path they came.
 * Through an open file where that path is too long for an address.
 */
function addressIn(dir: string): Address {
  const inside = join(resolve(dir), 'lock');
  if (Buffer.byteLength(inside) + SUFFIX_SIZE <= ADDRESS_SIZE_MAX) return { path: inside, close: () => {} };
  const file = openSync(dir, 'r');
  const folder = `/proc/self/fd/${file}`;
  if (!existsSync(folder)) {
    closeSync(file);
    throw new Error(
      `the path of ${dir} is too long: this system locks directories of up to ${ADDRESS_SIZE_MAX - 5 - SUFFIX_SIZE} bytes`,
    );
  }
  return { path: join(folder, 'lock'), close: () => closeSync(file) };
}

/** null when the address is taken, by a living process or a dead one. */
function listen(path: string, dir: string): Promise<Holder | null> {
  const made = suffixed(path);
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    const fail = (error: Error): void => {
      const why = error.message.replaceAll(made, path);
      reject(new Error(`the data directory ${dir} cannot be written: ${why}`, { cause: error }));
    };
    server.once('error', fail);
    server.listen(made, () => {
      server.unref();
      try {
        const own = socketAt(made);
        linkSync(made, path);
        resolve({ server, own });
      } catch (error) {
        server.close();
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') resolve(null);
        else fail(error as Error);
      } finally {
        rmSync(made, { force: true });
      }
    });
  });
}

/** Whether somebody listens. Throws when only another user may know. */
function answers(path: string, dir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EACCES' || error.code === 'EPERM') {
        reject(new Error(`${dir} may be used by another process: ${join(dir, 'lock')} belongs to another user`));
      } else resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/**
 * Tells one socket from another at the same place; inode numbers alone are given out again at once. null: nothing is there; `other`:
 * something else is.
 */
function socketAt(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (found === undefined) return null;
  return found.isSocket() ? `${found.ino} ${found.mtimeNs}` : 'other';
}

/** Removes the socket that was found dead, and only that one: somebody else may have put a living one there meanwhile. */
function removeStale(path: string, found: string): void {
  const aside = suffixed(path);
  try {
    if (socketAt(path) !== found) return;
    renameSync(path, aside);
    if (socketAt(aside) !== found) linkSync(aside, path);
  } catch {
    // Somebody else was faster; the next attempt sees.
  }
  // Of nothing else is this the place to remove it.
  if (socketAt(aside) !== 'other') rmSync(aside, { force: true });
}
