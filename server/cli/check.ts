// `muster check`: reads the command log of a data directory, and holds every page and every index entry against what it belongs to. Each
// partition is checked by a process of its own: a damaged file may end whoever maps it, and then this one says which.

import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkLog } from '../../engine/inbox/log.ts';
import { reasonOf } from '../../engine/reason.ts';
import { dataFileOf } from '../../engine/store/data-file.ts';
import { partitionDir, readStoreInfo, type StoreInfo, strayPartition } from '../../engine/store/store-info.ts';
import { threadScript } from '../../workers/thread-script.ts';
import { problemsOfBackup } from '../backup.ts';
import { printable } from '../printable.ts';
import { type CliCommand, CliFailure, exitStatus } from './command.ts';
import { dataOptions, existingDataPath } from './data-options.ts';

export const command: CliCommand = {
  name: 'check',
  usage: '[--data DIR] [OPTIONS]',
  summary: 'verify a data directory',
  options: dataOptions,
  positionals: { min: 0, max: 0 },
  details:
    'Reads the command log, then walks all partitions: the pages of their files, then lists, shared bodies, postings, indexes, node sets, report indexes and counters, which ' +
    'are compared with each other. Changes nothing. Prints what does not fit, one problem a line, and then exits with status 1. Run it on the ' +
    "machine of the server, as the user of the server; better on a backup than on a running server's directory, whose pages change meanwhile.",
  examples: [['muster check --data /var/lib/muster', 'Says `sound` when all fits together.']],
  run: async (args, terminal) => {
    const data = existingDataPath(args, terminal);
    const info = infoOf(data);
    const problems = [
      ...(await problemsOfBackup(data)),
      ...(await checkInbox(data)),
      ...(await checkApart(data, info.partitions)),
    ];
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

async function checkInbox(data: string): Promise<string[]> {
  const inbox = join(data, 'inbox');
  const problem = existsSync(inbox) ? await checkLog(inbox) : null;
  return problem === null ? [] : [`command log: ${problem}`];
}

/** Problems of all partitions, some of them at a time. */
async function checkApart(data: string, partitions: number): Promise<string[]> {
  const found: string[][] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < partitions) {
      const slot = next++;
      found[slot] = await checkInProcess(data, slot);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, one));
  return found.flat();
}

/** Problems of one partition; the end of the process that looked for them is one too. */
function checkInProcess(data: string, slot: number): Promise<string[]> {
  const { url, execArgv = [] } = threadScript('check-process', import.meta.url);
  return new Promise((resolve, reject) => {
    let problems: string[] | null = null;
    const child = fork(fileURLToPath(url), [data, String(slot)], {
      execArgv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('error', reject);
    child.on('message', (message) => (problems = message as string[]));
    child.on('exit', (status, signal) => {
      const file = dataFileOf(partitionDir(data, slot));
      const end = signal ?? `status ${status}`;
      resolve(
        problems ?? [`partition ${slot}: ${file}: reading it ended the process (${end}); its contents are damaged`],
      );
    });
  });
}
