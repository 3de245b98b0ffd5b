// A backup becomes a data directory again.

import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { makeDirectory, syncDirectory } from '../directories.ts';
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
import { copyFolder, copyWritable, digestOf, type Leftovers, syncTree } from './tree.ts';

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
  // A folder that is there stays: it may be a mount point, or what a link leads to, and the one above it may be somebody else's.
  const stays = existsSync(data);
  const id = randomUUID().slice(0, 8);
  const part = stays ? join(data, `restore-${id}`) : `${data}.part-${id}`;
  await withoutLeftovers([part], async () => {
    makeDirectory(dirname(data), 0o777);
    await copyFolder(source, part, (from, to) => copyVerified(from, to, manifest.sha256?.[relative(source, from)]));
    await rm(join(part, MANIFEST_NAME));
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
  const names = readdirSync(folder).filter((name) => name !== INFO_NAME);
  for (const name of [...names, INFO_NAME]) renameSync(join(folder, name), join(dirname(folder), name));
}

/** Copies a file that has to be what it was when it was backed up. `digest`: its SHA-256 then, in hex; undefined: not known. */
async function copyVerified(from: string, to: string, digest: string | undefined): Promise<void> {
  await copyWritable(from, to);
  if (digest !== undefined && (await digestOf(to)) !== digest) throw new BackupFailed(`${from} ${NOT_AS_WRITTEN}`);
}
