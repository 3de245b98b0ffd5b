// replace catalog: version 9, and the steps from 4 to 9 (spec/commands.md 3.2, 3.8). The table is open: unknown keys are
// dropped. Resources and edges are checked where they are read (engine/ingest/read/catalog/catalog.ts), one pass over large lists.

import {
  ANY,
  type CommandFormat,
  LENIENT_TIME,
  listOf,
  nullable,
  onObject,
  optional,
  rename,
  required,
  STRING,
  type UpgradeStep,
  underscoreKeys,
} from './format.ts';

const from4: UpgradeStep = onObject((catalog, { received }) => {
  catalog['producer_timestamp'] = received;
  // Version 5 has it in this spelling, which would take the other's place.
  delete catalog['producer-timestamp'];
});

const from5: UpgradeStep = onObject((catalog) => {
  rename(catalog, 'name', 'certname');
  underscoreKeys(catalog);
  delete catalog['api_version'];
});

const from6: UpgradeStep = onObject((catalog) => {
  catalog['code_id'] = null;
});

const from7: UpgradeStep = onObject((catalog) => {
  catalog['catalog_uuid'] = catalog['transaction_uuid'] ?? null;
});

const from8: UpgradeStep = onObject((catalog) => {
  catalog['producer'] = null;
  catalog['job_id'] = null;
});

export const REPLACE_CATALOG: CommandFormat = {
  command: 'replace catalog',
  shortName: 'catalog',
  latest: 9,
  versionMin: 6,
  upgrades: { 4: from4, 5: from5, 6: from6, 7: from7, 8: from8 },
  refusal: 'Invalid replace catalog command: ',
  supersedes: true,
  table: {
    closed: false,
    fields: [
      required('certname', STRING),
      required('version', STRING),
      optional('environment', STRING),
      optional('transaction_uuid', STRING),
      nullable('catalog_uuid', STRING),
      nullable('code_id', STRING),
      optional('job_id', STRING),
      required('producer_timestamp', LENIENT_TIME),
      nullable('producer', STRING),
      // An empty object passes as an empty list of edges.
      required('edges', ANY),
      required('resources', listOf(ANY)),
    ],
  },
};

export const RELATIONSHIPS: readonly string[] = ['contains', 'required-by', 'notifies', 'before', 'subscription-of'];

/** Every tag matches as a whole: letters that are not upper case, digits, `_`; further in also `:`, `.` and `-`. */
export const TAG_PATTERN = /^[\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{N}_][\p{Ll}\p{Lt}\p{Lm}\p{Lo}\p{N}_:.-]*$/u;
