// `muster version`: one line each, in the form that scripts around PuppetDB read.

import { libdeflate } from '../../workers/system/libdeflate.ts';
import { isal } from '../http/gzip/isal.ts';
import { ownVersion } from '../ops/own-version.ts';
import type { CliCommand } from './command.ts';
import { exitStatus } from './command.ts';

const usable = (library: unknown): string => (library === null ? 'not used' : 'used');

export const command: CliCommand = {
  name: 'version',
  usage: '',
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
