// `muster version`: one line each, in the form that scripts around PuppetDB read.

import { readFileSync } from 'node:fs';
import type { CliCommand } from './command.ts';
import { exitStatus } from './command.ts';

/** The version in package.json, which lies two folders up from the sources and three up from the built files. */
export function ownVersion(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const text = readFileSync(new URL(up, import.meta.url), 'utf8');
      const { name, version } = JSON.parse(text) as { name: string; version: string };
      if (name === 'muster') return version;
    } catch {
      // Not there: the other layout.
    }
  }
  return 'unknown';
}

export const command: CliCommand = {
  name: 'version',
  usage: '',
  summary: 'print the version',
  options: {},
  positionals: { min: 0, max: 0 },
  details: 'Prints the version of Muster and the version of the runtime.',
  examples: [['muster version', 'version=0.1.0']],
  run: async (_args, terminal) => {
    terminal.out(`version=${ownVersion()}\nnode=${process.versions.node}\n`);
    return exitStatus.ok;
  },
};
