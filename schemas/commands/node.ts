// The small commands: deactivate node 3 (with the bare certnames of 1 and 2), configure expiration 1, replace catalog
// inputs 1 (spec/commands.md 3.5-3.8).

import {
  BOOLEAN,
  type CommandFormat,
  LENIENT_TIME,
  objectOf,
  optional,
  required,
  STRING,
  type UpgradeStep,
} from './format.ts';

/** The payload is a JSON text of a JSON text of the certname. */
const deactivateFrom1: UpgradeStep = (payload) => {
  if (typeof payload !== 'string') return payload;
  try {
    return JSON.parse(payload) as unknown;
  } catch {
    return null;
  }
};

/** The payload is the certname. */
const deactivateFrom2: UpgradeStep = (payload) => (typeof payload === 'string' ? { certname: payload } : payload);

export const DEACTIVATE_NODE: CommandFormat = {
  command: 'deactivate node',
  shortName: 'rm-node',
  latest: 3,
  versionMin: 3,
  upgrades: { 1: deactivateFrom1, 2: deactivateFrom2 },
  refusal: 'Invaliddeactivate nodecommand: ',
  supersedes: false,
  table: { closed: true, fields: [required('certname', STRING), optional('producer_timestamp', LENIENT_TIME)] },
};

export const CONFIGURE_EXPIRATION: CommandFormat = {
  command: 'configure expiration',
  shortName: 'set-expire',
  latest: 1,
  versionMin: 1,
  upgrades: {},
  refusal: 'Invalidconfigure expirationcommand: ',
  supersedes: false,
  table: {
    closed: true,
    fields: [
      required('certname', STRING),
      required('expire', objectOf({ closed: true, fields: [required('facts', BOOLEAN)] })),
      optional('producer_timestamp', LENIENT_TIME),
    ],
  },
};

/** Not checked as a whole: what is wrong with it shows when it is carried out (engine/ingest/read/node-commands.ts). */
export const REPLACE_CATALOG_INPUTS: CommandFormat = {
  command: 'replace catalog inputs',
  shortName: 'inputs',
  latest: 1,
  versionMin: 1,
  upgrades: {},
  refusal: 'Invalid replace catalog inputs command: ',
  supersedes: false,
  table: null,
};
