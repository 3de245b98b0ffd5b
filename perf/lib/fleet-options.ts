// The shape of the generated fleet, from arguments. Everything that decides what is sent is printed with the results.

import { FLEET_DEFAULTS, Fleet } from './fleet.ts';
import { type Given, type OptionTable, UsageError } from './options.ts';

export const fleetOptions = {
  resources: {
    value: 'MIN-MAX',
    default: `${FLEET_DEFAULTS.resourcesMin}-${FLEET_DEFAULTS.resourcesMax}`,
    small: '30-60',
    doc: 'resources per catalog, smallest and largest role',
  },
  change: {
    value: 'F',
    default: String(FLEET_DEFAULTS.change),
    doc: "fraction of a node's resources, facts (at most a fifth) and packages that differ from run to run",
  },
  unique: {
    value: 'F',
    default: String(FLEET_DEFAULTS.unique),
    doc: "fraction of a catalog's resources that only one node has",
  },
  seed: { value: 'N', default: '1', doc: 'seed of the generated fleet' },
  start: {
    value: 'TIME',
    doc: 'time of the first run, or `yesterday`: PuppetDB drops events older than 14 days (a fixed time)',
  },
} as const satisfies OptionTable;

/** Where what is asked is about many nodes. */
export const manyNodesOptions = {
  ...fleetOptions,
  resources: {
    ...fleetOptions.resources,
    default: '40-120',
    doc: `${fleetOptions.resources.doc}; small, so that many nodes fit`,
  },
} as const satisfies OptionTable;

export function fleetFor(given: Given): Fleet {
  const [resourcesMin, resourcesMax] = given.range('resources');
  const start = given.text('start');
  return new Fleet({
    seed: given.count('seed', 0, 0xffffffff),
    change: given.number('change', 0, 1),
    unique: given.number('unique', 0, 1),
    resourcesMin,
    resourcesMax,
    ...(start === null ? {} : { start: timeOf(start) }),
  });
}

function timeOf(text: string): number {
  const day = 86_400_000;
  const time = text === 'yesterday' ? (Math.floor(Date.now() / day) - 1) * day : Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`--start takes a time or \`yesterday\`, not '${text}'`);
  return time;
}

const percent = (fraction: number): number => Number((fraction * 100).toPrecision(6));

export function describeFleet({ options }: Fleet): string {
  const { seed, resourcesMin, resourcesMax, change, unique, start } = options;
  return (
    `seed ${seed}, ${resourcesMin}-${resourcesMax} resources per catalog (${percent(unique)} % a node's own), ` +
    `${percent(change)} % change from run to run, first run at ${new Date(start).toISOString().slice(0, 10)}`
  );
}
