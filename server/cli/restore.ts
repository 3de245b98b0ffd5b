// `muster restore`: a backup becomes a data directory again.

import { resolve } from 'node:path';
import { restore } from '../../engine/backup/restore.ts';
import { withoutLeftovers } from '../leftovers.ts';
import { backupFailure } from './backup-failure.ts';
import { type CliCommand, exitStatus } from './command.ts';
import { dataOptions, dataPath } from './data-options.ts';

export const command: CliCommand = {
  name: 'restore',
  usage: '[OPTIONS] BACKUP',
  options: dataOptions,
  positionals: { min: 1, max: 1 },
  details:
    'Makes a data directory from a folder that `muster backup` made. Nothing is overwritten: the data directory must not ' +
    'exist or be empty, so stop the server and move the old one away first. Commands that were acknowledged and not yet ' +
    'stored when the backup was made are processed when the server starts.',
  examples: [['muster restore --data /var/lib/muster /backup/muster-2026-11-21', 'Into a new data directory.']],
  run: async (args, terminal) => {
    const data = dataPath(args, terminal);
    process.umask(0o077);
    try {
      const manifest = await restore({ source: resolve(args.positionals[0]!), data, withoutLeftovers });
      terminal.out(`${data}: as of ${manifest.time}\n`);
      return exitStatus.ok;
    } catch (error) {
      throw backupFailure('not restored', error);
    }
  },
};
