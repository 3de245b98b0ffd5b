// `muster check`: holds every page and every index entry of a data directory against what it belongs to, and reads the command log. Each
// partition is checked by a process of its own: a damaged file may end whoever maps it, and then this one says which.

import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { problemsOfBackup } from '../../engine/backup/manifest.ts';
import { isThere } from '../../engine/directories.ts';
import { checkLog } from '../../engine/inbox/damage.ts';
import { reasonOf } from '../../engine/reason.ts';
import type { PartitionCheck } from '../../engine/store/check/check.ts';
import { dataFileOf, inboxDir, partitionDir } from '../../engine/store/file/layout.ts';
import { readStoreInfo, type StoreInfo, strayPartition } from '../../engine/store/file/store-info.ts';
import { threadScript } from '../../workers/system/thread-script.ts';
import { printable } from '../printable.ts';
import { type CliCommand, CliFailure, exitStatus } from './command.ts';
import { dataOptions, existingDataPath } from './data-options.ts';

export const command: CliCommand = {
  name: 'check',
  usage: '[--data DIR] [OPTIONS]',
  options: dataOptions,
  positionals: { min: 0, max: 0 },
  details:
    'Walks all partitions: the pages of their files, then lists, shared bodies, postings, indexes, node sets, report indexes and counters, which ' +
    'are compared with each other. Then reads the command log, and says of what is damaged there whether a start passes it over. Changes nothing. Prints what does not fit, one problem a line, and then exits with status 1. Run it on the ' +
    "machine of the server, as the user of the server; better on a backup than on a running server's directory, whose pages change meanwhile.",
  examples: [['muster check --data /var/lib/muster', 'Says `sound` when all fits together.']],
  run: async (args, terminal) => {
    const data = existingDataPath(args, terminal);
    const info = infoOf(data);
    const ofBackup = await problemsOfBackup(data);
    const partitions = await checkApart(data, info.partitions);
    const inbox = await checkInbox(
      data,
      partitions.map(({ position }) => position),
    );
    const problems = [...ofBackup, ...inbox, ...partitions.flatMap((partition) => partition.problems)];
    const stray = strayPartition(data, info);
    if (stray !== undefined) problems.push(`store.json ${stray}`);
    // Names in what is damaged may be anything.
    for (const problem of problems) terminal.out(`${printable(problem)}\n`);
    if (problems.length > 0) return exitStatus.failed;
    terminal.out(`${data}: sound\n`);
    return exitStatus.ok;
  },
};

function infoOf(data: string): StoreInfo {
  try {
    return readStoreInfo(data);
  } catch (error) {
    throw new CliFailure(exitStatus.failed, reasonOf(error));
  }
}

/** `positions`: of all partitions. */
async function checkInbox(data: string, positions: readonly number[]): Promise<string[]> {
  const inbox = inboxDir(data);
  const problems = isThere(inbox) ? await checkLog(inbox, positions) : [];
  return problems.map((problem) => `command log: ${problem}`);
}

/** Checks all partitions, some of them at a time. */
async function checkApart(data: string, partitions: number): Promise<PartitionCheck[]> {
  const checks: PartitionCheck[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < partitions) {
      const slot = next++;
      checks[slot] = await checkInProcess(data, slot);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, one));
  return checks;
}

/** Checks one partition; the end of the process that looked for problems is one too. */
function checkInProcess(data: string, slot: number): Promise<PartitionCheck> {
  const { url, execArgv = [] } = threadScript('check-process', import.meta.url);
  return new Promise((resolve, reject) => {
    let check: PartitionCheck | null = null;
    const child = fork(fileURLToPath(url), [data, String(slot)], {
      execArgv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', reject);
    child.on('message', (message) => (check = message as PartitionCheck));
    child.on('exit', (status, signal) => {
      const file = dataFileOf(partitionDir(data, slot));
      const end = signal ?? `status ${status}`;
      const problem = `partition ${slot}: ${file}: reading it ended the process (${end}); its contents are damaged`;
      resolve(check ?? { problems: [problem], position: 0 });
    });
  });
}
