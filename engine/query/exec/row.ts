// The cursor's place: which node, item, report and sub-row the present row is. One mutable object per query and partition;
// what has to be read from the store for it is read when a field asks. Values live until the row moves.

import type { View } from '../../store/partition.ts';
import type { ItemId, NodeId, NodeRecord, ReportId, ReportRecord } from '../../store/records.ts';
import type { Matched } from './cursor.ts';

/** Where a row is, small enough to be kept for sorting. */
export interface Locator {
  readonly part: number;
  readonly node: NodeId;
  readonly item: number;
  readonly sub: number;
}

const NODE_CACHE_MAX = 20_000;
const ABSENT: NodeRecord = {
  certname: '',
  deactivated: null,
  expired: null,
  expiresFacts: null,
  expiresFactsUpdated: null,
  factset: null,
  catalog: null,
  latestReport: null,
  inputs: null,
};

export class Row {
  readonly view: View;
  readonly part: number;
  nodeId: NodeId = 0;
  /** Item id, or report id for report shapes, or the index of a global record. */
  itemId: ItemId = 0;
  /** The item's body, the report's record, or the global record. */
  body: unknown = null;
  /** Sub-row: a leaf, an edge, an event, an input. */
  sub: unknown = null;
  subIndex = 0;
  /** The matched sub-row with its rendered texts, for item entities. */
  matched: Matched | null = null;
  #nodes = new Map<NodeId, NodeRecord>();
  #node: NodeRecord = ABSENT;
  #nodeOf: NodeId = 0;

  constructor(view: View, part: number) {
    this.view = view;
    this.part = part;
  }

  get node(): NodeRecord {
    if (this.#nodeOf === this.nodeId) return this.#node;
    this.#nodeOf = this.nodeId;
    this.#node = this.nodeRecord(this.nodeId);
    return this.#node;
  }

  /** A node's record, from a bounded cache. */
  nodeRecord(id: NodeId): NodeRecord {
    let record = this.#nodes.get(id);
    if (record === undefined) {
      record = this.view.node(id) ?? ABSENT;
      if (this.#nodes.size >= NODE_CACHE_MAX) this.#nodes.clear();
      this.#nodes.set(id, record);
    }
    return record;
  }

  get reportId(): ReportId {
    return this.itemId;
  }

  get report(): ReportRecord {
    return this.body as ReportRecord;
  }
}
