// Reads of a partition at one snapshot, which later commits do not change.

import type { Database } from 'lmdb';
import { idIn, KEY_TEXT_MAX, textKey, textKeyRange } from './file/keys.ts';
import { fast, present, type ReadOptions, type Scratch } from './file/lmdb.ts';
import { itemRound, itemsEnd } from './item-ids.ts';
import { FACT_BY_NAME } from './items/dictionaries.ts';
import { DictionaryView, type ViewBounds } from './items/dictionary-view.ts';
import type { NameIds } from './items/name-ids.ts';
import type { NodeSet } from './items/node-set.ts';
import { postingsOf } from './items/postings.ts';
import type { PartitionStore } from './partition-store.ts';
import type { StoredEdge, StoredFact, StoredPackage, StoredResource } from './records/bodies.ts';
import { decodeNode, type StoredNode } from './records/node-record.ts';
import type {
  Counted,
  EdgeBody,
  FactBody,
  ItemId,
  NodeId,
  NodeRecord,
  PackageBody,
  ResourceBody,
} from './records/records.ts';
import { ReportView } from './report-view.ts';
import type { RewrittenKind } from './rewritten.ts';
import { Snapshot } from './snapshot.ts';
import type { PartitionCounts, State } from './state.ts';

export interface NamedNode {
  /** The certname as UTF-8. */
  readonly name: Buffer;
  readonly node: NodeId;
}

interface FactPath {
  readonly type: string;
  readonly path: (string | number)[];
}

/** Reads at one snapshot. Not for use after `close`. */
export class View implements ViewBounds {
  readonly partition: PartitionStore;
  readonly options: ReadOptions;
  readonly state: Readonly<State>;
  readonly reports: ReportView;
  readonly resources: DictionaryView<ResourceBody, StoredResource>;
  readonly facts: DictionaryView<FactBody, StoredFact>;
  readonly edges: DictionaryView<EdgeBody, StoredEdge>;
  readonly packages: DictionaryView<PackageBody, StoredPackage>;
  readonly maxNodeId: NodeId;
  readonly #snapshot: Snapshot;
  #nameIds: NameIds | null = null;

  /** `transaction`: a read transaction; undefined: the write transaction that runs. */
  // biome-ignore lint/suspicious/noExplicitAny: lmdb's transaction handle has no exported type
  constructor(partition: PartitionStore, transaction: any) {
    const snapshot = new Snapshot(partition, transaction);
    const { options, state } = snapshot;
    this.#snapshot = snapshot;
    this.partition = partition;
    this.options = options;
    this.state = state;
    this.maxNodeId = state.nextNode - 1;
    this.reports = new ReportView(snapshot);
    this.resources = new DictionaryView(partition.resources, options, this);
    this.facts = new DictionaryView(partition.facts, options, this);
    this.edges = new DictionaryView(partition.edges, options, this);
    this.packages = new DictionaryView(partition.packages, options, this);
  }

  seesKept(kind: RewrittenKind): boolean {
    return this.#snapshot.seesKept(kind);
  }

  itemsEnd(name: string): ItemId {
    return itemsEnd(this.state, name);
  }

  itemRound(name: string): number {
    return itemRound(this.state, name);
  }

  close(): void {
    this.#snapshot.close();
  }

  get counts(): PartitionCounts {
    return this.state.counts;
  }

  /** How often things of that kind came or went before this snapshot. */
  changes(kind: Counted): number {
    // A node that comes takes the next number, which is not given again: those that are not there have gone.
    if (kind === 'node') return this.maxNodeId + (this.maxNodeId - this.counts.nodes);
    return this.state.changes[kind] ?? 0;
  }

  /** 0 when the certname is not known. */
  nodeId(certname: string): NodeId {
    return idIn(fast(this.partition.tables.node_id, textKey(certname), this.options));
  }

  /** All nodes in the order of their certnames, which come as UTF-8. */
  nodesByName(descending: boolean): Generator<NamedNode, void, undefined> {
    return this.#snapshot.range(this.#nodesByName({ reverse: descending }));
  }

  /** Nodes whose certnames begin with a text that is not empty, in their order; some others, where it has more than KEY_TEXT_MAX bytes. */
  nodesByPrefix(prefix: string): Generator<NamedNode, void, undefined> {
    return this.#snapshot.range(this.#nodesByName({ reverse: false, ...textKeyRange(prefix) }));
  }

  /** How many certnames `nodesByPrefix` would give. */
  countByPrefix(prefix: string): number {
    return this.partition.tables.node_id.getKeysCount({ ...textKeyRange(prefix), ...this.options });
  }

