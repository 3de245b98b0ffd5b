// /pdb/dashboard/data: the meters of the dashboard, in the order in which it shows them. Each is an attribute of a bean,
// read the way management clients read it; what is not there has the value null.

import { createHash } from 'node:crypto';
import type { Json } from '../json.ts';
import type { BeanServer } from './metrics/bean-server.ts';
import { PUPPETDB_DOMAIN, parseObjectName } from './metrics/object-name.ts';

export interface Meter {
  readonly description: string;
  readonly addendum: string;
  readonly mbean: string;
  /** Number format in the notation of the d3 library. */
  readonly format: string;
  readonly clampToZero?: number;
  readonly value: number | null;
  /** Stable for a given definition. */
  readonly id: string;
}

interface MeterRow {
  readonly description: string;
  readonly addendum: string;
  readonly mbean: string;
  readonly format: string;
  readonly path: readonly string[];
  readonly scale?: number;
  readonly clampToZero?: number;
}

const population = (name: string): string => `${PUPPETDB_DOMAIN}.population:name=${name}`;
const storage = (name: string): string => `${PUPPETDB_DOMAIN}.storage:name=${name}`;
const queue = (name: string): string => `${PUPPETDB_DOMAIN}.mq:name=global.${name}`;
const http = (name: string): string => `${PUPPETDB_DOMAIN}.http:name=${name}.service-time`;
const deadLetters = (name: string): string => `${PUPPETDB_DOMAIN}.dlo:name=global.${name}`;

function row(
  description: string,
  addendum: string,
  mbean: string,
  format: string,
  path: string,
  more: { readonly scale?: number; readonly clampToZero?: number } = {},
): MeterRow {
  return { description, addendum, mbean, format, path: path.split('.'), ...more };
}

const seconds = { scale: 1 / 1000 };

const rows: readonly MeterRow[] = [
  row('JVM Heap', 'bytes', 'java.lang:type=Memory', '.3s', 'HeapMemoryUsage.used'),
  row('Active Nodes', 'in the population', population('num-active-nodes'), '', 'Value'),
  row('Inactive Nodes', 'in the population', population('num-inactive-nodes'), '', 'Value'),
  row('Resources', 'in the population', population('num-resources'), '', 'Value'),
  row('Resource duplication', '% of resources stored', population('pct-resource-dupes'), '.1%', 'Value'),
  row('Catalog duplication', '% of catalogs encountered', storage('duplicate-pct'), '.1%', 'Value'),
  row('Command Queue', 'depth', queue('depth'), 's', 'Count'),
  row('Command Processing', 'sec/command', queue('processing-time'), '.3s', '50thPercentile', {
    ...seconds,
    clampToZero: 0.001,
  }),
  row('Command Processing', 'command/sec', queue('processed'), '.3s', 'FiveMinuteRate'),
  row('Processed', 'since startup', queue('processed'), '', 'Count'),
  row('Retried', 'since startup', queue('retried'), '', 'Count'),
  row('Discarded', 'since startup', queue('discarded'), '', 'Count'),
  row('Rejected', 'since startup', queue('fatal'), '', 'Count'),
  row('Enqueueing', 'service time seconds', http('/pdb/cmd/v1'), '.3s', '50thPercentile', seconds),
  row(
    'Command Persistence',
    'Message persistence time milliseconds',
    queue('message-persistence-time'),
    '.2s',
    'FiveMinuteRate',
  ),
  row('Collection Queries', 'service time seconds', http('/pdb/query/v4/resources'), '.3s', '50thPercentile', seconds),
  row('DB Compaction', 'round trip time seconds', storage('gc-time'), '.3s', '50thPercentile', seconds),
  row('DLO Size on Disk', 'bytes', deadLetters('filesize'), '.3s', 'Count'),
  row('Discarded Messages', 'to be reviewed', deadLetters('messages'), '', 'Count'),
];

export async function dashboardData(beans: BeanServer): Promise<Meter[]> {
  return Promise.all(
    rows.map(async (definition) => {
      const { description, addendum, mbean, format, clampToZero } = definition;
      return {
        description,
        addendum,
        mbean,
        format,
        ...(clampToZero !== undefined && { clampToZero }),
        value: await valueFor(beans, definition),
        id: idOf(definition),
      };
    }),
  );
}

async function valueFor(beans: BeanServer, { mbean, path, scale }: MeterRow): Promise<number | null> {
  try {
    const [attribute, ...inner] = path;
    let value: Json = (await beans.find(parseObjectName(mbean))?.reader()(attribute!)) ?? null;
    for (const step of inner) value = (value as Readonly<Record<string, Json>> | null)?.[step] ?? null;
    return typeof value === 'number' ? value * (scale ?? 1) : null;
  } catch {
    return null;
  }
}

function idOf({ description, addendum, mbean, format, path }: MeterRow): string {
  return createHash('sha1')
    .update(JSON.stringify([description, addendum, mbean, format, path]))
    .digest('hex')
    .slice(0, 8);
}
