// Copies of a data directory, taken while a server works on it or not, and put back.
//
// Each partition is copied as one LMDB snapshot. The command log is copied last, so that it reaches beyond every partition's
// position; what a partition's copy lacks is replayed from it. Segments that the server removes in the meantime are still
// needed for that, so they are held by hard links from the start: whatever was acknowledged when the backup began is in it.
//
//   hold log segments -> partition 0 .. P-1 -> log -> dead letters -> store.json -> backup.json (the mark of completeness)

import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { chmod, copyFile, link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { makeDirectory } from '../engine/directories.ts';
import { foundTwice } from '../engine/inbox/damage.ts';
import { isUnfinished } from '../engine/inbox/dead-letters.ts';
import { damagesOfSegment } from '../engine/inbox/segments.ts';
import { fileAndReason, messageOf, reasonOf } from '../engine/reason.ts';
import { openPartition } from '../engine/store/partition.ts';
import { infoName, openStoreInfo, partitionDir, readStoreInfo } from '../engine/store/store-info.ts';
import { withoutLeftovers } from './leftovers.ts';

interface BackupManifest {
  readonly format: 1;
  /** ISO time at which it was begun. */
  readonly time: string;
  readonly partitions: number;
  /** Stream position of each partition's copy. */
  readonly positions: readonly number[];
  /** Bytes of every file of the copy, by its path in it. Earlier backups do not tell. */
  readonly files?: Readonly<Record<string, number>>;
  /** SHA-256 of each of them, in hex. Earlier backups do not tell. */
  readonly sha256?: Readonly<Record<string, string>>;
}

/** The copy cannot be made or put back. The message is for people. */
export class BackupFailed extends Error {}

interface BackupOptions {
  readonly data: string;
  readonly target: string;
  readonly now: () => number;
  /** Partitions done, of how many. */
  readonly onProgress: (done: number, total: number) => void;
}

const manifestName = 'backup.json';
/** Whoever opens a partition, also to check it, makes it and writes it. */
const partitionLock = 'lock.mdb';

/** Whether the folder is a backup as it was made. */
export const isBackup = (folder: string): boolean => existsSync(join(folder, manifestName));
/** Far shorter than a segment lives: it has to be filled, applied and flushed before the server removes it. */
const holdMs = 200;

/** Copies `data` to `target`, which must not exist. On failure, also when a signal ends the process, nothing is left there. */
export async function backup(options: BackupOptions): Promise<BackupManifest> {
  const { data, target, now } = options;
  // A link that leads nowhere is there, too.
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw new BackupFailed(`${target} is there already`);
  // Who removes or restores the one would take the other along.
  if (isBelow(realPath(target), realPath(data))) {
    throw new BackupFailed(`${target} lies in the data directory ${data}; name a folder elsewhere`);
  }
  const part = `${target}.part-${randomUUID().slice(0, 8)}`;
  const held = join(data, `backup-${randomUUID().slice(0, 8)}`);
  const time = new Date(now()).toISOString();
  return withoutLeftovers([part, held], () => copyAll(options, { part, held, time }));
}

/** `part`: the folder until it is complete; `held`: for links to segments of the log; `time`: ISO time at which it was begun. */
async function copyAll(
  options: BackupOptions,
  { part, held, time }: { readonly part: string; readonly held: string; readonly time: string },
): Promise<BackupManifest> {
  const { data, target } = options;
  makeDirectory(part);
  await mkdir(held, { mode: 0o700 });
  const holder = await holdSegments(join(data, 'inbox'), held);
  let positions: number[];
  try {
    positions = await copyPartitions(options, part);
  } finally {
    await holder.stop();
  }
  await copyLog(held, join(part, 'inbox'));
  await copyFolder(join(data, 'discarded'), join(part, 'discarded'), copyIfThere);
  await copyFile(join(data, infoName), join(part, infoName));
  const files = await filesBelow(part, (name) => name !== partitionLock);
  const sha256: Record<string, string> = {};
  for (const path of Object.keys(files)) sha256[path] = await digestOf(join(part, path));
  const manifest: BackupManifest = { format: 1, time, partitions: positions.length, positions, files, sha256 };
  await writeFile(join(part, manifestName), `${JSON.stringify(manifest, null, 2)}\n`, { flush: true });
  await syncTree(part);
  await rename(part, target);
  await syncDirectory(dirname(target));
  return manifest;
}

async function copyPartitions({ data, onProgress }: BackupOptions, part: string): Promise<number[]> {
  const { partitions } = openStoreInfo(data);
  const positions: number[] = [];
  for (let slot = 0; slot < partitions; slot += 1) {
    onProgress(slot, partitions);
    const from = partitionDir(data, slot);
    const to = partitionDir(part, slot);
    // A partition that never was opened has no folder yet.
    if (existsSync(from)) positions.push(await copyPartition(from, to));
    else positions.push(0);
  }
  onProgress(partitions, partitions);
  return positions;
}

async function copyPartition(from: string, to: string): Promise<number> {
  const partition = openPartition(from, { readOnly: true });
  try {
    await partition.backupTo(to);
  } finally {
    await partition.close();
  }
  const copy = openPartition(to, { readOnly: true });
  try {
    return copy.position;
  } finally {
    await copy.close();
  }
}

/** Links every segment of the log into `held` now and again, until stopped. */
async function holdSegments(inbox: string, held: string): Promise<{ stop(): Promise<void> }> {
  const linked = new Set<string>();
  const hold = async () => {
    if (!existsSync(inbox)) return;
    // The newest first: the server removes the oldest first, so where one has gone, all that are older have, and there is no gap.
    for (const name of (await readdir(inbox)).sort().reverse()) {
      if (linked.has(name) || !name.endsWith('.commands')) continue;
      try {
        await link(join(inbox, name), join(held, name));
        linked.add(name);
      } catch (error) {
        // Removed between looking and linking: everything in it is in all partitions.
        if (!isGone(error)) throw error;
      }
    }
  };
  await hold();
  let failure: unknown = null;
  let running: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(hold).catch((error: unknown) => {
      failure ??= error;
    });
  }, holdMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
      if (failure !== null) throw failure;
      await hold();
    },
  };
}