  *#nodesByName(range: { reverse: boolean; start?: Buffer; end?: Buffer }): Generator<NamedNode, void, undefined> {
    // Keys of long names end in a digest: those that begin alike are put in order here.
    let alike: { name: Buffer; node: NodeId }[] = [];
    const sign = range.reverse ? -1 : 1;
    for (const { key, value } of this.partition.tables.node_id.getRange({ ...range, ...this.options })) {
      const node = value.readUInt32BE(0);
      const isLong = key.length > KEY_TEXT_MAX;
      if (alike.length > 0 && !(isLong && beginsAlike(key, alike[0]!.name))) {
        yield* alike.sort((a, b) => sign * Buffer.compare(a.name, b.name));
        alike = [];
      }
      if (isLong) alike.push({ name: Buffer.from(this.node(node)!.certname, 'utf8'), node });
      else yield { name: key, node };
    }
    yield* alike.sort((a, b) => sign * Buffer.compare(a.name, b.name));
  }

  node(id: NodeId): NodeRecord | undefined {
    const bytes = fast(this.partition.tables.node, id, this.options);
    return bytes === undefined ? undefined : decodeNode(bytes);
  }

  /** Puts the node's record into `into`, which then reads it in `scratch`; false when there is no such node. */
  readNode(id: NodeId, into: StoredNode, scratch: Scratch): boolean {
    return this.#snapshot.read('node', id, into, scratch);
  }

  /** One of the NODES_ sets. */
  set(which: number): NodeSet {
    return postingsOf(this.partition.tables.node_set, which, this.maxNodeId, this.options);
  }

  inputs(id: NodeId): string | null {
    return this.text(this.partition.tables.inputs, id);
  }

  text(table: Database<Buffer, number>, id: number): string | null {
    const bytes = fast(table, id, this.options);
    return bytes === undefined ? null : bytes.toString('utf8', 0, bytes.length);
  }

  /** 0 when no factset has the name. */
  nameId(name: string): number {
    const ids = (this.#nameIds ??= this.partition.nameIds(this.changes('fact_name')));
    const known = ids.get(name);
    if (known !== undefined) return known;
    const bytes = fast(this.partition.tables.fact_name, textKey(name), this.options);
    if (bytes === undefined) return 0;
    const id = bytes.readUInt32BE(0);
    ids.keep(name, id);
    return id;
  }

  /** Keys of so many fact names that have ids, from that one on. */
  factNameKeys(from: Buffer, limit: number): Buffer[] {
    const keys = this.partition.tables.fact_name.getKeys({ start: from, limit, ...this.options });
    return [...keys].map((key) => Buffer.from(key));
  }

  environments(): string[] {
    return this.#names(this.partition.tables.environment);
  }

  producers(): string[] {
    return this.#names(this.partition.tables.producer);
  }

  hasName(table: 'environment' | 'producer', name: string): boolean {
    return present(this.partition.tables[table], textKey(name), this.options);
  }

  #names(table: Database<Buffer, Buffer>): string[] {
    const out: string[] = [];
    for (const { value } of table.getRange({ ...this.options })) out.push(value.toString('utf8'));
    return out;
  }

  /**
   * Registered fact paths: type name and path. Of those whose digests are in `seen` there is null, the others are added to it:
   * for the paths of several partitions, which have most of them in common.
   */
  factPaths(): Generator<FactPath, void, undefined>;
  factPaths(seen: Set<string>): Generator<FactPath | null, void, undefined>;
  factPaths(seen = new Set<string>()): Generator<FactPath | null, void, undefined> {
    return this.#snapshot.range(this.#factPaths(seen));
  }

  *#factPaths(seen: Set<string>): Generator<FactPath | null, void, undefined> {
    const { fact_path: table } = this.partition.tables;
    for (const key of table.getKeys({ ...this.options })) {
      const digest = key.toString('latin1');
      if (seen.has(digest)) {
        yield null;
        continue;
      }
      seen.add(digest);
      const text = fast(table, key, this.options)!.toString('utf8');
      const [type, ...path] = JSON.parse(text) as [string, ...(string | number)[]];
      yield { type, path };
    }
  }

  /** Fact names that some stored factset has. */
  factNames(): string[] {
    return this.facts.indexTexts(FACT_BY_NAME, ({ name }) => name);
  }
}

const beginsAlike = (a: Buffer, b: Buffer): boolean => a.subarray(0, KEY_TEXT_MAX).equals(b.subarray(0, KEY_TEXT_MAX));
