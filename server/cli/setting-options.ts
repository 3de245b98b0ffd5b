// Every setting as an option of `start` and `config`, straight from the table of settings.

import { flagOf, type SettingRow, settingEntries } from '../../schemas/config.ts';
import { type Configuration, loadConfiguration } from '../config/load.ts';
import type { OptionSpec, ParsedArguments } from './arguments.ts';
import type { Terminal } from './command.ts';

/** Headlines by section. */
const groupOfSection: Readonly<Record<string, string>> = {
  global: 'Where things are',
  jetty: 'Listeners',
  'command-processing': 'Commands',
  muster: 'Queries and access',
  puppetdb: 'Queries and access',
  developer: 'Commands',
  database: 'Retention',
  metrics: 'Metrics and status',
  status: 'Metrics and status',
};

/** Those of settings that another headline than their section's fits. */
const groupOfSetting: Readonly<Record<string, string>> = {
  data: 'Where things are',
  'port-file': 'Where things are',
  http: 'Listeners',
  'stop-delay': 'Listeners',
  'archive-max-size': 'Commands',
  'command-priority': 'Commands',
  'decompressed-max-size': 'Commands',
  'facts-blocklist': 'Commands',
  'facts-blocklist-type': 'Commands',
  partitions: 'Commands',
  'verify-checksum': 'Commands',
  'pretty-print': 'Queries and access',
  'product-name': 'Queries and access',
  'mapped-memory': 'Memory',
  'resident-memory': 'Memory',
  'access-log': 'Logging',
  'log-file': 'Logging',
  'log-format': 'Logging',
  'log-level': 'Logging',
  'log-levels': 'Logging',
  'log-queries': 'Logging',
  'slow-query': 'Logging',
};

const groupOf = ({ name, section }: SettingRow): string => groupOfSetting[name] ?? groupOfSection[section]!;

const placeholders: Readonly<Record<SettingRow['type'], string>> = {
  duration: 'SPAN',
  minutes: 'MINUTES',
  seconds: 'SECONDS',
  milliseconds: 'MS',
  integer: 'NUMBER',
  bytes: 'SIZE',
  boolean: '',
  text: 'TEXT',
  path: 'PATH',
  choice: 'NAME',
  list: 'A,B',
};

function settingOption(row: SettingRow): OptionSpec {
  const byDefault = row.default ?? row.derived?.text ?? null;
  const choices = row.choices === undefined ? '' : ` One of ${row.choices.join(', ')}.`;
  const shownDefault = byDefault === null || byDefault === '' ? '' : ` [${byDefault}]`;
  return {
    type: row.type === 'boolean' ? 'boolean' : 'text',
    value: placeholders[row.type],
    doc: `${row.doc}${choices}${shownDefault}`,
    group: groupOf(row),
  };
}

/** Options of `start` and `config`. Those that only PuppetDB's own scripts pass are taken and not shown. */
export function settingOptions(): Record<string, OptionSpec> {
  const options: Record<string, OptionSpec> = {
    config: {
      type: 'text',
      short: 'c',
      value: 'PATH',
      doc: "PuppetDB's configuration: a conf.d folder, a file (.ini, .conf, .json, .properties) or several with commas.",
    },
    debug: { type: 'switch', short: 'd', doc: 'Log at level debug (the same as --log-level debug).' },
    'bootstrap-config': { type: 'text', short: 'b', hidden: true, doc: 'Ignored.' },
    plugins: { type: 'text', short: 'p', hidden: true, doc: 'Ignored.' },
  };
  for (const [, row] of settingEntries) {
    const spec = settingOption(row);
    const name = flagOf(row);
    if (name === 'http') options[name] = { ...spec, type: 'text', value: 'HOST:PORT' };
    else if (name === 'restart-file') options[name] = { ...spec, short: 'r' };
    else options[name] = spec;
    if (name === 'https-port') {
      const doc = 'Address and port of the HTTPS listener in one.';
      options['https'] = { ...spec, type: 'text', value: 'HOST:PORT', doc };
    }
  }
  return options;
}

/** The configuration that the arguments and the environment ask for. Throws ConfigurationInvalid. */
export function configurationOf(args: ParsedArguments, terminal: Terminal): Configuration {
  const { config, debug, ...given } = args.options;
  const flags = debug === 'true' ? { 'log-level': 'debug', ...given } : given;
  return loadConfiguration({ config: config ?? null, flags, environment: terminal.environment });
}
