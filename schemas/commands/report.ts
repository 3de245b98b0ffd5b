// store report: version 8, and the steps from 3 to 8 (spec/commands.md 3.4, 3.8). Every map is closed.

import {
  ANY,
  BOOLEAN,
  type CommandFormat,
  elementsOf,
  INTEGER,
  isWireObject,
  listOf,
  NUMBER,
  nullable,
  objectOf,
  omittable,
  onObject,
  optional,
  required,
  STRING,
  setDefault,
  TIME,
  type UpgradeStep,
  underscoreKeys,
  type WireObject,
  type WireTable,
} from './format.ts';

const from3: UpgradeStep = onObject((report) => {
  report['status'] = null;
});

const from4: UpgradeStep = onObject((report, { received }) => {
  underscoreKeys(report);
  for (const event of list(report['resource_events'])) if (isWireObject(event)) underscoreKeys(event);
  report['metrics'] = null;
  report['logs'] = null;
  report['noop'] = null;
  report['producer_timestamp'] = received;
});

const from5: UpgradeStep = onObject((report) => {
  const events = elementsOf(report['resource_events']);
  report['resources'] = Array.isArray(events) ? resourcesOf(events) : events;
  delete report['resource_events'];
});

const from6: UpgradeStep = onObject((report) => {
  setDefault(report, 'catalog_uuid', report['transaction_uuid'] ?? null);
  setDefault(report, 'cached_catalog_status', null);
  setDefault(report, 'code_id', null);
});

const from7: UpgradeStep = onObject((report) => {
  setDefault(report, 'noop_pending', null);
  setDefault(report, 'corrective_change', null);
  setDefault(report, 'producer', null);
  setDefault(report, 'job_id', null);
  report['resources'] = elementsOf(report['resources']);
  for (const resource of list(report['resources'])) {
    if (!isWireObject(resource)) continue;
    resource['corrective_change'] = null;
    resource['events'] = elementsOf(resource['events']);
    for (const event of list(resource['events'])) if (isWireObject(event)) event['corrective_change'] = null;
  }
});

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Fields of a version 5 event that are its resource's. */
const RESOURCE_KEYS = ['file', 'line', 'resource_type', 'resource_title', 'containment_path'] as const;
/** With the one that is both. */
const GROUP_KEYS = [...RESOURCE_KEYS, 'timestamp'] as const;

/** Version 5 has a flat list of events: those of one resource at one time become a resource with events. */
function resourcesOf(events: readonly unknown[]): unknown[] {
  const groups = new Map<string, WireObject & { events: unknown[] }>();
  const resources: unknown[] = [];
  for (const event of events) {
    if (!isWireObject(event)) {
      // Left where validation finds it.
      resources.push(event);
      continue;
    }
    const skipped = event['status'] === 'skipped';
    // Without what is missing, which null is not.
    const common = Object.fromEntries(
      GROUP_KEYS.filter((name) => Object.hasOwn(event, name)).map((name) => [name, event[name]]),
    );
    const key = JSON.stringify([common, skipped], (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    );
    let resource = groups.get(key);
    if (resource === undefined) {
      resource = { ...common, skipped, events: [] };
      groups.set(key, resource);
      resources.push(resource);
    }
    for (const name of RESOURCE_KEYS) delete event[name];
    resource.events.push(event);
  }
  return resources;
}

const EVENT: WireTable = {
  closed: true,
  fields: [
    required('status', STRING),
    required('timestamp', TIME),
    nullable('property', STRING),
    nullable('new_value', ANY),
    nullable('old_value', ANY),
    nullable('message', STRING),
    nullable('corrective_change', BOOLEAN),
    optional('name', STRING),
  ],
};

const RESOURCE: WireTable = {
  closed: true,
  fields: [
    required('skipped', BOOLEAN),
    required('timestamp', TIME),
    required('resource_type', STRING),
    required('resource_title', STRING),
    nullable('file', STRING),
    nullable('line', INTEGER),
    nullable('containment_path', listOf(STRING)),
    nullable('corrective_change', BOOLEAN),
    nullable('events', listOf(objectOf(EVENT))),
  ],
};

const METRIC: WireTable = {
  closed: true,
  fields: [required('category', STRING), required('name', STRING), required('value', NUMBER)],
};

const LOG: WireTable = {
  closed: true,
  fields: [
    nullable('file', STRING),
    nullable('line', INTEGER),
    required('level', STRING),
    required('message', STRING),
    required('source', STRING),
    nullable('tags', listOf(STRING)),
    required('time', TIME),
  ],
};

export const STORE_REPORT: CommandFormat = {
  command: 'store report',
  shortName: 'report',
  latest: 8,
  versionMin: 5,
  upgrades: { 3: from3, 4: from4, 5: from5, 6: from6, 7: from7 },
  refusal: 'Invalidstore reportcommand: ',
  supersedes: false,
  table: {
    closed: true,
    fields: [
      required('certname', STRING),
      required('puppet_version', STRING),
      required('report_format', INTEGER),
      required('configuration_version', STRING),
      required('start_time', TIME),
      required('end_time', TIME),
      required('producer_timestamp', TIME),
      nullable('producer', STRING),
      required('environment', STRING),
      nullable('status', STRING),
      nullable('noop', BOOLEAN),
      nullable('noop_pending', BOOLEAN),
      nullable('corrective_change', BOOLEAN),
      nullable('transaction_uuid', STRING),
      nullable('catalog_uuid', STRING),
      nullable('code_id', STRING),
      nullable('cached_catalog_status', STRING),
      optional('job_id', STRING),
      omittable('type', { kind: 'choice', values: ['agent', 'plan'] }),
      nullable('resources', listOf(objectOf(RESOURCE))),
      nullable('metrics', listOf(objectOf(METRIC))),
      nullable('logs', listOf(objectOf(LOG))),
    ],
  },
};
