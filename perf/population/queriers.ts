// Clients that ask one query after the other, of a set for a purpose, with pauses of up to five seconds: what a console, compile servers and
// scripts ask a server whose fleet they do not know.

import { setTimeout as delay } from 'node:timers/promises';
import type { Asked, Client } from '../lib/client.ts';
import { sum } from '../lib/figures.ts';
import { type Given, type OptionTable, UsageError } from '../lib/options.ts';
import { Random } from '../lib/random.ts';
import type { Json } from './json.ts';
import type { Meter } from './meter.ts';

export const querierOptions = {
  querier: {
    value: '[N:]CATEGORY',
    multiple: true,
    doc: 'ask instead of sending: N clients of console, compiler or inventory; may be repeated. Wants --url or --data',
  },
} as const satisfies OptionTable;

interface Query {
  readonly route: string;
  readonly query?: Json;
  readonly paging?: Readonly<Record<string, Json>>;
}

/** `{certname}` stands for one of the server's nodes. */
const categories: Readonly<Record<string, readonly Query[]>> = {
  console: [
    {
      route: 'nodes',
      query: ['=', 'node_state', 'active'],
      paging: { order_by: [{ field: 'report_timestamp', order: 'desc' }], limit: 50, include_total: 'true' },
    },
    {
      route: 'nodes',
      query: ['extract', ['latest_report_status', ['function', 'count']], ['group_by', 'latest_report_status']],
    },
    {
      route: 'reports',
      query: ['=', 'latest_report?', true],
      paging: { order_by: [{ field: 'receive_time', order: 'desc' }], limit: 10 },
    },
    {
      route: 'events',
      query: ['and', ['=', 'latest_report?', true], ['=', 'status', 'failure']],
      paging: { limit: 100 },
    },
    { route: 'event-counts', query: ['=', 'latest_report?', true], paging: { summarize_by: 'certname', limit: 100 } },
    { route: 'nodes/{certname}' },
    { route: 'nodes/{certname}/facts' },
    { route: 'reports', query: ['=', 'certname', '{certname}'], paging: { limit: 20 } },
    { route: 'resources', query: ['extract', [['function', 'count']], ['=', 'certname', '{certname}']] },
    { route: 'fact-names' },
  ],
  compiler: [
    { route: 'resources', query: ['and', ['=', 'type', 'Sshkey'], ['=', 'exported', true]] },
    {
      route: 'resources',
      query: ['and', ['=', 'type', 'File'], ['=', 'exported', true], ['not', ['=', 'certname', '{certname}']]],
    },
    { route: 'nodes/{certname}' },
    { route: 'facts', query: ['=', 'certname', '{certname}'] },
    { route: 'catalogs/{certname}' },
  ],
  inventory: [
    { route: 'inventory', query: ['extract', ['certname', 'facts.os.family', 'facts.networking.ip']] },
    { route: 'inventory', query: ['=', 'certname', '{certname}'] },
    { route: 'facts/kernel' },
    { route: 'fact-contents', query: ['=', 'path', ['networking', 'ip']] },
    { route: 'nodes', query: ['in', 'certname', ['extract', 'certname', ['select_facts', ['=', 'name', 'kernel']]]] },
    { route: 'package-inventory', query: ['=', 'certname', '{certname}'] },
  ],
};

/** So many clients of a category. */
export interface Queriers {
  readonly count: number;
  readonly category: string;
}

/** Which stream of randomness is for what. */
const FOR = { querier: 11 } as const;
const CLIENTS_MAX = 1000;
const TIMEOUT_MS = 60_000;
const PAUSE_MAX_S = 6;
/** Nodes that are asked about. */
const NODES_MAX = 1000;

/** Throws UsageError for a category that there is not. */
export function queriersFor(given: Given): readonly Queriers[] {
  return given.list('querier').map((text) => {
    const [, count = '1', category] = /^(?:(\d+):)?([^:]+)$/.exec(text) ?? [];
    if (category === undefined || Number(count) < 1 || Number(count) > CLIENTS_MAX) {
      throw new UsageError(`--querier takes CATEGORY or N:CATEGORY with up to ${CLIENTS_MAX}, not '${text}'`);
    }
    if (!Object.hasOwn(categories, category)) {
      throw new UsageError(
        `unrecognized --querier category '${category}': there are ${Object.keys(categories).join(', ')}`,
      );
    }
    return { count: Number(count), category };
  });
}

/** How many there are together. */
export const clientsOf = (queriers: readonly Queriers[]): number => sum(queriers.map(({ count }) => count));

/** The time it took is the meter's; an answer other than 200 is an error. Not when it was ended. */
export async function ask(client: Client, meter: Meter, ending: AbortSignal, asked: Asked): Promise<void> {
  try {
    const signal = AbortSignal.any([ending, AbortSignal.timeout(TIMEOUT_MS)]);
    const { status, total } = await client.read({ ...asked, signal }, () => {});
    if (status === 200) meter.took('query', total);
    else meter.failed(new Error(`${asked.path}: ${status}`));
  } catch (error) {
    if (!ending.aborted) meter.failed(error as Error);
  }
}

interface Asking {
  readonly client: Client;
  readonly meter: Meter;
  readonly seed: number;
  readonly ending: AbortSignal;
}

/** All of them, until they are told to end. */
export async function askAll({ client, meter, seed, ending }: Asking, queriers: readonly Queriers[]): Promise<void> {
  const certnames = await certnamesAt(client);
  const askOn = async (category: string, random: Random): Promise<void> => {
    while (!ending.aborted) {
      await ask(client, meter, ending, askedFor(random.pick(categories[category]!), random.pick(certnames)));
      await delay(random.below(PAUSE_MAX_S) * 1000, undefined, { signal: ending }).catch(() => {});
    }
  };
  const all: Promise<void>[] = [];
  for (const { count, category } of queriers) {
    for (let i = 0; i < count; i++) all.push(askOn(category, new Random(seed, FOR.querier, all.length)));
  }
  await Promise.all(all);
}

/** Nodes that a server has, some of them. */
async function certnamesAt(client: Client): Promise<readonly string[]> {
  const query = ['extract', ['certname']];
  const rows = (await client.json('/pdb/query/v4/nodes', { query, limit: NODES_MAX })) as { certname: string }[];
  if (rows.length === 0) throw new Error('the server has no nodes to ask about');
  return rows.map(({ certname }) => certname);
}

function askedFor({ route, query, paging }: Query, certname: string): Asked {
  const filled = (text: string): string => text.replaceAll('{certname}', certname);
  return {
    path: `/pdb/query/v4/${filled(route)}`,
    params: { ...(query === undefined ? {} : { query: filled(JSON.stringify(query)) }), ...paging },
  };
}
