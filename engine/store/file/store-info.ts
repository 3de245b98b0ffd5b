// What a data directory says of itself: `store.json` records what must never change, the format and the number of partitions
// (slot = hash(certname) mod partitions). Knows nothing of LMDB, so that a thread that only routes need not load it.

import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isThere, makeDirectory, syncNow } from '../../directories.ts';
import { newKey } from '../../fingerprint.ts';
import { naming } from '../../reason.ts';
import { DataFileDamaged } from './data-file.ts';
import { dataFileOf, infoFile, isPartition, isScratch, NEW_INFO_NAME, partitionDir } from './layout.ts';

/**
 * Version of what lies on disk. Older data are read as they are; what is written is of this version. What each has brought:
 *
 *   2  `report_lists`                           6  kinds of reports, bounds of their times
 *   3  events without values of their own       7  marks and periods of reports
 *   4  `fact_copy`                              8  rounds of item ids
 *   5  memos of payloads                        9  moments and statuses of reports
 */
export const FORMAT_VERSION = 9;

export interface StoreInfo {
  readonly format: number;
  readonly partitions: number;
  /** Every partition has its file: one that is missing or empty later was lost. */
  readonly complete?: boolean;
  /** Secret under which what is remembered of payloads is made (engine/fingerprint.ts); absent before format 5. */
  readonly key?: string;
}

const PARTITIONS_DEFAULT = 4;

/** FNV-1a over the UTF-8 bytes of the certname, finished so that low bits are good; mod the number of partitions. */
export function slotOf(certname: string, partitions: number): number {
  let h = 0x811c9dc5;
  const bytes = Buffer.from(certname, 'utf8');
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i]!, 0x01000193);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 12;
  return (h >>> 0) % partitions;
}

/**
 * Reads the directory's description, or writes a new one. Throws when it was written by a newer version, or when a
 * partition is missing (DataFileDamaged when it is its file).
 */
export function openStoreInfo(dir: string, options: { partitions?: number } = {}): StoreInfo {
  if (isThere(infoFile(dir))) {
    const info = readStoreInfo(dir);
    const missing = partitionDirs(dir, info).find((path) => !isThere(path));
    if (missing !== undefined)
      throw new Error(`${missing} is missing: without it the data of its nodes is gone; restore a backup`);
    if (info.complete) for (const path of partitionDirs(dir, info)) mustHaveData(path);
    const stray = strayPartition(dir, info);
    if (stray !== undefined) throw new Error(`${infoFile(dir)} ${stray}`);
    return info;
  }
  makeDirectory(dir);
  const left = partitionsWithData(dir)[0];
  if (left !== undefined) {
    throw new Error(
      `${infoFile(dir)} is missing, but ${left} has data: without it nobody knows which node is where; restore it from a backup`,
    );
  }
  const info: StoreInfo = {
    format: FORMAT_VERSION,
    partitions: options.partitions ?? PARTITIONS_DEFAULT,
    key: newKey(),
  };
  // The partitions are there before the description says so: one that is not there later was lost.
  for (const path of partitionDirs(dir, info)) makeDirectory(path);
  writeInfo(dir, info);
  return info;
}

/** What is wrong with a description that tells of fewer partitions than have data: that of another directory, perhaps. */
export function strayPartition(dir: string, { partitions }: StoreInfo): string | undefined {
  const stray = partitionsWithData(dir).find((name) => Number(name.slice(name.indexOf('-') + 1)) >= partitions);
  if (stray === undefined) return undefined;
  return `tells of ${partitions} partitions, but ${stray} has data: it is not the one of this directory; restore it from a backup`;
}

/** Names of the partitions that have a file, in order. */
export const partitionsWithData = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => isPartition(name) && isThere(dataFileOf(join(dir, name))))
    .sort();

/** Reads the directory's description and looks no further. Throws when it was written by a newer version. */
export function readStoreInfo(dir: string): StoreInfo {
  const file = infoFile(dir);
  const info = storeInfoOf(naming(file, () => readFileSync(file, 'utf8')));
  if (info === null)
    throw new Error(`${file} is damaged: it does not tell format and partitions; restore it from a backup`);
  if (info.format <= FORMAT_VERSION) return info;
  throw new Error(
    `${dir} was written by a newer version (format ${info.format}, this program knows ${FORMAT_VERSION})`,
  );
}

/** null when the text is no description. */
function storeInfoOf(text: string): StoreInfo | null {
  try {
    const info = JSON.parse(text) as Partial<StoreInfo> | null;
    const isWhole =
      Number.isInteger(info?.format) && Number.isInteger(info?.partitions) && Number(info?.partitions) > 0;
    return isWhole ? (info as StoreInfo) : null;
  } catch {
    return null;
  }
}

/** Throws DataFileDamaged when the partition has no file, or an empty one. */
export function mustHaveData(partition: string): void {
  const file = dataFileOf(partition);
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new DataFileDamaged(file, 'it is not there');
  if (size === 0) throw new DataFileDamaged(file, 'it is empty');
}

/**
 * Notes that every partition has its file, and that from now on this version writes: older ones will refuse. To be called
 * once all have been opened, by who may write.
 */
export function markComplete(dir: string, info: StoreInfo): void {
  if (info.complete && info.format === FORMAT_VERSION && info.key !== undefined) return;
  // What the note says must be true after a power failure too.
  for (const path of partitionDirs(dir, info)) {
    syncNow(dataFileOf(path));
    syncNow(path);
  }
  writeInfo(dir, { ...info, format: FORMAT_VERSION, complete: true, key: info.key ?? newKey() });
}

function writeInfo(dir: string, info: StoreInfo): void {
  const temporary = join(dir, NEW_INFO_NAME);
  naming(temporary, () => writeFileSync(temporary, `${JSON.stringify(info)}\n`, { mode: 0o600, flush: true }));
  renameSync(temporary, infoFile(dir));
  syncNow(dir);
}

export const partitionDirs = (dir: string, { partitions }: StoreInfo): string[] =>
  Array.from({ length: partitions }, (_, slot) => partitionDir(dir, slot));

/** Removes what a process that was killed has left of those, as far as that is possible. */
export function removeScratch(dir: string): void {
  for (const name of readdirSync(dir)) if (isScratch(name)) removeFolder(join(dir, name));
}

/** Removes the folder, if it is there and may be removed: it does no harm, and one that is left goes at the next start. */
export function removeFolder(dir: string): void {
  try {
    rmSync(dir, { recursive: true, force: true });
  } catch {
    // As on a file system that has become read-only.
  }
}
