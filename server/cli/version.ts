// `muster version`: one line each, in the form that scripts around PuppetDB read.

import { readFileSync } from 'node:fs';
import { libdeflate } from '../../workers/libdeflate.ts';
import { isal } from '../http/gzip/isal.ts';
import type { CliCommand } from './command.ts';
import { exitStatus } from './command.ts';

/** The version in package.json, which lies two folders up from here and from the built program. */
export function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

const usable = (library: unknown): string => (library === null ? 'not used' : 'used');

export const command: CliCommand = {
  name: 'version',
  usage: '',
  summary: 'print the version',
  options: {},
  positionals: { min: 0, max: 0 },
  details:
    'Prints the version of Muster, the version of the runtime, and whether a server here uses the optional libraries: libdeflate decompresses commands, ISA-L compresses answers.',
  examples: [['muster version', 'version=0.1.0']],
  run: async (_args, terminal) => {
    const libraries = `libdeflate=${usable(libdeflate())}\nisal=${usable(isal())}\n`;
    terminal.out(`version=${ownVersion()}\nnode=${process.versions.node}\n${libraries}`);
    return exitStatus.ok;
  },
};
