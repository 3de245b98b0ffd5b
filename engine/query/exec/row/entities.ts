// What execution knows of each entity: one row an entity. How its fields are read is in access.ts, how sub-rows of each kind are made in
// sub-rows.ts, which index leads to items of each dictionary in item-paths.ts, and where records without nodes come from in global-records.ts.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { DictionaryView } from '../../../store/items/dictionary-view.ts';
import {
  NODES_ALL,
  NODES_INACTIVE,
  NODES_WITH_CATALOG,
  NODES_WITH_FACTS,
  NODES_WITH_INPUTS,
  NODES_WITH_PACKAGES,
} from '../../../store/records/tables.ts';
import type { Moment } from '../../../store/reports/report-moments.ts';
import type { View } from '../../../store/view.ts';
import type { Filter } from '../../tree.ts';

/** What rows are, or are sub-rows of. node: nodes. item: pairs of a node and a shared body. report: reports. global: records of no node. */
export type Shape = 'node' | 'item' | 'report' | 'global';

/** Which of a view's dictionaries has the shared bodies. */
export type ViewDictionary = 'resources' | 'facts' | 'edges' | 'packages';

/** What an item, a report or a node has several of, each a row: leaves of a fact, targets of an edge, events of a report, inputs of a node's catalog. */
export type SubRow = 'leaf' | 'target' | 'event' | 'input';

/** An entity as execution sees it. */
export interface Traits {
  readonly shape: Shape;
  /** The set of nodes that have rows when nothing is asked of them (store/records/tables.ts). */
  readonly base: number;
  /** Of items. */
  readonly dictionary: ViewDictionary | null;
  /** null: nodes, items, reports or records are rows themselves. */
  readonly sub: SubRow | null;
  /** A condition that it has by itself. */
  readonly implied: Filter | null;
  /** Fields by which rows are found, or told apart, sooner than by whole tuples; certname is one for every entity. */
  readonly foundBy: readonly string[];
  /** Of reports and events: the field that is the report's hash, by which reports are found. */
  readonly hash: string | null;
  /**
   * Of reports and events: fields that are times of the report or of its events. They lie near the producer's time unless the report is far
   * (store/reports/report-times.ts), so that the index of these narrows them, and they are kept side by side (store/reports/report-moments.ts).
   */
  readonly times: Readonly<Record<string, Moment>>;
  /** For estimates: the share of rows that a value of the field has, where a field is known to have few of them. */
  readonly shares: Readonly<Record<string, number>>;
}

const PLAIN: Traits = {
  shape: 'global',
  base: NODES_ALL,
  dictionary: null,
  sub: null,
  implied: null,
  foundBy: [],
  hash: null,
  times: {},
  shares: {},
};

type More = Partial<Traits>;
const nodesIn = (base: number, more: More = {}): Traits => ({ ...PLAIN, shape: 'node', base, ...more });
const itemsIn = (dictionary: ViewDictionary, base: number, more: More = {}): Traits => ({
  ...PLAIN,
  shape: 'item',
  base,
  dictionary,
  ...more,
});
const ofReports = (more: More): Traits => ({ ...PLAIN, shape: 'report', hash: 'hash', ...more });

const IS_LATEST: Filter = { kind: 'eq', field: 'latest_report?', value: true, nullSafe: false };

/** By name; all of them. */
const ENTITIES: Readonly<Record<EntityName, Traits>> = {
  nodes: nodesIn(NODES_ALL),
  catalogs: nodesIn(NODES_WITH_CATALOG),
  factsets: nodesIn(NODES_WITH_FACTS),
  inventory: nodesIn(NODES_WITH_FACTS),
  catalog_inputs: nodesIn(NODES_WITH_INPUTS),
  catalog_input_contents: nodesIn(NODES_WITH_INPUTS, { sub: 'input' }),
  inactive_nodes: nodesIn(NODES_INACTIVE, { implied: { kind: 'node-state', state: 'inactive' } }),
  not_active_nodes: nodesIn(NODES_INACTIVE),
  resources: itemsIn('resources', NODES_WITH_CATALOG, { foundBy: ['type', 'title'] }),
  edges: itemsIn('edges', NODES_WITH_CATALOG, { sub: 'target' }),
  facts: itemsIn('facts', NODES_WITH_FACTS, { foundBy: ['name'] }),
  fact_contents: itemsIn('facts', NODES_WITH_FACTS, { sub: 'leaf', foundBy: ['name'] }),
  package_inventory: itemsIn('packages', NODES_WITH_PACKAGES, { foundBy: ['package_name'] }),
  reports: ofReports({
    foundBy: ['hash'],
    times: { producer_timestamp: 'producer', start_time: 'start', end_time: 'end', receive_time: 'receive' },
    // Those of other types than `agent` are rare.
    shares: { type: 1, status: 0.25, environment: 0.3 },
  }),
  events: ofReports({
    sub: 'event',
    foundBy: ['report', 'resource_type', 'resource_title', 'containing_class'],
    hash: 'report',
    times: { timestamp: 'event', run_start_time: 'start', run_end_time: 'end', report_receive_time: 'receive' },
    shares: { status: 0.3 },
  }),
  latest_report: ofReports({ implied: IS_LATEST }),
  latest_report_id: ofReports({ implied: IS_LATEST }),
  environments: PLAIN,
  producers: PLAIN,
  packages: PLAIN,
  fact_names: PLAIN,
  fact_paths: PLAIN,
  resource_params: PLAIN,
};

/** The entity's row. */
export const traitsOf = (entity: EntityName): Traits => ENTITIES[entity];

/** Fields of any entity that the index of producer times narrows. */
export const REPORT_TIMES: readonly string[] = Object.values(ENTITIES).flatMap(({ times }) => Object.keys(times));

/** Where the bodies of the entity's items are; it has some. */
export const dictionaryOf = (entity: EntityName, view: View): DictionaryView<unknown> =>
  view[ENTITIES[entity].dictionary!] as DictionaryView<unknown>;
