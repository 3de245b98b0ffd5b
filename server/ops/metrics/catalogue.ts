// The metrics that PuppetDB has from its start (spec/operations.md 8), so that dashboards find each of them before
// anything has happened. Who measures does not look here: registry accessors give the same object to everyone.
// Metrics per command and version, and per request path, appear on first use.

import type { MetricsRegistry } from '../../../workers/metrics.ts';

type MetricKind = 'counter' | 'meter' | 'histogram' | 'timer';

type Rows = readonly (readonly [kind: MetricKind, names: string])[];

const queue: Rows = [
  ['meter', 'seen processed retried discarded fatal'],
  ['timer', 'processing-time message-persistence-time command-parse-time'],
  ['histogram', 'queue-time retry-counts size'],
  ['counter', 'awaiting-retry ignored invalidated depth concurrent-depth'],
];

const storage: Rows = [
  [
    'timer',
    'add-resources add-edges resource-hashes catalog-hash catalog-hash-match-time catalog-hash-miss-time ' +
      'new-catalog-time replace-catalog-time new-fact-time replace-facts-time store-report-time gc-time ' +
      'gc-catalogs-time gc-params-time gc-environments-time gc-packages-time gc-report-statuses gc-fact-paths',
  ],
  ['counter', 'new-catalogs duplicate-catalogs'],
  ['histogram', 'catalog-volitilty'],
];

const deadLetters: Rows = [['counter', 'filesize messages']];

const admin: Rows = [
  [
    'counter',
    'node-expirations node-purges report-purges resource-event-purges package-gcs catalog-gcs fact-path-gcs other-cleans',
  ],
  [
    'timer',
    'node-expiration-time node-purge-time report-purge-time resource-events-purge-time package-gc-time ' +
      'catalog-gc-time fact-path-gc-time other-clean-time',
  ],
];

const pool: Rows = [
  ['timer', 'Wait'],
  ['histogram', 'Usage ConnectionCreation'],
  ['meter', 'ConnectionTimeoutRate'],
];

/**
 * The dashboard reads these times before the first request has made them. The meters are of the refusals and failures that docs/monitor.md
 * alerts on: the first one would not show as an increase of what was not there.
 */
const http: Rows = [
  ['timer', '/pdb/cmd/v1.service-time /pdb/query/v4.service-time /pdb/query/v4/resources.service-time'],
  ['meter', '/pdb/cmd/v1.503 /pdb/query/v4.500'],
];

const catalogue: readonly (readonly [domain: string, prefix: string, rows: Rows])[] = [
  ['mq', 'global.', queue],
  ['storage', '', storage],
  ['dlo', 'global.', deadLetters],
  ['admin', '', admin],
  ['database', 'PDBReadPool.pool.', pool],
  ['database', 'PDBWritePool.pool.', pool],
  ['http', '', http],
];

/** Creates what is not there yet. A name that somebody already uses for another kind keeps that kind. */
export function createCatalogue(registry: MetricsRegistry): void {
  for (const [domain, prefix, rows] of catalogue) {
    for (const [kind, names] of rows) {
      for (const name of names.split(' ')) {
        if (registry.get(domain, prefix + name) === undefined) registry[kind](domain, prefix + name);
      }
    }
  }
}
