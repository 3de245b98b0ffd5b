// The arguments of `benchmark`: those of the benchmark that comes with PuppetDB, and what is to be done by them.

import { availableParallelism } from 'node:os';
import { sum } from '../lib/figures.ts';
import { fleetOptions } from '../lib/fleet-options.ts';
import { type Given, type OptionTable, UsageError } from '../lib/options.ts';
import { type Change, Host, type HostOptions } from './host.ts';
import { type Queriers, querierOptions, queriersFor } from './queriers.ts';
import { sampleOptions, samplesFor } from './samples.ts';

const MINUTE = 60_000;
/** Between the runs of a host, where that is not given. */
const USUAL_INTERVAL_MS = 30 * MINUTE;
const HOSTS_MAX = 10_000_000;

/** All options of the program but those that it shares with others. */
export const populationOptions = {
  numhosts: { value: 'N', small: '6', doc: 'simulated hosts' },
  nummsgs: { value: 'N', small: '2', doc: 'runs of each host, sent as fast as they are taken' },
  runinterval: { value: 'MIN', doc: 'minutes between the runs of a host; hosts go on until --seconds, or Ctrl-C' },
  seconds: { value: 'N', doc: 'end --runinterval or --querier after so long' },
  'end-commands-in': {
    value: 'PERIOD',
    default: '0d',
    doc: "with --nummsgs: the last producer's timestamp lies so far in the future (90s, 5m, 12h, 2d); runs are an interval apart",
  },
  'rand-catalogs': {
    value: 'PCT:COUNT',
    multiple: true,
    doc: 'chance that COUNT resources of a catalog are added, modified or deleted; may be repeated',
  },
  'rand-facts': {
    value: 'PCT:PCT',
    multiple: true,
    doc: 'chance that this percentage of the values of a factset changes; may be repeated',
  },
  'rand-perc': { value: 'PCT', doc: 'short for --rand-catalogs PCT:1 --rand-facts PCT:10' },
  senders: {
    value: 'N',
    default: String(Math.max(2, availableParallelism() >> 1)),
    doc: 'connections, and hosts that send at a time with --nummsgs',
  },
  offset: { value: 'N', default: '0', doc: 'number of the first host, for several of these side by side' },
  ...sampleOptions,
  resources: fleetOptions.resources,
  seed: fleetOptions.seed,
  'include-catalog-edges': { value: null, doc: 'send the edges of catalogs, not an empty list' },
  'catalog-query-pct': { value: 'PCT', default: '0', doc: 'chance that queries come before a catalog' },
  'catalog-query-n': { value: 'N', default: '0', doc: 'so many' },
  ...querierOptions,
} as const satisfies OptionTable;

/** What is to be done; each other option belongs to one of these. */
export type Mode =
  /** So many runs of each host, whose times are spread over `span` and end `endIn` from now. Milliseconds. */
  | { readonly name: 'nummsgs'; readonly count: number; readonly endIn: number; readonly span: number }
  /** Milliseconds between the runs of a host. */
  | { readonly name: 'runinterval'; readonly interval: number }
  | { readonly name: 'querier'; readonly queriers: readonly Queriers[] };

/** Throws UsageError where none is asked for, or several. */
export function modeOf(given: Given): Mode {
  const queriers = queriersFor(given);
  const hasInterval = given.text('runinterval') !== null;
  // What --small gives is for who asks for nothing else.
  const hasCount = given.text('nummsgs') !== null && !(given.flag('small') && (hasInterval || queriers.length > 0));
  if (queriers.length > 0) {
    if (hasCount || hasInterval) {
      throw new UsageError('--nummsgs, --runinterval, and --querier are mutually exclusive.');
    }
    if (given.text('url') === null && given.text('data') === null) {
      throw new UsageError('--querier asks a server that has something to tell: --url or --data');
    }
    return { name: 'querier', queriers };
  }
  if (!hasCount && !hasInterval) throw new UsageError('must specify --nummsgs, --runinterval, or --querier.');
  const interval = hasInterval ? given.number('runinterval', 0.001, 30_000) * MINUTE : USUAL_INTERVAL_MS;
  if (!hasCount) return { name: 'runinterval', interval };
  if (hasInterval) console.error('Warning: --nummsgs and --runinterval provided. Running in --nummsgs mode.');
  const count = given.count('nummsgs', 1, 1_000_000);
  return { name: 'nummsgs', count, endIn: periodOf(given, 'end-commands-in'), span: count * interval };
}

/** The hosts that send. Throws UsageError. */
export function hostsFor(given: Given, options: HostOptions): readonly Host[] {
  if (given.text('numhosts') === null) throw new UsageError('must specify --numhosts.');
  const first = given.count('offset', 0, HOSTS_MAX);
  const count = given.count('numhosts', 1, HOSTS_MAX);
  return Array.from({ length: count }, (_, i) => new Host(first + i, options));
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE, h: 60 * MINUTE, d: 24 * 60 * MINUTE };

function periodOf(given: Given, name: string): number {
  const text = given.text(name) ?? '';
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (unit === undefined) throw new UsageError(`--${name} takes a period such as 90s, 5m, 12h or 2d, not '${text}'`);
  return Number(count) * UNITS[unit]!;
}

/** What an option gives as `PCT:NUMBER`, any number of times; `most`: the largest NUMBER. */
function changesOf(given: Given, name: 'rand-catalogs' | 'rand-facts', most: number): Change[] {
  const changes = given.list(name).map((text) => {
    const [, percent, by] = (/^([\d.]+):([\d.]+)$/.exec(text) ?? []).map(Number);
    if (!(percent! > 0 && by! > 0 && by! <= most)) {
      throw new UsageError(`--${name} takes ${populationOptions[name].value}, both above 0, not '${text}'`);
    }
    return { percent: percent!, by: by! };
  });
  // Of fractions the sum may be off by a little.
  if (sum(changes.map(({ percent }) => percent)) > 100 + 1e-9) {
    throw new UsageError(`--${name} percentages cannot sum to more than 100%.`);
  }
  return changes.map(({ percent, by }) => ({ chance: percent / 100, by }));
}

/** What hosts are like. Throws UsageError. */
export function hostOptionsFor(given: Given): HostOptions {
  const catalogChanges = changesOf(given, 'rand-catalogs', 1_000_000);
  const factsChanges = changesOf(given, 'rand-facts', 100);
  if (catalogChanges.some(({ by }) => !Number.isInteger(by))) {
    throw new UsageError('--rand-catalogs takes a whole number of resources');
  }
  if (given.text('rand-perc') !== null) {
    const chance = given.number('rand-perc', 0, 100) / 100;
    if (catalogChanges.length + factsChanges.length > 0) {
      throw new UsageError('--rand-perc stands for --rand-catalogs and --rand-facts: give it or these');
    }
    catalogChanges.push({ chance, by: 1 });
    factsChanges.push({ chance, by: 10 });
  }
  return {
    seed: given.count('seed', 0, 0xffffffff),
    samples: samplesFor(given),
    catalogChanges,
    factsChanges: factsChanges.map(({ chance, by }) => ({ chance, by: by / 100 })),
    withEdges: given.flag('include-catalog-edges'),
    queries: {
      chance: given.number('catalog-query-pct', 0, 100) / 100,
      count: given.count('catalog-query-n', 0, 1000),
    },
  };
}
