// `muster stats`: how a running server is doing, in a few lines; or all the statistics it has, as JSON.

import { clientOf, clientOptions, isMap } from './client.ts';
import { type CliCommand, exitStatus, type Terminal } from './command.ts';
import { type MetricOf, readMetrics } from './metrics.ts';
import { amount } from './progress.ts';
import { tableLines, wantsTable } from './table.ts';

interface Figure extends MetricOf {
  readonly what: string;
  /** Of the value, where it is no count. */
  readonly unit?: string;
  readonly show: (value: number) => string;
}

const count = (value: number) => Math.round(value).toLocaleString('en');
const perSecond = (value: number) => `${value.toFixed(1)} /s`;
const percent = (value: number) => `${(value * 100).toFixed(1)} %`;
const ms = (value: number) => `${value.toFixed(1)} ms`;
const size = (value: number) => amount(value, 'bytes');

const figures: readonly Figure[] = [
  { what: 'active nodes', bean: 'population:name=num-active-nodes', attribute: 'Value', show: count },
  { what: 'inactive nodes', bean: 'population:name=num-inactive-nodes', attribute: 'Value', show: count },
  { what: 'resources', bean: 'population:name=num-resources', attribute: 'Value', show: count },
  { what: 'resources a node', bean: 'population:name=avg-resources-per-node', attribute: 'Value', show: count },
  {
    what: 'resources stored once for several',
    bean: 'population:name=pct-resource-dupes',
    attribute: 'Value',
    show: percent,
    unit: 'of 1',
  },
  {
    what: 'catalogs that had not changed',
    bean: 'storage:name=duplicate-pct',
    attribute: 'Value',
    show: percent,
    unit: 'of 1',
  },
  { what: 'commands waiting', bean: 'mq:name=global.depth', attribute: 'Count', show: count },
  { what: 'commands processed since the start', bean: 'mq:name=global.processed', attribute: 'Count', show: count },
  {
    what: 'commands processed, last 5 minutes',
    bean: 'mq:name=global.processed',
    attribute: 'FiveMinuteRate',
    show: perSecond,
    unit: 'a second',
  },
  {
    what: 'processing of a command, median',
    bean: 'mq:name=global.processing-time',
    attribute: '50thPercentile',
    show: ms,
    unit: 'ms',
  },
  { what: 'commands retried', bean: 'mq:name=global.retried', attribute: 'Count', show: count },
  { what: 'commands given up', bean: 'mq:name=global.discarded', attribute: 'Count', show: count },
  { what: 'dead letters', bean: 'dlo:name=global.messages', attribute: 'Count', show: count },
  { what: 'size of dead letters', bean: 'dlo:name=global.filesize', attribute: 'Count', show: size, unit: 'bytes' },
];

export const command: CliCommand = {
  name: 'stats',
  usage: '[OPTIONS]',
  options: {
    json: { type: 'switch', excludes: 'table', doc: 'JSON, also on a terminal.' },
    table: { type: 'switch', excludes: 'full', doc: 'A table, also in a pipe.' },
    full: { type: 'switch', doc: 'All statistics of the store (may take long on a large one), as JSON.' },
    ...clientOptions,
  },
  positionals: { min: 0, max: 0 },
  details:
    'Prints what a running server holds and does: nodes, resources, the command queue, dead letters. The figures ' +
    'are those of /metrics/v2, so the server has to let you read them.',
  examples: [
    ['muster stats', 'A short table.'],
    ['watch muster stats --table', 'The same, every two seconds.'],
    ['muster stats --full > stats.json', 'Everything, for a support case or a comparison.'],
  ],
  run: async (args, terminal) => {
    const client = clientOf(args, terminal);
    if (args.options['full'] === 'true') {
      const text = await client.askText({ method: 'GET', path: '/pdb/admin/v1/summary-stats' });
      terminal.out(`${text.trimEnd()}\n`);
      return exitStatus.ok;
    }
    const state = (await client.send({ method: 'GET', path: '/status/v1/simple' })).statusCode === 200;
    const { version } = await client.askJson({ method: 'GET', path: '/pdb/meta/v1/version' }, isMap);
    const values = await readMetrics(client, figures);
    if (wantsTable(args, terminal)) {
      print(state, values, terminal);
    } else {
      const members = figures.map(({ what, unit }, index) => [
        unit === undefined ? what : `${what}, ${unit}`,
        values[index] ?? null,
      ]);
      const entries = { running: state, version, ...Object.fromEntries(members) };
      terminal.out(`${JSON.stringify(entries, null, 2)}\n`);
    }
    return state ? exitStatus.ok : exitStatus.failed;
  },
};

function print(running: boolean, values: readonly (number | null)[], terminal: Terminal): void {
  terminal.out(running ? 'running\n\n' : 'not running\n\n');
  const rows = figures.map(({ what, show }, index) => {
    const value = values[index] ?? null;
    return { figure: what, value: value === null ? '-' : show(value) };
  });
  for (const line of tableLines(rows, terminal.columns).slice(2)) terminal.out(`${line}\n`);
}
