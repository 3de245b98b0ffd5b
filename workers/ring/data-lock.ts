// One process per data directory. The lock is a folder, `lock`, with the listening Unix socket of its holder: the kernel drops that with
// the process, however it ends, so a socket that refuses connections is of a dead one. Process ids would lie in containers, and advisory
// file locks are not to be had in Node.
//
//   lock/0f3a6c...      the holder's socket, under a name that nobody else's has or had
//   lock.5b21d0c4/...   the same of somebody who tries
//
// Two never have it, however many start at once and whoever is killed meanwhile:
//
// - A socket gets into `lock` only together with its folder, which is renamed when the socket listens. The system puts a folder in the
//   place of another one only while that is empty. So there is one socket in `lock` at most, and it has listened.
// - It is taken out by its holder, who lets go, or by somebody whom it refused. What has listened and refuses will never listen again,
//   and no other socket ever has its name: however long it takes to remove it, nobody living is removed.
// - So the lock of a living holder is not empty, nor away from its place, at any moment. Of those who find it empty, or not there, one is
//   first; the others are told that it is not empty.
// - What is left of those who were killed while they tried is removed by a holder, who meanwhile keeps everybody else out. Whose folder
//   goes with it, though it lives, cannot rename it; whose folder has lost its socket sees that when it is in place. Both try again.
//
// Before, the socket itself was called `lock`. A dead one is removed by a call that does not remove folders.

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { makeDirectory } from '../../engine/directories.ts';
import { reasonOf } from '../../engine/reason.ts';
import { isUnfinishedLock, LOCK_NAME } from '../../engine/store/file/layout.ts';

export interface DataLock {
  release(): Promise<void>;
}

/** Addresses of sockets end at 107 bytes on Linux and 103 elsewhere. */
const ADDRESS_SIZE_MAX = 100;
/** What folders have behind `lock` before they are the lock. */
const SUFFIX_SIZE = 9;
/** Characters of a socket's name: 64 random bits, which do not come twice. */
const NAME_SIZE = 16;
/** What an address has behind `lock`. */
const INNER_SIZE = SUFFIX_SIZE + 1 + NAME_SIZE;
/** Each that fails tells that somebody else has got the lock, or let it go, or died. */
const ATTEMPTS = 20;

