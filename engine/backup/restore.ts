// A backup becomes a data directory again.

import { randomUUID } from 'node:crypto';
import { readdirSync, renameSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { isThere, makeDirectory, syncDirectory } from '../directories.ts';
import { isOfSystem, messageOf } from '../reason.ts';
import { INFO_NAME, partitionDir } from '../store/file/layout.ts';
import { readStoreInfo } from '../store/file/store-info.ts';
import { BackupFailed } from './errors.ts';
import {
  type BackupManifest,
  fileProblems,
  MANIFEST_NAME,
  NOT_AS_WRITTEN,
  readManifest,
  sizeProblem,
} from './manifest.ts';
import { copyFolder, copyWritable, digestOf, type Leftovers, renameForGood, syncTree } from './tree.ts';

interface RestoreOptions {
  readonly source: string;
  readonly data: string;
  /** Must remove what is left also when a signal ends the process. */
  readonly withoutLeftovers: Leftovers;
}

/** Whether a store may come to lie beside a thing of that name: what the root of a file system has, and hidden files. */
const isPassedOver = (name: string): boolean => name === 'lost+found' || name.startsWith('.');

/** Puts a backup back to `data`, which must not exist or be empty. On failure nothing is left there. */
export async function restore({ source, data, withoutLeftovers }: RestoreOptions): Promise<BackupManifest> {
  const manifest = await readManifest(source);
  if (isThere(data) && !(await readdir(data)).every(isPassedOver)) {
    throw new BackupFailed(`${data} is not empty; nothing is overwritten. Move it away first`);
  }
  const [problem] = await fileProblems(manifest, (path) => sizeProblem(source, path, manifest));
  if (problem !== undefined) throw new BackupFailed(`${source} is incomplete: ${problem}`);
  try {
    readStoreInfo(source);
  } catch (error) {
    throw isOfSystem(error) ? error : new BackupFailed(messageOf(error));
  }
  for (let slot = 0; slot < manifest.partitions; slot += 1) {
    const folder = partitionDir(source, slot);
    const isMissing = !isThere(folder) && manifest.positions[slot] !== 0;
    if (isMissing) throw new BackupFailed(`${source} is incomplete: ${basename(folder)} is missing`);
  }
  // A folder that is there stays: it may be a mount point, or what a link leads to, and the one above it may be somebody else's.
  const stays = isThere(data);
  const id = randomUUID().slice(0, 8);
  const part = stays ? join(data, `restore-${id}`) : `${data}.part-${id}`;
  await withoutLeftovers([part], async () => {
    makeDirectory(dirname(data), 0o777);
    await copyFolder(source, part, (from, to) => copyVerified(from, to, manifest.sha256?.[relative(source, from)]));
    await rm(join(part, MANIFEST_NAME));
    await syncTree(part);
    if (stays) await moveUp(part, data);
    else await renameForGood(part, data);
  });
  return manifest;
}

/**
 * Moves what is in `part` to `data`, for good: with no signal in between, and the description last, without which no server starts on the rest.
 * What cannot be moved, or made to last, is where it was, with all the rest.
 */
async function moveUp(part: string, data: string): Promise<void> {
  const names = readdirSync(part).filter((name) => name !== INFO_NAME);
  const moved: string[] = [];
  try {
    for (const name of [...names, INFO_NAME]) {
      renameSync(join(part, name), join(data, name));
      moved.push(name);
    }
    await syncDirectory(data);
  } catch (error) {
    for (const name of moved.reverse()) renameSync(join(data, name), join(part, name));
    throw error;
  }
}

/** Copies a file that has to be what it was when it was backed up. `digest`: its SHA-256 then, in hex; undefined: not known. */
async function copyVerified(from: string, to: string, digest: string | undefined): Promise<void> {
  await copyWritable(from, to);
  if (digest !== undefined && (await digestOf(to)) !== digest) throw new BackupFailed(`${from} ${NOT_AS_WRITTEN}`);
}
