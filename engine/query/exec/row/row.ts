// The cursor's place: which node, item, report and sub-row the present row is. One mutable object per query and partition;
// what has to be read from the store for it is read when a field asks. Values live until the row moves.

import type { ByteWriter } from '../../../bytes.ts';
import { BytesById } from '../../../bytes-by-id.ts';
import { Scratch } from '../../../store/file/lmdb.ts';
import type { RecordReader } from '../../../store/items/dictionary-view.ts';
import { Ids, isAmong } from '../../../store/items/ids.ts';
import type { StoredFact } from '../../../store/records/bodies.ts';
import { StoredEvents } from '../../../store/records/event-record.ts';
import { encodeNode, NODE_TEXT, StoredNode } from '../../../store/records/node-record.ts';
import { emptyNode, type ItemId, type NodeId, type ReportId } from '../../../store/records/records.ts';
import { StoredReport } from '../../../store/records/report-record.ts';
import { REPORTS_LATEST } from '../../../store/records/tables.ts';
import { tagRank } from '../../../store/records/tag-rank.ts';
import type { View } from '../../../store/view.ts';
import { Documents } from './documents.ts';
import { ReportDocuments } from './report-documents.ts';
import { NOT_KEPT, ReportGlance } from './report-glance.ts';
import type { Room } from './room.ts';

/** Where a row is, small enough to be kept for sorting. */
export interface Locator {
  readonly part: number;
  readonly node: NodeId;
  readonly item: number;
  readonly sub: number;
  /** What leads there at once where a number would not: the record of no node, or something of a sub-row (`SubKind.spots`); else null. */
  readonly spot: unknown;
}

/** A sub-row that passed its filter. */
export interface Matched {
  readonly index: number;
  readonly sub: unknown;
  /** Rendered texts of the sub-row, by run of the output; null while nobody kept one. */
  texts: (Uint8Array | undefined)[] | null;
  /** Where to keep them; null: this sub-row will not be seen again. */
  room: Room | null;
}

/** Sub-rows of a row: an array, or something that stands at one of them at a time. */
export interface SubList {
  readonly length: number;
  at(index: number): unknown;
}

/** Sub-rows of an entity's row; null when the entity has none (the item itself is the row). */
export type SubRows = ((row: Row) => SubList) | null;

/** A node that is gone shows nothing. */
const ABSENT = encodeNode(emptyNode(''));

export class Row {
  readonly view: View;
  readonly part: number;
  nodeId: NodeId = 0;
  /** Item id, or report id for report shapes, or the number of a global record. */
  itemId: ItemId = 0;
  /** The item's record, the report's record, or the global record. */
  body: unknown = null;
  /** Sub-row: a leaf, an edge, the report's events at one of them, an input. */
  sub: unknown = null;
  subIndex = 0;
  /** The matched sub-row with its rendered texts, for item entities. */
  matched: Matched | null = null;
  readonly #node = new StoredNode();
  readonly #nodeScratch = new Scratch();
  #nodeOf: NodeId = 0;
  readonly #report = new StoredReport();
  readonly #reportScratch = new Scratch();
  #glance: ReportGlance | null | undefined;
  #events: StoredEvents | null = null;
  /** JSON texts of certnames, by node. */
  readonly #names = new BytesById();
  #latest: Uint32Array | null = null;
  #documents: Documents | null = null;
  #reportDocuments: ReportDocuments | null = null;
  #facts: RecordReader<StoredFact> | null = null;
  #factList: Ids | null = null;
  #factsOf: NodeId = 0;

  constructor(view: View, part: number) {
    this.view = view;
    this.part = part;
  }

  /** The node's record. */
  get node(): StoredNode {
    if (this.#nodeOf !== this.nodeId) this.#loadNode();
    return this.#node;
  }

  #loadNode(): void {
    this.#nodeOf = this.nodeId;
    if (!this.view.readNode(this.nodeId, this.#node, this.#nodeScratch)) this.#node.load(ABSENT);
  }

  /** The node's certname; empty for one that is gone. */
  get certname(): string {
    const { names } = this.view.partition;
    let name = names.get(this.nodeId);
    if (name === undefined) {
      name = this.node.certname;
      if (name !== '') names.set(this.nodeId, name);
    }
    return name;
  }

  /** Where the node's certname stands among tags. */
  get ownRank(): number {
    const { ranks } = this.view.partition;
    let rank = ranks.get(this.nodeId);
    if (rank === undefined) {
      const { certname } = this;
      rank = tagRank(certname);
      if (certname !== '') ranks.set(this.nodeId, rank);
    }
    return rank;
  }

  /** Appends the JSON text of the node's certname, which rows of shared items ask for again and again. */
  writeName(out: ByteWriter): void {
    const { nodeId } = this;
    const names = this.#names;
    if (names.startOf(nodeId) === 0) {
      const { record } = this.node;
      names.keep(nodeId, record.bytes, record.startOf(NODE_TEXT.certname), record.endOf(NODE_TEXT.certname));
    }
    names.write(nodeId, out);
  }

  /** What documents of this partition's nodes are put together with. */
  get documents(): Documents {
    this.#documents ??= new Documents(this.view);
    return this.#documents;
  }

  /** What documents of this partition's reports are put together with. */
  get reportDocuments(): ReportDocuments {
    this.#reportDocuments ??= new ReportDocuments(this.view);
    return this.#reportDocuments;
  }

  /** Name and item of each fact of the row's node. */
  get factList(): Ids {
    this.#factList ??= new Ids();
    if (this.#factsOf !== this.nodeId) {
      this.#factsOf = this.nodeId;
      this.view.facts.readList(this.nodeId, this.#factList);
    }
    return this.#factList;
  }

  /** For looking at facts of the row's node, apart from those that are rows. */
  get factReader(): RecordReader<StoredFact> {
    this.#facts ??= this.view.facts.reader();
    return this.#facts;
  }

  get reportId(): ReportId {
    return this.itemId;
  }

  /** Makes that report the row's body and its node the row's node; false when there is none. */
  openReport(id: ReportId): boolean {
    if (!this.view.reports.read(id, this.#report, this.#reportScratch)) return false;
    this.itemId = id;
    this.body = this.#report;
    this.nodeId = this.#report.nodeId;
    this.matched = null;
    return true;
  }

  /** The same for readers that need no more of a report than a glance has (report-glance.ts): most records are not read then. */
  glanceReport(id: ReportId): boolean {
    if (this.#glance === undefined) this.#glance = ReportGlance.of(this.view, (node) => this.#nameOf(node));
    const node = this.#glance === null ? NOT_KEPT : this.#glance.open(id);
    if (node === NOT_KEPT) return this.openReport(id);
    if (node === 0) return false;
    this.itemId = id;
    this.body = this.#glance!.report;
    this.nodeId = node;
    this.matched = null;
    return true;
  }

  #nameOf(node: NodeId): string {
    this.nodeId = node;
    return this.certname;
  }

  get report(): StoredReport {
    return this.body as StoredReport;
  }

  /** Whether the row's report is its node's latest agent report. */
  get isLatest(): boolean {
    this.#latest ??= this.view.reports.set(REPORTS_LATEST);
    return isAmong(this.#latest, this.itemId);
  }

  /** The events of the row's report, to be opened by the caller. */
  get events(): StoredEvents {
    this.#events ??= new StoredEvents(this.view.reports);
    return this.#events;
  }
}