/** Creates the directory if need be. Throws when that cannot be, or when another process uses it. */
export async function lockDataDirectory(dir: string): Promise<DataLock> {
  createDirectory(dir);
  const address = addressIn(dir);
  try {
    const { server, socket } = await takeOver(address.path, dir);
    return {
      release: () =>
        new Promise((done) => {
          // Somebody may have put something else there by hand.
          attempt(() => unlinkSync(socket));
          attempt(() => rmdirSync(address.path));
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

/** Makes a change that somebody else may have made already. */
function attempt(change: () => void): void {
  try {
    change();
  } catch {
    // Somebody else was faster.
  }
}

interface Holder {
  readonly server: Server;
  /** Its path. */
  readonly socket: string;
}

async function takeOver(path: string, dir: string): Promise<Holder> {
  for (let tries = 0; tries < ATTEMPTS; tries++) {
    const holder = await put(path, dir);
    if (holder !== null) {
      removeUnfinished(path);
      return holder;
    }
    if (await isHeld(path, dir)) break;
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
 * Where the lock is: always in the directory itself, so that all who use the directory meet there, by whatever path they came.
 * Through an open file where that path is too long for an address.
 */
function addressIn(dir: string): Address {
  const inside = join(resolve(dir), LOCK_NAME);
  if (Buffer.byteLength(inside) + INNER_SIZE <= ADDRESS_SIZE_MAX) return { path: inside, close: () => {} };
  const file = openSync(dir, 'r');
  const folder = `/proc/self/fd/${file}`;
  if (!existsSync(folder)) {
    closeSync(file);
    throw new Error(
      `the path of ${dir} is too long: this system locks directories of up to ${ADDRESS_SIZE_MAX - 5 - INNER_SIZE} bytes`,
    );
  }
  return { path: join(folder, LOCK_NAME), close: () => closeSync(file) };
}

/** null: somebody else has the lock, or was faster. */
async function put(path: string, dir: string): Promise<Holder | null> {
  const name = randomBytes(NAME_SIZE / 2).toString('hex');
  const made = `${path}.${name.slice(0, SUFFIX_SIZE - 1)}`;
  const server = createServer((socket) => socket.destroy());
  try {
    mkdirSync(made, { mode: 0o700 });
  } catch (error) {
    throw unwritable(error, dir, (text) => text.replaceAll(made, path));
  }
  try {
    await listen(server, join(made, name));
    renameSync(made, path);
    const socket = join(path, name);
    if (existsSync(socket)) return { server, socket };
  } catch (error) {
    const isTaken = TAKEN.has((error as NodeJS.ErrnoException).code ?? '') || !existsSync(made);
    if (!isTaken) {
      server.close();
      throw unwritable(error, dir, (text) => text.replaceAll(made, path));
    }
  } finally {
    // Of the holder nothing has this name any more.
    rmSync(made, { recursive: true, force: true });
  }
  server.close();
  return null;
}

/** Errors of renaming a folder where something else than an empty folder has that name. */
const TAKEN: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

function listen(server: Server, path: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(path, () => {
      server.off('error', fail);
      // Of connections that cannot be accepted, as where no more files can be opened: who asks knows by then that somebody listens.
      server.on('error', () => {});
      server.unref();
      done();
    });
  });
}

function unwritable(error: unknown, dir: string, shown: (text: string) => string = (text) => text): Error {
  return new Error(`the data directory ${dir} cannot be written: ${shown(reasonOf(error))}`, { cause: error });
}

/** Whether a living process has the lock. What a dead one left there is removed. */
async function isHeld(path: string, dir: string): Promise<boolean> {
  const found = kindAt(path);
  if (found !== 'folder') return isAlive(path, found, dir);
  for (const name of namesIn(path, dir)) {
    const socket = join(path, name);
    if (await isAlive(socket, kindAt(socket), dir)) return true;
  }
  return false;
}

/** null: nothing is there. */
type Kind = 'socket' | 'folder' | 'other' | null;

function kindAt(path: string): Kind {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (found.isSocket()) return 'socket';
  return found.isDirectory() ? 'folder' : 'other';
}

function namesIn(path: string, dir: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw isDenied(error) ? ofAnotherUser(dir) : unwritable(error, dir);
  }
}

/** Whether a socket that was found there is of a living process; of a dead one it is removed. */
async function isAlive(path: string, found: Kind, dir: string): Promise<boolean> {
  if (found === null) return false;
  if (found !== 'socket') throw new Error(`${join(dir, LOCK_NAME)} is no socket: it is not the lock of a process`);
  if (await answers(path, dir)) return true;
  try {
    // A folder that has come there meanwhile stays.
    unlinkSync(path);
  } catch (error) {
    if (kindAt(path) === 'socket') throw unwritable(error, dir);
  }
  return false;
}

/**
 * Whether somebody listens. Throws when only another user may know. On macOS a socket refuses, too, whose queue is full: a hundred would have to
 * try before the holder's thread, at work on something else, looks at the first of them.
 */
function answers(path: string, dir: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (isDenied(error)) reject(ofAnotherUser(dir));
      else resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT' && error.code !== 'ENOTDIR');
    });
  });
}

const isDenied = (error: unknown): boolean => ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');

const ofAnotherUser = (dir: string): Error =>
  new Error(`${dir} may be used by another process: ${join(dir, LOCK_NAME)} belongs to another user`);

/** Removes what is left of those who were killed while they tried. Only for who has the lock. */
function removeUnfinished(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) if (isUnfinishedLock(name)) attempt(() => removeSockets(join(folder, name)));
}

/** Of nothing else is this the place to remove it. */
function removeSockets(path: string): void {
  const kind = kindAt(path);
  if (kind === 'socket') unlinkSync(path);
  if (kind !== 'folder') return;
  for (const name of readdirSync(path)) if (kindAt(join(path, name)) === 'socket') unlinkSync(join(path, name));
  rmdirSync(path);
}
