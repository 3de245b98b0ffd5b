// What a backup says of itself, `backup.json`: the mark that it is complete, and what each of its files was when it was made.

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isArray, isObject, type JsonValue } from '../json/value.ts';
import { fileAndReason, isGone, messageOf, reasonOf } from '../reason.ts';
import { LOCK_FILE } from '../store/file/layout.ts';
import { BackupFailed } from './errors.ts';
import { digestOf } from './tree.ts';

export interface BackupManifest {
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

export const MANIFEST_NAME = 'backup.json';

/** Whether the folder is a backup as it was made. */
export const isBackup = (folder: string): boolean => existsSync(join(folder, MANIFEST_NAME));

/** What is missing or changed in a folder that is a backup, one line each; none when it is whole, or no backup. */
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

export const NOT_AS_WRITTEN = 'is not as it was written: its SHA-256 is another one than that in backup.json';

/** Looks at the size only. */
export async function sizeProblem(
  source: string,
  path: string,
  { files = {} }: BackupManifest,
): Promise<string | null> {
  try {
    const { size } = await stat(join(source, path));
    return size === files[path] ? null : `${path} has ${size} bytes, not ${files[path]}`;
  } catch (error) {
    return isGone(error) ? `${path} is missing` : `${path}: ${reasonOf(error)}`;
  }
}

/** `problemOf`: of one file, by its path in the backup. */
export async function fileProblems(
  { files = {} }: BackupManifest,
  problemOf: (path: string) => Promise<string | null>,
): Promise<string[]> {
  const problems: string[] = [];
  for (const path of Object.keys(files)) {
    // Earlier backups tell of locks, too, which are not restored.
    const problem = basename(path) === LOCK_FILE ? null : await problemOf(path);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

/** Throws BackupFailed when the folder is no complete backup, or one of another version. */
export async function readManifest(source: string): Promise<BackupManifest> {
  let text: string;
  try {
    text = await readFile(join(source, MANIFEST_NAME), 'utf8');
  } catch (error) {
    if (!isGone(error)) throw new Error(`${join(source, MANIFEST_NAME)}: ${reasonOf(error)}`, { cause: error });
    throw new BackupFailed(
      existsSync(source) ? `${source} is no complete backup: it has no ${MANIFEST_NAME}` : `there is no ${source}`,
    );
  }
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw new BackupFailed(`${source} is damaged: ${MANIFEST_NAME}: ${reasonOf(error)}`);
  }
  const {
    format,
    partitions,
    positions = null,
    files = {},
    sha256 = {},
  } = Object(manifest) as Partial<Record<keyof BackupManifest, JsonValue>>;
  if (typeof format === 'number' && format !== 1) {
    throw new BackupFailed(`${source} was made by another version (format ${format})`);
  }
  const isWhole =
    format === 1 && isArray(positions) && positions.length === partitions && isObject(files) && isObject(sha256);
  if (!isWhole) throw new BackupFailed(`${source} is damaged: ${MANIFEST_NAME} does not tell what is in the backup`);
  return manifest as BackupManifest;
}
