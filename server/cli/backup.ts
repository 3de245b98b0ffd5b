// `muster backup`: a copy of the data directory, also while the server works on it.

import { resolve } from 'node:path';
import { backup } from '../../engine/backup/make.ts';
import { sizeOf } from '../../engine/backup/tree.ts';
import { withoutLeftovers } from '../leftovers.ts';
import { backupFailure } from './backup-failure.ts';
import { type CliCommand, exitStatus } from './command.ts';
import { dataOptions, existingDataPath } from './data-options.ts';
import { amount, startProgress } from './progress.ts';

export const command: CliCommand = {
  name: 'backup',
  usage: '[OPTIONS] TARGET',
  options: dataOptions,
  positionals: { min: 1, max: 1 },
  details:
    'Copies the data directory to the folder TARGET, which must not exist yet. The server may run and take commands ' +
    'meanwhile: every command that was acknowledged when the backup began is in it. Run it on the machine of the ' +
    'server, as the user of the server. The folder appears under its name only when it is complete; pack it with what you like.',
  examples: [
    ['muster backup --data /var/lib/muster /backup/muster-2026-11-21', 'A copy in a new folder.'],
    ['muster backup -c /etc/muster/muster.ini /backup/today', 'The directory that the configuration names.'],
  ],
  run: async (args, terminal) => {
    const data = existingDataPath(args, terminal);
    const target = resolve(args.positionals[0]!);
    const progress = startProgress(terminal, { label: 'backup', total: null, unit: 'partitions' });
    process.umask(0o077);
    try {
      const manifest = await backup({ data, target, now: Date.now, withoutLeftovers, onProgress: progress.update });
      progress.finish();
      terminal.out(`${target}: ${manifest.partitions} partitions, ${amount(await sizeOf(target), 'bytes')}\n`);
      return exitStatus.ok;
    } catch (error) {
      progress.finish();
      throw backupFailure('the backup failed', error);
    }
  },
};
