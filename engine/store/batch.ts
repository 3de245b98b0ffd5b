// Changes of a partition within one transaction. Node records, node sets, lists and counters are collected, and written when it
// ends. Reports, which are written at once, are in report-writer.ts.

import { digest16, idIn, idValue, seqKey, textKey } from './file/keys.ts';
import { fast, present } from './file/lmdb.ts';
import { FORMAT_VERSION } from './file/store-info.ts';
import { itemRound } from './item-ids.ts';
import type { Dictionary } from './items/dictionary.ts';
import { DictionaryWriter } from './items/dictionary-writer.ts';
import { encodeKnown, type KnownItem, KnownItems } from './items/known-items.ts';
import type { NameIds } from './items/name-ids.ts';
import { PostingsWriter } from './items/postings.ts';
import type { PartitionStore } from './partition-store.ts';
import { decodeNode, encodeNode } from './records/node-record.ts';
import {
  type EdgeBody,
  emptyNode,
  type FactBody,
  type ItemId,
  type NodeId,
  type NodeRecord,
  type PackageBody,
  type Registered,
  type ReportId,
  type ResourceBody,
} from './records/records.ts';
import {
  MEMO_TABLES,
  type MemoKind,
  NODES_ALL,
  NODES_WITH_PACKAGES,
  REPORTS_LATEST,
  SETS_OF_RECORDS,
} from './records/tables.ts';
import { ReportWriter } from './report-writer.ts';
import { REWRITTEN, REWRITTEN_KINDS, type RewrittenKind, withRewritten } from './rewritten.ts';
import {
  encodeState,
  idsLeft,
  type Numbered,
  noIdsLeft,
  type PartitionCounts,
  STATE,
  type State,
  takeId,
} from './state.ts';
import { View } from './view.ts';

/** Everything one transaction changes. Only valid inside `Partition.write`. Reads see the changes made so far. */
export class Batch {
  readonly partition: PartitionStore;
  readonly resources: DictionaryWriter<ResourceBody>;
  readonly facts: DictionaryWriter<FactBody>;
  readonly edges: DictionaryWriter<EdgeBody>;
  readonly packages: DictionaryWriter<PackageBody>;
  readonly reports: ReportWriter;
  /** Reads inside the transaction (bodies, lists, reports); node records go through `node`. */
  readonly view: View;
  readonly #sets: PostingsWriter;
  readonly #state: State;
  readonly #nodes = new Map<NodeId, NodeRecord>();
  readonly #dirtyNodes = new Set<NodeId>();
  /** Ids of records that were written, or removed; of nodes also where their lists were. */
  readonly #rewritten: Record<RewrittenKind, Set<number>> = { node: new Set(), report: new Set() };
  readonly #seenNames = new Set<string>();
  #nameIds: NameIds;

  constructor(partition: PartitionStore) {
    this.partition = partition;
    const state = partition.readState({});
    this.#state = state;
    partition.turnTo(state);
    this.#nameIds = partition.nameIds(this.#state.changes.fact_name ?? 0);
    const ids = {
      maxNode: () => this.#state.nextNode - 1,
      nextItem(dictionary: Pick<Dictionary<unknown>, 'spec' | 'tables' | 'turnTo'>): ItemId {
        const { name } = dictionary.spec;
        const id = partition.itemIds.next(state, name, dictionary.tables.body);
        dictionary.turnTo(itemRound(state, name));
        return id;
      },
      changed: (name: Registered) => this.#changed(name),
    };
    this.resources = new DictionaryWriter(partition.resources, ids);
    this.facts = new DictionaryWriter(partition.facts, ids);
    this.edges = new DictionaryWriter(partition.edges, ids);
    this.packages = new DictionaryWriter(partition.packages, ids);
    // Some are sets of reports.
    this.#sets = new PostingsWriter(partition.tables.node_set, () =>
      Math.max(this.#state.nextNode, this.#state.nextReport),
    );
    this.view = new View(partition, undefined);
    this.reports = new ReportWriter({
      partition,
      view: this.view,
      state: this.#state,
      sets: this.#sets,
      rewritten: this.#rewritten.report,
    });
  }

