// Commands of one node after another, as a fleet with clocks that are wrong, proxies that send twice and compile servers of
// several environments would send them: equal and unequal ones, older ones after newer ones, of every kind, in an order by chance.

import { Random } from '../../support/random.ts';
import type { ClientCommand } from '../../support/server.ts';

const MINUTE = 60_000;
/** How far a command's time is from the order of sending, in minutes: often more than one from the next. */
const DISORDER = 3;
const AHEAD = 8 * MINUTE;
const ENVIRONMENTS = ['production', 'staging', 'ünder_test'];
const PRODUCERS = ['compile1.example.com', 'compile2.example.com'];
const UUIDS = Array.from({ length: 6 }, (_, i) => `${i}1234567-89ab-4cde-8f01-23456789abcd`);

const FACTS: Readonly<Record<string, readonly unknown[]>> = {
  kernel: ['Linux', 'SunOS'],
  load: [0.5, 1, 1.0e-3, null],
  uptime_seconds: [0, 60, 4294967296],
  is_virtual: [true, false],
  os: [{ family: 'Debian', release: { major: '12' } }, { family: 'Debian', release: { major: '13', minor: '1' } }, {}],
  disks: [[], ['a', { name: 'sda', sizes: [1, 2] }], ['a', 'b']],
  'dot.ted': ['x', { y: 1 }],
  mixed: [5, '5', [5], { 5: 5 }],
};
const PACKAGES: readonly (readonly [string, string, string])[] = [
  ['openssl', '3.0.11', 'apt'],
  ['openssl', '1.1.1n', 'apt'],
  ['rake', '13.0.6', 'gem'],
  ['bash', '5.2', 'apt'],
];
const RESOURCES: readonly (readonly [string, string])[] = [
  ['Stage', 'main'],
  ['Class', 'Main'],
  ['File', '/etc/motd'],
  ['File', '/tmp/ünï'],
  ['Package', 'openssl'],
  ['Service', 'ssh'],
  ['Exec', 'true'],
  ['Odd::Thing', 'a b'],
];
const PARAMETERS: readonly object[] = [
  {},
  { ensure: 'present' },
  { ensure: 'absent', mode: '0644' },
  { list: [1, null, 'x'], map: { b: 1, a: 2 } },
  { value: 1.5 },
];
const TAGS: readonly (readonly string[])[] = [[], ['class'], ['class', 'ssh', 'production']];

interface Step {
  readonly certname: string;
  readonly random: Random;
  /** Epoch ms, about. */
  readonly time: number;
}

type Payload = Record<string, unknown>;

/** The commands of a node; `begin`: epoch ms of the first, about. They come a minute after each other. */
export function* commandsOf(certname: string, random: Random, begin: number): Generator<ClientCommand, never> {
  for (let time = begin; ; time += MINUTE) yield nextCommand({ certname, random, time });
}

function nextCommand(step: Step): ClientCommand {
  const { random } = step;
  const chance = random.below(100);
  if (chance < 25) return command(step, 'replace facts', 5, facts(step));
  if (chance < 55) return command(step, 'replace catalog', 9, catalog(step));
  if (chance < 80) return command(step, 'store report', 8, report(step));
  // One whose clock is ahead keeps the node away for a while.
  if (chance < 88) return command({ ...step, time: step.time + random.pick([0, AHEAD]) }, 'deactivate node', 3, {});
  if (chance < 94) return command(step, 'replace catalog inputs', 1, inputs(step));
  return command(step, 'configure expiration', 1, { expire: { facts: random.chance(0.5) } });
}

function command(step: Step, name: string, version: number, rest: Payload): ClientCommand {
  const { certname, random } = step;
  const producerTimestamp = timeOf(step);
  return {
    command: name,
    version,
    certname,
    // Without it a waiting command is not superseded by a later one; with it PuppetDB passes over the older of two.
    ...(random.chance(0.5) ? { producerTimestamp } : {}),
    payload: JSON.stringify({ certname, producer_timestamp: producerTimestamp, ...rest }),
  };
}

const timeOf = ({ random, time }: Step): string =>
  new Date(time + random.between(-DISORDER, DISORDER) * MINUTE).toISOString();

const origin = ({ random }: Step): Payload => ({
  environment: random.pick(ENVIRONMENTS),
  producer: random.pick(PRODUCERS),
});

/** Some of them, in their order. */
const some = <T>(random: Random, from: readonly T[], probability: number): T[] =>
  from.filter(() => random.chance(probability));

