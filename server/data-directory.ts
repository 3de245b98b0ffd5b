// The data directory and its lock. One process at a time works on a data directory; a second one is told who has it.
//
// The lock is a unix socket that the owner listens on: the kernel lets go of it when the process dies, however it dies,
// and it is visible to other containers that share the folder, where process numbers mean nothing. A socket file that
// nobody listens on is left over and taken away; `lock.takeover` makes sure that only one process does so at a time.

import { closeSync, mkdirSync, openSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface DataDirectory {
  readonly path: string;
  /** Gives the lock back. The directory may not be used afterwards. */
  release(): Promise<void>;
}

/** The directory is in use, cannot be made, or cannot be written. The message is for people. */
export class DataDirectoryRefused extends Error {}

/** A takeover that lasts longer was left by a process that died in the middle. */
const takeoverMs = 2000;
const answerMs = 500;
/** Longest path that a unix socket address holds, with a margin for systems where it is shorter than 108. */
const socketPathMax = 100;

/** Makes the directory (0700) when it is missing and locks it. Throws DataDirectoryRefused. */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  makeDirectory(path);
  const address = lockAddress(path);
  const deadline = Date.now() + 2 * takeoverMs;
  for (;;) {
    const server = await tryListen(address.socket);
    if (server !== null) return { path, release: () => release(server, address) };
    const owner = await askOwner(address.socket);
    if (owner !== null) {
      address.close();
      throw new DataDirectoryRefused(`the data directory ${path} is in use by another process (${owner})`);
    }
    await takeAway(address.socket, join(path, 'lock.takeover'));
    if (Date.now() > deadline) {
      address.close();
      throw new DataDirectoryRefused(`the lock of the data directory ${path} can neither be taken nor asked`);
    }
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (!statSync(path).isDirectory()) throw new Error('not a directory');
  } catch (error) {
    throw new DataDirectoryRefused(`the data directory ${path} cannot be used: ${(error as Error).message}`);
  }
}

interface LockAddress {
  readonly socket: string;
  close(): void;
}

/** Socket addresses are short: a long path is reached through the open directory instead. */
function lockAddress(path: string): LockAddress {
  const socket = join(path, 'lock');
  if (Buffer.byteLength(socket) <= socketPathMax) return { socket, close: () => {} };
  if (process.platform !== 'linux')
    throw new DataDirectoryRefused(`the path of the data directory is too long: ${path}`);
  const directory = openSync(path, 'r');
  return { socket: `/proc/self/fd/${directory}/lock`, close: () => closeSync(directory) };
}

/** The lock, or null when the socket file is there already. */
function tryListen(socket: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((peer) => {
      peer.on('error', () => {});
      peer.end(`process ${process.pid}`);
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(new DataDirectoryRefused(`the data directory cannot be locked: ${error.message}`));
    });
    server.listen(socket, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Who listens on the socket; null: nobody. A process that is stopped or busy still counts as there. */
function askOwner(socket: string): Promise<string | null> {
  return new Promise((resolve) => {
    let text = '';
    const peer = connect(socket);
    const timer = setTimeout(() => {
      resolve('it does not say which');
      peer.destroy();
    }, answerMs);
    peer.on('data', (chunk) => {
      text += chunk.toString();
    });
    peer.on('error', () => {
      clearTimeout(timer);
      resolve(text === '' ? null : text);
    });
    peer.on('end', () => {
      clearTimeout(timer);
      resolve(text || 'it does not say which');
    });
  });
}

/** Removes a socket file that nobody listens on. Does nothing while another process is at it. */
async function takeAway(socket: string, takeover: string): Promise<void> {
  try {
    mkdirSync(takeover);
  } catch {
    const age = Date.now() - (statSync(takeover, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > takeoverMs) removeQuietly(() => rmdirSync(takeover));
    await sleep(20);
    return;
  }
  try {
    if ((await askOwner(socket)) === null) removeQuietly(() => unlinkSync(socket));
  } finally {
    removeQuietly(() => rmdirSync(takeover));
  }
}

function removeQuietly(remove: () => void): void {
  try {
    remove();
  } catch {
    // Gone already.
  }
}

/** Closing the server removes the socket file. */
function release(server: Server, address: LockAddress): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      address.close();
      resolve();
    });
  });
}