  get position(): number {
    return this.#state.position;
  }
  set position(seq: number) {
    if (seq < this.#state.position) throw new Error(`stream position ${seq} is before ${this.#state.position}`);
    this.#state.position = seq;
  }

  get counts(): PartitionCounts {
    return this.#state.counts;
  }

  /** Why `count` more of the kind cannot be stored, as their ids have been given out; null: they can. To be asked before the first write. */
  refusal(kind: Numbered, count: number): string | null {
    return idsLeft(this.#state, kind) < count ? noIdsLeft(kind) : null;
  }

  /** The same of the names of these facts: those that have ids need none. */
  refusalOfNames(facts: readonly { readonly name: string }[]): string | null {
    if (idsLeft(this.#state, 'name') >= facts.length) return null;
    const fresh = new Set<string>();
    for (const { name } of facts) if (this.view.nameId(name) === 0) fresh.add(name);
    return this.refusal('name', fresh.size);
  }

  /** The node's record; change it only through `putNode`. */
  node(id: NodeId): NodeRecord | undefined {
    const cached = this.#nodes.get(id);
    if (cached !== undefined) return cached;
    const bytes = fast(this.partition.tables.node, id);
    if (bytes === undefined) return undefined;
    const record = decodeNode(bytes);
    this.#nodes.set(id, record);
    return record;
  }

  createNode(certname: string): NodeId {
    const id = takeId(this.#state, 'node');
    this.partition.tables.node_id.putSync(textKey(certname), idValue(id));
    this.#sets.add(NODES_ALL, id);
    this.#state.counts.nodes++;
    this.putNode(id, emptyNode(certname));
    return id;
  }

  /** Replaces the node's record; the node sets follow from it. */
  putNode(id: NodeId, record: NodeRecord): void {
    const before = this.node(id);
    for (const { set, has } of SETS_OF_RECORDS) this.#member(set, id, before !== undefined && has(before), has(record));
    this.#latest(before?.latestReport?.reportId ?? 0, record.latestReport?.reportId ?? 0);
    this.#state.counts.catalogs += Number(record.catalog !== null) - Number(!!before?.catalog);
    this.#state.counts.factsets += Number(record.factset !== null) - Number(!!before?.factset);
    this.#nodes.set(id, record);
    this.#dirtyNodes.add(id);
    this.#rewritten.node.add(id);
  }

  #latest(was: ReportId, is: ReportId): void {
    if (was === is) return;
    if (was !== 0) this.#sets.remove(REPORTS_LATEST, was);
    if (is !== 0) this.#sets.add(REPORTS_LATEST, is);
  }

  #member(set: number, id: NodeId, was: boolean, is: boolean): void {
    if (is && !was) this.#sets.add(set, id);
    else if (was && !is) this.#sets.remove(set, id);
  }

  /** Removes the node itself; its data must have been removed before (lists emptied, reports deleted). */
  deleteNode(id: NodeId): void {
    const record = this.node(id);
    if (record === undefined) return;
    this.putNode(id, {
      ...record,
      deactivated: null,
      expired: null,
      factset: null,
      catalog: null,
      latestReport: null,
      inputs: null,
    });
    this.#sets.remove(NODES_ALL, id);
    this.#state.counts.nodes--;
    this.partition.tables.node_id.removeSync(textKey(record.certname));
    this.partition.tables.node.removeSync(id);
    this.partition.tables.inputs.removeSync(id);
    for (const table of Object.values(MEMO_TABLES)) this.partition.tables[table].removeSync(id);
    this.#nodes.delete(id);
    this.#dirtyNodes.delete(id);
  }

  /** Replaces the node's resources: item ids in catalog order. `known`: by what some of them are known again. */
  setResources(node: NodeId, items: Uint32Array, known: KnownItem[] = []): void {
    this.#rewritten.node.add(node);
    this.#state.counts.resources += this.resources.setList(node, items);
    const table = this.partition.tables.resource_known;
    if (known.length > 0) table.putSync(node, encodeKnown(known));
    else table.removeSync(node);
  }

  /** By what resources of the certname's catalog are known; null: none of them is. */
  knownResources(certname: string): KnownItems | null {
    const bytes = fast(this.partition.tables.resource_known, this.view.nodeId(certname));
    return bytes === undefined ? null : new KnownItems(Buffer.from(bytes));
  }

  /** See `setMemo`; undefined for nothing. */
  memo(kind: MemoKind, certname: string): string | undefined {
    return fast(this.partition.tables[MEMO_TABLES[kind]], this.view.nodeId(certname))?.toString('latin1');
  }
  setEdges(node: NodeId, items: Uint32Array): void {
    this.#rewritten.node.add(node);
    this.edges.setList(node, items);
  }
  /** Replaces the node's facts: name id, item id pairs. */
  setFacts(node: NodeId, pairs: Uint32Array): void {
    this.#rewritten.node.add(node);
    this.#state.counts.facts += this.facts.setList(node, pairs);
  }
  setPackages(node: NodeId, items: Uint32Array): void {
    this.#rewritten.node.add(node);
    const had = this.packages.hasList(node);
    this.#state.counts.packages += this.packages.setList(node, items);
    this.#member(NODES_WITH_PACKAGES, node, had, items.length > 0);
  }

  /** What is remembered of the payload that the node's catalog or factset came with: ASCII text. */
  setMemo(kind: MemoKind, node: NodeId, text: string): void {
    this.partition.tables[MEMO_TABLES[kind]].putSync(node, Buffer.from(text, 'latin1'));
  }

  /** Stored JSON text `[[type, name], ...]`. */
  setInputs(node: NodeId, text: string): void {
    this.partition.tables.inputs.putSync(node, Buffer.from(text, 'utf8'));
  }

  /** Id of a fact name, new if need be. */
  nameId(name: string): number {
    const { tables } = this.partition;
    const known = this.#nameIds.get(name);
    if (known !== undefined) return known;
    const key = textKey(name);
    const bytes = fast(tables.fact_name, key);
    if (bytes === undefined) {
      const id = takeId(this.#state, 'name');
      tables.fact_name.putSync(key, idValue(id));
      return id; // not cached before the commit
    }
    const id = idIn(bytes);
    this.#nameIds.keep(name, id);
    return id;
  }

  /** Takes the ids of names that no fact has, by their keys. They are not given again. */
  removeFactNames(keys: readonly Buffer[]): void {
    for (const key of keys) this.partition.tables.fact_name.removeSync(key);
    this.#changed('fact_name');
    this.#nameIds = this.partition.nameIds(this.#state.changes.fact_name!);
  }

  /** Registers a fact path with its type name (`string`, `integer`, ...; `json` is not shown but may be registered). */
  addFactPath(type: string, path: readonly (string | number)[]): void {
    if (!this.partition.knownPaths.add(type, path)) return;
    const text = JSON.stringify([type, ...path]);
    const key = digest16(text);
    if (!present(this.partition.tables.fact_path, key)) {
      this.partition.tables.fact_path.putSync(key, Buffer.from(text, 'utf8'));
      this.#changed('fact_path');
    }
  }

  /** Takes paths out of the registry, by their keys. */
  removeFactPaths(keys: readonly Buffer[]): void {
    const { knownPaths, tables } = this.partition;
    for (const key of keys) tables.fact_path.removeSync(key);
    knownPaths.clear();
    this.#changed('fact_path');
  }

  addEnvironment(name: string | null): void {
    this.#addName('environment', name);
  }
  addProducer(name: string | null): void {
    this.#addName('producer', name);
  }
  #addName(table: 'environment' | 'producer', name: string | null): void {
    if (name === null) return;
    const mark = `${table}\n${name}`;
    if (this.#seenNames.has(mark)) return;
    this.#seenNames.add(mark);
    const key = textKey(name);
    const names = this.partition.tables[table];
    if (present(names, key)) return;
    names.putSync(key, Buffer.from(name, 'utf8'));
    this.#changed(table);
  }

  removeEnvironments(names: readonly string[]): void {
    for (const name of names) this.partition.tables.environment.removeSync(textKey(name));
    this.#changed('environment');
  }

  #changed(kind: Registered): void {
    const { changes } = this.#state;
    changes[kind] = (changes[kind] ?? 0) + 1;
  }

  putRetry(seq: number, bytes: Uint8Array): void {
    this.partition.tables.retry.putSync(seqKey(seq), Buffer.from(bytes));
  }
  removeRetry(seq: number): void {
    this.partition.tables.retry.removeSync(seqKey(seq));
  }

  #tellRewritten(): void {
    const { state } = this.partition.tables;
    const { rewritten } = this.#state;
    for (const kind of REWRITTEN_KINDS) {
      const ids = this.#rewritten[kind];
      if (ids.size === 0) continue;
      rewritten[kind] = (rewritten[kind] ?? 0) + ids.size;
      state.putSync(REWRITTEN[kind], withRewritten(fast(state, REWRITTEN[kind]), ids));
    }
  }

  /** Writes what was collected. Called by `Partition.write`. */
  finish(): void {
    const { tables } = this.partition;
    for (const id of this.#dirtyNodes) tables.node.putSync(id, encodeNode(this.#nodes.get(id) as NodeRecord));
    this.#tellRewritten();
    this.resources.flush();
    this.facts.flush();
    this.edges.flush();
    this.packages.flush();
    this.#sets.flush();
    this.reports.flush();
    // From now on there may be what an older version does not know.
    this.#state.format = FORMAT_VERSION;
    tables.state.putSync(STATE, encodeState(this.#state));
  }
}