/** Copies the segments in `held`. What the server meanwhile writes goes to the newest, if to any of them. */
async function copyLog(held: string, to: string): Promise<void> {
  const newest = (await readdir(held)).sort().at(-1);
  await copyFolder(held, to, (from, copy) => (basename(from) === newest ? copyGrowing : copyWritable)(from, copy));
}

/**
 * Copies a segment that may be written to. A copy can have passed a place before a group was written there and have a later group all the same, which looks
 * like damage. The former was durable before the latter was written, so the next copy has it: what is damaged there again is damaged in the log.
 */
async function copyGrowing(from: string, to: string): Promise<void> {
  await foundTwice(async () => {
    await copyWritable(from, to);
    return (await damagesOfSegment(to)).map(({ error }) => error.message);
  });
}

interface RestoreOptions {
  readonly source: string;
  readonly data: string;
}

/** Whether nobody misses a thing of that name when a store comes to lie beside it: what the root of a file system has, and hidden files. */
const isPassedOver = (name: string): boolean => name === 'lost+found' || name.startsWith('.');

/** Puts a backup back to `data`, which must not exist or be empty. On failure nothing is left there. */
export async function restore({ source, data }: RestoreOptions): Promise<BackupManifest> {
  const manifest = await readManifest(source);
  if (existsSync(data) && !(await readdir(data)).every(isPassedOver)) {
    throw new BackupFailed(`${data} is not empty; nothing is overwritten. Move it away first`);
  }
  const [problem] = await fileProblems(manifest, (path) => sizeProblem(source, path, manifest));
  if (problem !== undefined) throw new BackupFailed(`${source} is incomplete: ${problem}`);
  try {
    readStoreInfo(source);
  } catch (error) {
    throw new BackupFailed((error as Error).message);
  }
  for (let slot = 0; slot < manifest.partitions; slot += 1) {
    const folder = partitionDir(source, slot);
    const isMissing = !existsSync(folder) && manifest.positions[slot] !== 0;
    if (isMissing) throw new BackupFailed(`${source} is incomplete: ${basename(folder)} is missing`);
  }
  // A folder that is there stays: it may be a mount point or what a link leads to, and the one above it somebody else's.
  const stays = existsSync(data);
  const id = randomUUID().slice(0, 8);
  const part = stays ? join(data, `restore-${id}`) : `${data}.part-${id}`;
  await withoutLeftovers([part], async () => {
    makeDirectory(dirname(data), 0o777);
    await copyFolder(source, part, (from, to) => copyVerified(from, to, manifest.sha256?.[relative(source, from)]));
    await rm(join(part, manifestName));
    await syncTree(part);
    if (stays) moveUp(part);
    else await rename(part, data);
    await syncDirectory(stays ? data : dirname(data));
  });
  return manifest;
}

/**
 * Moves what is in the folder into the one above it: with no signal in between, and the description last, without which no
 * server starts on the rest.
 */
function moveUp(folder: string): void {
  const names = readdirSync(folder).filter((name) => name !== infoName);
  for (const name of [...names, infoName]) renameSync(join(folder, name), join(dirname(folder), name));
}

/** What a folder lacks of the backup that its `backup.json` tells of, and what is not as it was; none when it is no backup, or whole. */
export async function problemsOfBackup(folder: string): Promise<string[]> {
  if (!isBackup(folder)) return [];
  try {
    const manifest = await readManifest(folder);
    return await fileProblems(
      manifest,
      async (path) => (await sizeProblem(folder, path, manifest)) ?? digestProblem(folder, path, manifest),
    );
  } catch (error) {
    return [fileAndReason(error)];
  }
}

