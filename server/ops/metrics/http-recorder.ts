// Times and outcomes of requests, by path and every leading part of it (spec/operations.md 8.6): `/pdb`, `/pdb/query`,
// `/pdb/query/v4`, `/pdb/query/v4/facts`; of the metrics themselves, too, as spec/interface.md has them. What follows a known endpoint (names, hashes, values) is folded into it, so the
// number of metrics has a bound that clients cannot move.

import { type QueryApi, queryRoutes } from '../../../schemas/query-routes.ts';
import type { Meter, MetricsRegistry, Timer } from '../../../workers/metrics.ts';
import type { RequestRecord } from '../../http/exchange.ts';

/** First steps of the routes of a query API. */
const stepsOf = (api: QueryApi): string =>
  queryRoutes
    .filter((route) => route.api === api)
    .flatMap(({ path }) => path.split('/').slice(1, 2))
    .join(' ');

/** Below these, one more step is an endpoint; what follows it is not. */
const endpoints: Readonly<Record<string, string>> = {
  '': 'pdb metrics',
  '/metrics': 'v2',
  '/pdb': 'cmd query admin meta dashboard ext',
  '/pdb/cmd': 'v1',
  '/pdb/query': 'v1 v2 v3 v4',
  '/pdb/query/v4': stepsOf('query'),
  '/pdb/admin': 'v1',
  '/pdb/admin/v1': 'cmd archive queue summary-stats',
  '/pdb/meta': 'v1',
  '/pdb/meta/v1': 'version server-time',
  '/pdb/dashboard': 'data index.html',
  '/pdb/ext': 'v1',
  '/pdb/ext/v1': stepsOf('ext'),
};

const known = new Map(Object.entries(endpoints).map(([prefix, names]) => [prefix, new Set(names.split(' '))]));

interface Recorded {
  readonly time: Timer;
  readonly outcomes: Map<number, Meter>;
}

/** A function to call once for each request that is over. */
export function createHttpRecorder(registry: MetricsRegistry): (record: RequestRecord) => void {
  const recorded = new Map<string, Recorded>();

  function recordedAt(prefix: string): Recorded {
    let found = recorded.get(prefix);
    if (found === undefined) {
      found = { time: registry.timer('http', `${prefix}.service-time`), outcomes: new Map() };
      recorded.set(prefix, found);
    }
    return found;
  }

  return ({ path, status, elapsedMs }) => {
    for (const prefix of prefixesOf(path)) {
      const { time, outcomes } = recordedAt(prefix);
      time.update(elapsedMs);
      let outcome = outcomes.get(status);
      if (outcome === undefined) {
        // An answer that never got a status is counted under the path alone.
        outcome = registry.meter('http', status === 0 ? prefix : `${prefix}.${status}`);
        outcomes.set(status, outcome);
      }
      outcome.mark();
    }
  };
}

/** Known leading parts of a path, shortest first. */
export function prefixesOf(path: string): string[] {
  const prefixes: string[] = [];
  let prefix = '';
  for (const step of path.split('/').slice(1)) {
    if (known.get(prefix)?.has(step) !== true) break;
    prefix += `/${step}`;
    prefixes.push(prefix);
  }
  return prefixes;
}
