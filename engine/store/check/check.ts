// Walks a data directory that no server uses and tells everything that does not fit together: pages of the files, lists
// without bodies, bodies that nobody has, postings and indexes that disagree with the lists, facts that are not registered, node sets, what
// belongs to no node or report, report indexes and counters. Reads only. Empty result: the store is sound. A record that cannot be read is a
// problem like others: what is behind it is checked all the same, and totals that it would count in are not.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isThere } from '../../directories.ts';
import { messageOf } from '../../reason.ts';
import { DataFileDamaged } from '../file/data-file.ts';
import { dataFileOf, LOCK_FILE, partitionDir } from '../file/layout.ts';
import { walkDataFile } from '../file/page-walk.ts';
import { mustHaveData, readStoreInfo, slotOf } from '../file/store-info.ts';
import { openPartition, type Partition } from '../partition.ts';
import { Findings } from './findings.ts';
import { ItemsCheck } from './items.ts';
import { CheckedNodes } from './nodes.ts';
import { ReportsCheck } from './reports.ts';

/** What a check says of a partition. */
export interface PartitionCheck {
  readonly problems: readonly string[];
  /** Stream position; 0 where it cannot be read, too. */
  readonly position: number;
}

/**
 * Checks one partition. Its file's pages come first, read without LMDB; what is not sound there is not given to LMDB. The
 * rest needs the file mapped: should that end the process all the same, only a process around it can tell. `isBackup`: what is
 * there is to stay as it was written, by whatever version.
 */
export async function checkPartition(dir: string, slot: number, isBackup = false): Promise<PartitionCheck> {
  const info = readStoreInfo(dir);
  const path = partitionDir(dir, slot);
  const told = (text: string): string => `partition ${slot}: ${text}`;
  const unread = (...problems: readonly string[]): PartitionCheck => ({ problems: problems.map(told), position: 0 });
  try {
    if (info.complete) mustHaveData(path);
    const file = dataFileOf(path);
    if (!isThere(file)) return unread();
    const damage = walkDataFile(path);
    if (damage.length > 0) return unread(...damage.map((text) => `${file}: ${text}`));
    const owns = (certname: string): boolean => slotOf(certname, info.partitions) === slot;
    const check = () => checkRows(path, owns, isBackup);
    const { problems, position } = await (isBackup ? withoutLock(path, check) : check());
    return { problems: problems.map(told), position };
  } catch (error) {
    if (error instanceof DataFileDamaged) return unread(`${error.file}: ${error.problem}`);
    return unread(`it cannot be read: ${messageOf(error)}`);
  }
}

/** Removes the lock file that `work` makes: who made it may not be who looks the next time. */
async function withoutLock<T>(partition: string, work: () => Promise<T>): Promise<T> {
  const lock = join(partition, LOCK_FILE);
  const stays = existsSync(lock);
  try {
    return await work();
  } finally {
    if (!stays) rmSync(lock, { force: true });
  }
}

async function checkRows(path: string, owns: (certname: string) => boolean, asIs: boolean): Promise<PartitionCheck> {
  const partition = openPartition(path, { readOnly: true, asIs });
  try {
    return { problems: rowProblems(partition, owns), position: partition.position };
  } finally {
    await partition.close();
  }
}

/** What does not fit together of what a partition holds, as of now. `owns`: whether a node of that certname belongs there. */
export function rowProblems(partition: Partition, owns: (certname: string) => boolean): readonly string[] {
  const findings = new Findings();
  const view = partition.snapshot();
  try {
    const nodes = new CheckedNodes(view, findings);
    nodes.check(owns);
    new ItemsCheck(view, nodes, findings).check();
    new ReportsCheck(view, nodes, findings).check();
  } finally {
    view.close();
  }
  return findings.problems;
}