/** Reads the whole file. */
async function digestProblem(source: string, path: string, { sha256 = {} }: BackupManifest): Promise<string | null> {
  const digest = sha256[path];
  if (digest === undefined) return null;
  try {
    return (await digestOf(join(source, path))) === digest ? null : `${path} ${NOT_AS_WRITTEN}`;
  } catch (error) {
    return messageOf(error);
  }
}

const NOT_AS_WRITTEN = 'is not as it was written: its SHA-256 is another one than that in backup.json';

async function sizeProblem(source: string, path: string, { files = {} }: BackupManifest): Promise<string | null> {
  const found = await stat(join(source, path)).catch(() => null);
  if (found === null) return `${path} is missing`;
  return found.size === files[path] ? null : `${path} has ${found.size} bytes, not ${files[path]}`;
}

/** `problemOf`: of one file, by its path in the backup. */
async function fileProblems(
  { files = {} }: BackupManifest,
  problemOf: (path: string) => Promise<string | null>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const path of Object.keys(files)) {
    // Earlier backups tell of locks, too, which are not restored.
    const problem = basename(path) === partitionLock ? null : await problemOf(path);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

async function readManifest(source: string): Promise<BackupManifest> {
  let text: string;
  try {
    text = await readFile(join(source, manifestName), 'utf8');
  } catch (error) {
    if (!isGone(error)) throw new Error(`${join(source, manifestName)}: ${reasonOf(error)}`, { cause: error });
    throw new BackupFailed(
      existsSync(source) ? `${source} is no complete backup: it has no ${manifestName}` : `there is no ${source}`,
    );
  }
  let manifest: BackupManifest;
  try {
    manifest = JSON.parse(text) as BackupManifest;
  } catch (error) {
    throw new BackupFailed(`${source} is damaged: ${manifestName}: ${reasonOf(error)}`);
  }
  if (manifest.format !== 1 || !Array.isArray(manifest.positions)) {
    throw new BackupFailed(`${source} was made by another version (format ${manifest.format})`);
  }
  return manifest;
}

type Copy = (from: string, to: string) => Promise<void>;

/** `copy`: what is done with each file. */
async function copyFolder(from: string, to: string, copy: Copy = copyWritable): Promise<void> {
  if (isBelow(to, from)) throw new BackupFailed(`${to} lies in ${from}, which is to be copied`);
  makeDirectory(to);
  if (!existsSync(from)) return;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const { name } = entry;
    // Locks belong to the directory that is in use, not to its copy; files that are being written get their names later.
    if (name === 'lock' || name === partitionLock || isUnfinished(name)) continue;
    if (entry.isDirectory()) await copyFolder(join(from, name), join(to, name), copy);
    else await copy(join(from, name), join(to, name));
  }
}

const isBelow = (path: string, folder: string): boolean => resolve(path).startsWith(join(resolve(folder), sep));

/** The path without links, also of what is not there yet. */
function realPath(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(realPath(dirname(whole)), basename(whole));
}

/** A backup may be kept read-only; what is put back is for the server to write. */
async function copyWritable(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
}

/** The same, of a file that has to be what it was when it was backed up. `digest`: its SHA-256 then, in hex; undefined: not known. */
async function copyVerified(from: string, to: string, digest: string | undefined): Promise<void> {
  await copyWritable(from, to);
  if (digest !== undefined && (await digestOf(to)) !== digest) throw new BackupFailed(`${from} ${NOT_AS_WRITTEN}`);
}

/** SHA-256 in hex. Errors name the file. */
async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(chunk);
  } catch (error) {
    throw new Error(`${path}: ${reasonOf(error)}`, { cause: error });
  }
  return hash.digest('hex');
}

/** At a time. */
const READ_BYTES = 1 << 20;

/** A running server removes files, of dead letters for example: what has gone need not be in the copy. */
async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await copyWritable(from, to);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Makes everything below `folder` survive a power failure. */
async function syncTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      await syncTree(path);
    } else {
      const file = await open(path, 'r+');
      await file.sync();
      await file.close();
    }
  }
  await syncDirectory(folder);
}

async function syncDirectory(folder: string): Promise<void> {
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Bytes of every file below a folder whose name is wanted, by its path there. */
async function filesBelow(
  folder: string,
  isWanted: (name: string) => boolean = () => true,
): Promise<Record<string, number>> {
  const files: Record<string, number> = {};
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !isWanted(entry.name)) continue;
    const path = join(entry.parentPath ?? entry.path, entry.name);
    files[relative(folder, path)] = (await stat(path)).size;
  }
  return files;
}

/** Bytes of all files below a folder. */
export async function sizeOf(folder: string): Promise<number> {
  return Object.values(await filesBelow(folder)).reduce((sum, size) => sum + size, 0);
}