function facts(step: Step): Payload {
  const { random } = step;
  const values: Payload = {};
  for (const name of some(random, Object.keys(FACTS), 0.7)) values[name] = random.pick(FACTS[name]!);
  const packages = random.chance(0.6) ? { package_inventory: some(random, PACKAGES, 0.5) } : {};
  return { ...origin(step), values, ...packages };
}

function catalog(step: Step): Payload {
  const { random } = step;
  // Half of them are one of two, so that the same one often comes again.
  const contents = random.chance(0.5) ? new Random(random.below(2)) : random;
  const chosen = some(contents, RESOURCES, 0.6);
  const resources = chosen.map(([type, title], i) => ({
    type,
    title,
    exported: contents.chance(0.2),
    tags: contents.pick(TAGS),
    ...(contents.chance(0.5) ? { file: '/etc/puppet/site.pp', line: i } : {}),
    parameters: contents.pick(PARAMETERS),
  }));
  const edges = chosen.slice(1).flatMap(([type, title], i) => {
    if (contents.chance(0.3)) return [];
    const [sourceType, sourceTitle] = chosen[contents.below(i + 1)]!;
    const relationship = contents.pick(['contains', 'before', 'notifies']);
    return [{ source: { type: sourceType, title: sourceTitle }, target: { type, title }, relationship }];
  });
  return {
    ...origin(step),
    version: random.pick(['1', '2']),
    transaction_uuid: random.pick(UUIDS),
    catalog_uuid: random.pick(UUIDS),
    code_id: random.pick([null, 'code-1']),
    job_id: random.pick([null, '17']),
    resources,
    edges,
  };
}

const inputs = ({ random }: Step): Payload => ({
  catalog_uuid: random.pick(UUIDS),
  inputs: some(
    random,
    [
      ['hiera', 'a'],
      ['hiera', 'b'],
      ['function', 'größe'],
    ],
    0.6,
  ),
});

function report(step: Step): Payload {
  const { random } = step;
  const start = timeOf(step);
  const resources = some(random, RESOURCES, random.chance(0.5) ? 0 : 0.5).map(([type, title]) => ({
    resource_type: type,
    resource_title: title,
    timestamp: start,
    skipped: random.chance(0.2),
    corrective_change: random.pick([null, true, false]),
    file: random.pick([null, '/etc/puppet/site.pp']),
    line: random.pick([null, 7]),
    containment_path: random.pick([[], ['Stage[main]', `${type}[${title}]`], ['Stage[main]', 'Odd', 'File[x]']]),
    events: some(random, ['ensure', 'mode', null], 0.5).map((property) => ({
      status: random.pick(['success', 'failure', 'noop', 'skipped']),
      timestamp: timeOf(step),
      property,
      name: random.pick([null, 'changed']),
      new_value: random.pick([null, 'x', 1, ['0'], { a: null }]),
      old_value: random.pick([null, 'absent', 420]),
      message: random.pick([null, '', 'größer']),
      corrective_change: random.pick([null, true, false]),
    })),
  }));
  return {
    ...origin(step),
    puppet_version: '8.10.0',
    report_format: 12,
    configuration_version: random.pick(['1', '2']),
    start_time: start,
    end_time: random.pick([start, timeOf(step)]),
    transaction_uuid: random.pick([null, ...UUIDS]),
    catalog_uuid: random.pick([null, ...UUIDS]),
    code_id: random.pick([null, 'code-1']),
    cached_catalog_status: random.pick([null, 'not_used', 'on_failure']),
    job_id: random.pick([null, '17']),
    ...(random.chance(0.3) ? { type: random.pick(['agent', 'plan']) } : {}),
    status: random.pick(['changed', 'unchanged', 'failed']),
    noop: random.chance(0.3),
    noop_pending: random.pick([null, true, false]),
    corrective_change: random.pick([null, true, false]),
    metrics: some(
      random,
      [
        { category: 'time', name: 'total', value: 1.5 },
        { category: 'resources', name: 'total', value: 3 },
      ],
      0.6,
    ),
    logs: some(
      random,
      [
        {
          level: 'err',
          message: 'Grüße',
          source: 'Puppet',
          tags: ['err'],
          time: start,
          file: '/etc/puppet/site.pp',
          line: 7,
        },
        { level: 'notice', message: '', source: '', tags: [], time: start, file: null, line: null },
      ],
      0.5,
    ),
    resources,
  };
}
