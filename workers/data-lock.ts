// One process per data directory. The lock is a listening Unix socket in the directory: the kernel drops it with the process,
// however that ends, so a lock whose socket refuses connections is stale and may be taken over. Process ids would lie in
// containers, and advisory file locks are not to be had in Node.

import { createHash, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface DataLock {
  release(): Promise<void>;
}

/** Addresses of sockets end at 107 bytes on Linux and 103 elsewhere. */
const ADDRESS_SIZE_MAX = 100;
const ATTEMPTS = 5;

/** Creates the directory if need be. Throws when that cannot be, or when another process uses it. */
export async function lockDataDirectory(dir: string): Promise<DataLock> {
  createDirectory(dir);
  const path = socketPath(realpathSync(dir));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const server = await listen(path);
    if (server !== null) {
      return { release: () => new Promise((resolve) => server.close(() => resolve())) };
    }
    const found = identityOf(path);
    if (await answers(path)) break;
    if (found !== null) removeStale(path, found);
  }
  throw new Error(`${dir} is used by another process`);
}

function createDirectory(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const isThere = statSync(dir, { throwIfNoEntry: false })?.isDirectory() === false;
    const why = isThere ? 'it is there and is no directory' : (error as Error).message;
    throw new Error(`the data directory ${dir} cannot be made: ${why}`, { cause: error });
  }
}

function socketPath(dir: string): string {
  const inside = join(dir, 'lock');
  if (Buffer.byteLength(inside) <= ADDRESS_SIZE_MAX) return inside;
  return join(tmpdir(), `muster-${createHash('sha1').update(dir).digest('hex')}.lock`);
}

/** null when the address is taken, by a living process or a dead one. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT');
    });
  });
}

/** Tells one socket from another at the same place; inode numbers alone are given out again at once. */
function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino} ${found.mtimeNs}`;
}

/** Removes the socket that was found dead, and only that one: somebody else may have put a living one there meanwhile. */
function removeStale(path: string, found: string): void {
  const aside = `${path}.${randomUUID().slice(0, 8)}`;
  try {
    renameSync(path, aside);
    if (identityOf(aside) !== found) linkSync(aside, path);
  } catch {
    // Somebody else was faster; the next attempt sees.
  }
  rmSync(aside, { force: true });
}
