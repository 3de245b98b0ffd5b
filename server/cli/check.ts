// `muster check`: holds every index entry of a data directory against its record.

import { checkStore } from '../../engine/store/check.ts';
import { type CliCommand, exitStatus } from './command.ts';
import { dataOptions, existingDataPath } from './data-options.ts';

export const command: CliCommand = {
  name: 'check',
  usage: '[OPTIONS]',
  summary: 'verify a data directory',
  options: dataOptions,
  positionals: { min: 0, max: 0 },
  details:
    'Walks all partitions and compares lists, shared bodies, postings, indexes, node sets, report indexes and counters with ' +
    'each other. Changes nothing. Prints what does not fit, one problem a line, and then exits with status 1. Run it on the machine of the ' +
    'server, as the user of the server.',
  examples: [['muster check --data /var/lib/muster', 'Says `sound` when all fits together.']],
  run: async (args, terminal) => {
    const data = existingDataPath(args, terminal);
    const problems = await checkStore(data);
    for (const problem of problems) terminal.out(`${problem}\n`);
    if (problems.length > 0) return exitStatus.failed;
    terminal.out(`${data}: sound\n`);
    return exitStatus.ok;
  },
};
