// `muster version`: one line each, in the form that scripts around PuppetDB read.

import { readFileSync } from 'node:fs';
import type { CliCommand } from './command.ts';
import { exitStatus } from './command.ts';

/** The version in package.json, which lies two folders up from here and from the built program. */
export function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
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
