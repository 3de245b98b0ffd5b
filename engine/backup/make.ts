// Copies of a data directory, taken while a server works on it or not.
//
// Each partition is copied as one LMDB snapshot. The command log is copied last, so that it reaches beyond every partition's
// position; what a partition's copy lacks is replayed from it. Segments that the server removes in the meantime are still
// needed for that, so they are held by hard links from the start: whatever was acknowledged when the backup began is in it.
// A command that moves from one partition to another could miss both copies: it had not come to the one when that was copied, and had left the
// other. So while somebody looks after such a folder of links, the server keeps the command in the partition that it came from (`isBackedUp`).
//
//   hold log segments -> partition 0 .. P-1 -> log -> dead letters -> store.json -> backup.json (the mark of completeness)

import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { copyFile, link, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isThere, makeDirectory } from '../directories.ts';
import { foundTwice } from '../inbox/damage.ts';
import { damagesOfSegment, isSegment } from '../inbox/segments.ts';
import { isGone, naming, reasonOf } from '../reason.ts';
import { discardedDir, holdDir, inboxDir, infoFile, isHold, LOCK_FILE, partitionDir } from '../store/file/layout.ts';
import { openStoreInfo } from '../store/file/store-info.ts';
import { openPartition } from '../store/partition.ts';
import { BackupFailed } from './errors.ts';
import { type BackupManifest, MANIFEST_NAME } from './manifest.ts';
import {
  copyFolder,
  copyIfThere,
  copyWritable,
  digestOf,
  filesBelow,
  isBelow,
  type Leftovers,
  realPath,
  renameForGood,
  syncTree,
} from './tree.ts';

interface BackupOptions {
  readonly data: string;
  readonly target: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Must remove what is left also when a signal ends the process. */
  readonly withoutLeftovers: Leftovers;
  /** Partitions done, of how many. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Far shorter than a segment lives: it has to be filled, applied and flushed before the server removes it. */
const HOLD_MS = 200;
/** Nobody looks after a folder of links whose time is further away than that: it was left by a process that is gone. */
const LEFT_MS = 60_000;

/** Whether a backup of the data directory may be on its way; true also when that cannot be found out. `now`: epoch milliseconds. */
export function isBackedUp(data: string, now: number): boolean {
  try {
    return readdirSync(data).some((name) => {
      if (!isHold(name)) return false;
      const stat = statSync(join(data, name), { throwIfNoEntry: false });
      return stat !== undefined && Math.abs(now - stat.mtimeMs) < LEFT_MS;
    });
  } catch {
    return true;
  }
}

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
  const held = holdDir(data, randomUUID().slice(0, 8));
  const time = new Date(now()).toISOString();
  return options.withoutLeftovers([part, held], () => copyAll(options, { part, held, time }));
}

/** `part`: the folder until it is complete; `held`: for links to segments of the log; `time`: ISO time at which it was begun. */
async function copyAll(
  options: BackupOptions,
  { part, held, time }: { readonly part: string; readonly held: string; readonly time: string },
): Promise<BackupManifest> {
  const { data, target, now } = options;
  makeDirectory(part);
  await mkdir(held, { mode: 0o700 });
  const positions = await whileHeld(inboxDir(data), held, now, () => copyPartitions(options, part));
  await copyLog(held, inboxDir(part));
  await copyFolder(discardedDir(data), discardedDir(part), copyIfThere);
  await copyFile(infoFile(data), infoFile(part));
  const files = await filesBelow(part, (name) => name !== LOCK_FILE);
  const sha256: Record<string, string> = {};
  for (const path of Object.keys(files)) sha256[path] = await digestOf(join(part, path));
  const manifest: BackupManifest = { format: 1, time, partitions: positions.length, positions, files, sha256 };
  const path = join(part, MANIFEST_NAME);
  await naming(path, () => writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`, { flush: true }));
  await syncTree(part);
  await renameForGood(part, target);
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
    if (isThere(from)) positions.push(await copyPartition(from, to));
    else positions.push(0);
  }
  onProgress(partitions, partitions);
  return positions;
}

async function copyPartition(from: string, to: string): Promise<number> {
  const partition = openPartition(from, { readOnly: true });
  try {
    await partition.backupTo(to);
  } catch (error) {
    // LMDB does not say which files it speaks of.
    throw Object.assign(new Error(reasonOf(error), { cause: error }), { path: from, dest: to });
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

/**
 * Does the work. Before it, again and again meanwhile, and after it links every segment of the log into `held`, whose time shows that somebody
 * does. Rejects when the work fails, or a segment cannot be linked.
 */
async function whileHeld<T>(inbox: string, held: string, now: () => number, work: () => Promise<T>): Promise<T> {
  const linked = new Set<string>();
  const hold = async () => {
    const time = new Date(now());
    await utimes(held, time, time);
    if (!isThere(inbox)) return;
    // The newest first: the server removes the oldest first, so where one has gone, all that are older have, and there is no gap.
    for (const name of (await readdir(inbox)).sort().reverse()) {
      if (linked.has(name) || !isSegment(name)) continue;
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
  /** Null: nobody looks. A disk that is slow need not be looked at twice at a time. */
  let look: Promise<void> | null = null;
  const timer = setInterval(() => {
    look ??= hold()
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => {
        look = null;
      });
  }, HOLD_MS);
  let result: T;
  try {
    result = await work();
  } finally {
    clearInterval(timer);
    await look;
  }
  if (failure !== null) throw failure;
  await hold();
  return result;
}

/** Copies the segments in `held`. The server may still be writing to the newest of them. */
async function copyLog(held: string, to: string): Promise<void> {
  const newest = (await readdir(held)).sort().at(-1);
  await copyFolder(held, to, (from, copy) => (basename(from) === newest ? copyGrowing : copyWritable)(from, copy));
}

/**
 * Copies a segment that may be written to. A copy can lack a group that was written when it had passed its place, and have the next one: that
 * looks like damage. The former was durable before the latter was written, so a second copy has both; where that is damaged, too, the log is.
 */
async function copyGrowing(from: string, to: string): Promise<void> {
  await foundTwice(async () => {
    await copyWritable(from, to);
    return (await damagesOfSegment(to)).map(({ error }) => error.message);
  });
}
