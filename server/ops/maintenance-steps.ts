// The steps of maintenance: in which order they run, what the log and the metrics call them, and what the ring is told to do for each.

import type { Settings } from '../../schemas/config.ts';
import type { Maintenance } from '../../workers/types.ts';
import { inLargestUnit } from '../config/values.ts';

export const CLEAN_TOKENS = [
  'expire_nodes',
  'purge_nodes',
  'purge_reports',
  'purge_resource_events',
  'gc_packages',
  'gc_catalogs',
  'gc_fact_paths',
  'other',
] as const;
export type CleanToken = (typeof CLEAN_TOKENS)[number];

/** Header of the answer to a clean: the steps that failed, with commas. */
export const FAILED_HEADER = 'X-Muster-Failed';

export interface CleanRequest {
  readonly tokens: ReadonlySet<CleanToken>;
  /** Nodes that purge_nodes may delete, 0: none; null: no limit. A negative one makes the step fail. */
  readonly batchLimit: number | null;
}

/** Times in milliseconds; 0 switches off (gcInterval: everything). */
export type MaintenanceSettings = Pick<
  Settings,
  | 'gcInterval'
  | 'gcIntervalExpireNodes'
  | 'gcIntervalPurgeNodes'
  | 'gcIntervalPurgeReports'
  | 'gcIntervalPackages'
  | 'gcIntervalCatalogs'
  | 'gcIntervalFactPaths'
  | 'nodeTtl'
  | 'nodePurgeTtl'
  | 'nodePurgeBatch'
  | 'reportTtl'
  | 'resourceEventsTtl'
>;

export interface StepRow {
  readonly token: CleanToken;
  /** What the log calls it, in PuppetDB's words: they are searched for. */
  readonly title: string;
  /** The age that is told with it. */
  readonly threshold?: 'nodeTtl' | 'nodePurgeTtl' | 'reportTtl' | 'resourceEventsTtl';
  /** Word of the `cleaning` gauge, which tells what was asked for until all of it is done. */
  readonly activity: string;
  readonly counter: string;
  readonly timer: string;
  /** Timer of the storage group that dashboards of older versions read. */
  readonly storageTimer: string | null;
  readonly kinds: readonly Exclude<Maintenance['kind'], 'delete'>[];
  /** When the step `token` is asked for as well, this one follows it at once, and the log tells of both in a line, of this one as `title`. */
  readonly joins?: { readonly token: CleanToken; readonly title: string };
}

/** In the order in which they run, whatever the order of the request. */
const steps: readonly StepRow[] = [
  {
    ...step('expire_nodes', 'expiring-nodes', 'node-expirations', 'node-expiration-time'),
    title: 'sweep of stale nodes',
    threshold: 'nodeTtl',
  },
  {
    ...step('purge_nodes', 'purging-nodes', 'node-purges', 'node-purge-time'),
    title: 'purge deactivated and expired nodes',
    threshold: 'nodePurgeTtl',
  },
  {
    ...step('purge_reports', 'purging-reports', 'report-purges', 'report-purge-time'),
    title: 'sweep of stale reports',
    threshold: 'reportTtl',
  },
  {
    ...step('gc_packages', 'package-gc', 'package-gcs', 'package-gc-time', 'gc-packages-time'),
    title: 'gc packages',
  },
  {
    ...step('purge_resource_events', 'purging-resource-events', 'resource-event-purges', 'resource-events-purge-time'),
    title: 'sweep of stale resource events',
    threshold: 'resourceEventsTtl',
    joins: { token: 'purge_reports', title: 'resource events' },
  },
  {
    ...step('other', 'other', 'other-cleans', 'other-clean-time'),
    kinds: ['gc_catalogs', 'gc_fact_paths'],
    title: 'database garbage collection',
  },
  {
    ...step('gc_catalogs', 'catalog-gc', 'catalog-gcs', 'catalog-gc-time', 'gc-catalogs-time'),
    title: 'sweep of stale catalog data',
  },
  {
    ...step('gc_fact_paths', 'fact-paths-gc', 'fact-path-gcs', 'fact-path-gc-time', 'gc-fact-paths'),
    title: 'sweep of unused fact paths',
  },
];

/** Words of the gauge that tells what is being done. */
export const activityOf = (tokens: ReadonlySet<CleanToken>): string =>
  [...tokens]
    .sort()
    .map((token) => steps.find((row) => row.token === token)!.activity)
    .join(' ');

/** What is asked for, in the order in which it is done: each step, with the one that joins it. */
export function together(tokens: ReadonlySet<CleanToken>): StepRow[][] {
  const wanted = steps.filter(({ token }) => tokens.has(token));
  return wanted
    .filter(({ joins }) => joins === undefined || !tokens.has(joins.token))
    .map((row) => [row, ...wanted.filter(({ joins }) => joins?.token === row.token)]);
}

/** `sweep of stale reports (threshold: 14 days) and resource events (threshold: 14 days)`. */
export function titleOf(rows: readonly StepRow[], settings: MaintenanceSettings): string {
  const titles = rows.map(({ title, threshold, joins }, index) => {
    const name = index > 0 && joins !== undefined ? joins.title : title;
    return threshold === undefined ? name : `${name} (threshold: ${periodText(settings[threshold])})`;
  });
  return titles.join(' and ');
}

function step(
  token: CleanToken,
  activity: string,
  counter: string,
  timer: string,
  storageTimer: string | null = null,
): Omit<StepRow, 'title'> {
  return { token, activity, counter, timer, storageTimer, kinds: token === 'other' ? [] : [token] };
}

const unitNames: Readonly<Record<string, string>> = {
  d: 'day',
  h: 'hour',
  m: 'minute',
  s: 'second',
  ms: 'millisecond',
};

/** `14 days`. */
function periodText(ms: number): string {
  const [count, unit] = inLargestUnit(ms);
  return `${count} ${unitNames[unit]}${count === 1 ? '' : 's'}`;
}

/** null: nothing to do. The limit of a request is an upper bound, the ring's 0 means none. */
export function stepOf(
  kind: Exclude<Maintenance['kind'], 'delete'>,
  { batchLimit }: CleanRequest,
  { nodePurgeTtl }: MaintenanceSettings,
): Maintenance | null {
  if (kind !== 'purge_nodes') return { kind };
  // A node is never to be deleted then, whoever asks.
  if (batchLimit === 0 || nodePurgeTtl === 0) return null;
  if (batchLimit !== null && batchLimit < 0)
    throw new RangeError(`batch_limit must not be negative, not ${batchLimit}`);
  return { kind, batchLimit: batchLimit ?? 0 };
}
