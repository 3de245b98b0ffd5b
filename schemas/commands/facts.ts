// replace facts: version 5, and the steps from 2 to 5 (spec/commands.md 3.3, 3.8).

import {
  ANY,
  type CommandFormat,
  LENIENT_TIME,
  listOf,
  MAP,
  nullable,
  onObject,
  optional,
  rename,
  required,
  STRING,
  type UpgradeStep,
} from './format.ts';

const from2: UpgradeStep = onObject((facts, { received }) => {
  facts['producer-timestamp'] = received;
});

const from3: UpgradeStep = onObject((facts) => {
  rename(facts, 'producer-timestamp', 'producer_timestamp');
  rename(facts, 'name', 'certname');
});

const from4: UpgradeStep = onObject((facts) => {
  facts['producer'] = null;
});

export const REPLACE_FACTS: CommandFormat = {
  command: 'replace facts',
  shortName: 'facts',
  latest: 5,
  versionMin: 4,
  upgrades: { 2: from2, 3: from3, 4: from4 },
  refusal: 'Invalid replace facts command: ',
  supersedes: true,
  table: {
    closed: true,
    fields: [
      required('certname', STRING),
      nullable('environment', STRING),
      required('values', MAP),
      required('producer_timestamp', LENIENT_TIME),
      nullable('producer', STRING),
      // [name, version, provider]
      optional('package_inventory', listOf({ kind: 'texts', length: 3 })),
      // Accepted whatever it is; the time of receipt takes its place.
      optional('timestamp', ANY),
    ],
  },
};
