// `muster config`: the effective settings and where each came from.

import { environmentOf, flagOf, settingEntries } from '../../schemas/config.ts';
import type { Configuration } from '../config/load.ts';
import { settingsReference } from '../config/reference.ts';
import { isSet, sourceText } from '../config/sources.ts';
import { printSetting } from '../config/values.ts';
import { type CliCommand, exitStatus, type Terminal } from './command.ts';
import { configurationOf, settingOptions } from './setting-options.ts';
import { wantsTable } from './table.ts';

interface Line {
  readonly section: string;
  readonly name: string;
  readonly value: string | null;
  readonly source: string;
  readonly flag: string;
  readonly variable: string;
  readonly isSet: boolean;
}

export const command: CliCommand = {
  name: 'config',
  usage: '[OPTIONS of start]',
  options: {
    changed: { type: 'switch', doc: 'Only settings that are set somewhere.' },
    json: {
      type: 'switch',
      excludes: 'table',
      doc: 'As JSON (also when the output is not a terminal: give --table for the table).',
    },
    table: { type: 'switch', doc: 'As a table.' },
    reference: { type: 'switch', doc: 'What all settings mean, as Markdown (the table in docs/configure.md).' },
    ...settingOptions(),
  },
  positionals: { min: 0, max: 0 },
  details:
    'Reads the configuration as `muster start` would with the same options and prints every setting, its value and ' +
    'where it came from: a file and line, an environment variable, a flag, or the default. Nothing is started. ' +
    'A configuration with problems prints all of them and gives exit status 2.\n\n' +
    'A flag goes before an environment variable, that before a file, that before the default.',
  examples: [
    ['muster config --config /etc/puppetdb/conf.d', 'What an existing PuppetDB configuration comes to here.'],
    ['muster config --changed --node-ttl 30d', 'Only what differs from the defaults.'],
    ['MUSTER_NODE_TTL=30d muster config --json', 'For programs.'],
  ],
  run: async (args, terminal) => {
    const { changed, json: _json, table: _table, reference, ...options } = args.options;
    if (reference === 'true') {
      terminal.out(settingsReference());
      return exitStatus.ok;
    }
    const configuration = configurationOf({ ...args, options }, terminal);
    for (const notice of configuration.notices) terminal.err(`muster: ${notice.level}: ${notice.message}\n`);
    const lines = linesOf(configuration).filter((line) => changed !== 'true' || line.isSet);
    if (wantsTable(args, terminal)) printTable(lines, terminal);
    else printJson(lines, terminal);
    return exitStatus.ok;
  },
};

function linesOf({ settings, sources }: Configuration): Line[] {
  return settingEntries.map(([key, row]) => {
    const source = sources[key];
    const value = settings[key];
    return {
      section: row.section,
      name: row.name,
      value: value === null ? null : printSetting(row, value),
      source: sourceText(source),
      flag: `--${flagOf(row)}`,
      variable: environmentOf(row),
      isSet: isSet(source),
    };
  });
}

function printJson(lines: readonly Line[], terminal: Terminal): void {
  const entries = lines.map(({ isSet: _isSet, ...line }) => line);
  terminal.out(`${JSON.stringify(entries, null, 2)}\n`);
}

function printTable(lines: readonly Line[], terminal: Terminal): void {
  const nameWidth = Math.max(0, ...lines.map(({ name }) => name.length));
  const valueWidth = Math.min(40, Math.max(0, ...lines.map(({ value }) => value?.length ?? 1)));
  let section = '';
  for (const line of [...lines].sort((a, b) => (a.section < b.section ? -1 : a.section > b.section ? 1 : 0))) {
    if (line.section !== section) {
      terminal.out(`${section === '' ? '' : '\n'}[${line.section}]\n`);
      section = line.section;
    }
    terminal.out(`${line.name.padEnd(nameWidth)}  ${(line.value ?? '-').padEnd(valueWidth)}  ${line.source}\n`);
  }
}
