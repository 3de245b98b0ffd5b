// `muster export`: everything a running server holds, in PuppetDB's archive format.

import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, rename, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { reasonOf } from '../../engine/reason.ts';
import { withoutLeftovers } from '../leftovers.ts';
import { anonymizationProfiles } from '../ops/archive/profiles.ts';
import { clientOf, clientOptions } from './client.ts';
import { type CliCommand, CliFailure, exitStatus } from './command.ts';
import { amount, startProgress } from './progress.ts';

const PROFILES = ['none', ...anonymizationProfiles.keys()];

export const command: CliCommand = {
  name: 'export',
  usage: '[OPTIONS] FILE|-',
  options: {
    anonymization: {
      type: 'text',
      value: 'PROFILE',
      doc: `How much is made unrecognisable: ${PROFILES.join(', ')}. [none]`,
    },
    force: { type: 'switch', short: 'f', doc: 'Replace the file if it is there.' },
    ...clientOptions,
  },
  positionals: { min: 1, max: 1 },
  details:
    'Writes facts, catalogs, reports and the rest of all active nodes to a .tgz archive that PuppetDB and Muster can ' +
    'import. The file appears under its name only when it is complete; the file - stands for standard output. For a copy of the data directory itself, which is ' +
    'smaller and faster to restore, see `muster backup`.',
  examples: [
    ['muster export all.tgz', 'From the local server.'],
    ['muster export - | ssh backup "cat > all.tgz"', 'To another machine, without a file here.'],
    [
      'muster export --anonymization moderate --url http://puppetdb:8080 for-support.tgz',
      'From another, without names.',
    ],
  ],
  run: async (args, terminal) => {
    const [file = ''] = args.positionals;
    const profile = args.options['anonymization'] ?? 'none';
    if (!PROFILES.includes(profile)) {
      throw new CliFailure(exitStatus.usage, `--anonymization: "${profile}" is none of ${PROFILES.join(', ')}`);
    }
    const toFile = file !== '-';
    if (toFile) await requireFree(file, args.options['force'] === 'true');
    else if (terminal.outIsTerminal) {
      throw new CliFailure(exitStatus.usage, 'an archive is nothing for a terminal; send it to a file or a program');
    }
    const path = `/pdb/admin/v1/archive?anonymization_profile=${profile}`;
    const answer = await clientOf(args, terminal).ask({ method: 'GET', path, headers: { accept: '*/*' } });
    const progress = startProgress(terminal, { label: 'export', total: null, unit: 'bytes' });
    let size = 0;
    const counter = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        size += chunk.length;
        progress.update(size);
        done(null, chunk);
      },
    });
    try {
      if (toFile) await writeWhole([answer, counter], file);
      else await pipeline([answer, counter, terminal.outStream], { end: false });
    } catch (error) {
      if (error instanceof CliFailure) throw error;
      throw new CliFailure(exitStatus.failed, `the export broke off: ${reasonOf(error)}`);
    } finally {
      progress.finish();
    }
    if (toFile) terminal.out(`${file}: ${amount(size, 'bytes')}\n`);
    else terminal.err(`exported ${amount(size, 'bytes')}\n`);
    return exitStatus.ok;
  },
};

/** Throws CliFailure when the file cannot be made, or may not be replaced: before the server is asked for anything. */
async function requireFree(file: string, force: boolean): Promise<void> {
  const there = await stat(file).catch(() => null);
  // A device or a pipe would be replaced by the archive, not written to.
  if (there?.isFile() === false) throw new CliFailure(exitStatus.usage, `${file} is no file that can be replaced`);
  if (there !== null && !force) {
    throw new CliFailure(exitStatus.usage, `${file} is there already; give --force to replace it`);
  }
  try {
    // With a slash behind it the system tells of a file that it is no folder, not that it may not be looked into.
    await access(join(dirname(file), sep), constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new CliFailure(exitStatus.failed, `${file} cannot be written: ${reasonOf(error)}`);
  }
}

/** Writes what comes out of the streams to the file, which has its name when it is complete. */
async function writeWhole(streams: readonly [Readable, Transform], file: string): Promise<void> {
  // Of its own: another export may write to the same file.
  const part = `${file}.part-${randomUUID().slice(0, 8)}`;
  try {
    await withoutLeftovers([part], async () => {
      await pipeline(...streams, createWriteStream(part, { mode: 0o600, flags: 'wx', flush: true }));
      await rename(part, file);
    });
  } catch (error) {
    throw new CliFailure(exitStatus.failed, `the export to ${file} broke off: ${reasonOf(error)}`);
  }
}
