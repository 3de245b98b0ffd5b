// Walks a data directory that no server uses and tells everything that does not fit together: pages of the files, lists
// without bodies, bodies that nobody has, postings and indexes that disagree with the lists, facts that are not registered, node sets, what
// belongs to no node or report, report indexes and counters. Reads only. Empty result: the store is sound. A record that cannot be read is a
// problem like others: what is behind it is checked all the same, and totals that it would count in are not.

import { existsSync } from 'node:fs';
import type { Database } from 'lmdb';
import { messageOf } from '../reason.ts';
import { FactRegistries } from './fact-registries.ts';
import { DataFileDamaged } from './file/data-file.ts';
import { digest16, idIn, idOfTimeKey, indexPrefix, pairKey, textOfKey, timeOfKey } from './file/keys.ts';
import { dataFileOf, partitionDir } from './file/layout.ts';
import { fast, present } from './file/lmdb.ts';
import { walkDataFile } from './file/page-walk.ts';
import { mustHaveData, readStoreInfo, slotOf } from './file/store-info.ts';
import { isToComeAt } from './item-ids.ts';
import type { Dictionary, DictionaryView } from './items/dictionary.ts';
import { DIGEST_SIZE, KNOWN_SIZE } from './items/known-items.ts';
import { chunkIds, firstOfChunk } from './items/postings.ts';
import { openPartition, type Partition } from './partition.ts';
import { copiesIn } from './records/copies.ts';
import { inspectColumns } from './records/event-record.ts';
import { decodeNode } from './records/node-record.ts';
import type { ItemId, NodeId, NodeRecord, ReportId, ReportRecord } from './records/records.ts';
import { decodeReport } from './records/report-record.ts';
import {
  MEMO_TABLES,
  NODES_ALL,
  NODES_WITH_PACKAGES,
  REPORTS_LATEST,
  REPORTS_WITH_EVENTS,
  SETS_OF_RECORDS,
} from './records/tables.ts';
import { kindText, markOfKind } from './reports/report-kinds.ts';
import { periodOf } from './reports/report-periods.ts';
import { CLOCKS, FAR_SETS, withTimesOf } from './reports/report-times.ts';
import type { View } from './view.ts';

const PROBLEMS_MAX = 50;
/** Characters of a problem, and of a certname in it: both may come out of damaged pages. */
const PROBLEM_SIZE_MAX = 600;
const CERTNAME_SIZE_MAX = 260;
/** What a memo looks like (ingest/spans.ts): older ones have no fingerprints of single parts. */
const MEMO = /^[0-9a-f]{40} [0-9a-f]{40}( [a-z_]+ \d+(:[0-9a-f]{32})?)+$/;

/** What a check says of a partition. */
export interface PartitionCheck {
  readonly problems: readonly string[];
  /** Stream position; 0 where it cannot be read, too. */
  readonly position: number;
}

/**
 * Checks one partition. Its file's pages come first, read without LMDB; what is not sound there is not given to LMDB. The
 * rest needs the file mapped: should that end the process all the same, only a process around it can tell.
 */
export async function checkPartition(dir: string, slot: number): Promise<PartitionCheck> {
  const info = readStoreInfo(dir);
  const path = partitionDir(dir, slot);
  const told = (text: string): string => `partition ${slot}: ${text}`;
  const unread = (...problems: readonly string[]): PartitionCheck => ({ problems: problems.map(told), position: 0 });
  try {
    if (info.complete) mustHaveData(path);
    const file = dataFileOf(path);
    if (!existsSync(file)) return unread();
    const damage = walkDataFile(path);
    if (damage.length > 0) return unread(...damage.map((text) => `${file}: ${text}`));
    const { problems, position } = await checkRows(path, (certname) => slotOf(certname, info.partitions) === slot);
    return { problems: problems.map(told), position };
  } catch (error) {
    if (error instanceof DataFileDamaged) return unread(`${error.file}: ${error.problem}`);
    return unread(`it cannot be read: ${messageOf(error)}`);
  }
}

async function checkRows(path: string, owns: (certname: string) => boolean): Promise<PartitionCheck> {
  const partition = openPartition(path, { readOnly: true });
  try {
    return { problems: rowProblems(partition, owns), position: partition.position };
  } finally {
    await partition.close();
  }
}

/** What does not fit together of what a partition holds, as of now. `owns`: whether a node of that certname belongs there. */
export function rowProblems(partition: Partition, owns: (certname: string) => boolean): string[] {
  const problems: string[] = [];
  const view = partition.snapshot();
  try {
    const isFull = (): boolean => problems.length >= PROBLEMS_MAX;
    const say = (text: string): void => {
      if (!isFull()) problems.push(printable(text, PROBLEM_SIZE_MAX));
    };
    const walk = new Walk(partition, view, { say, isFull });
    walk.all(owns);
  } finally {
    view.close();
  }
  return problems;
}

/** What the bodies of a dictionary, and the number that a list has before each, are held against. */
interface Registries<B> {
  listed(node: NodeId, item: ItemId, before: number): void;
  body(item: ItemId, body: B): void;
}

/** Tables of which a report's row goes with the report. */
const OF_REPORTS = [
  'report_event',
  'report_event_value',
  'report_lists',
  'report_logs',
  'report_metrics',
  'report_resources',
] as const;

interface Telling {
  readonly say: (problem: string) => void;
  /** No more are shown. */
  readonly isFull: () => boolean;
}

class Walk {
  readonly #partition: Partition;
  readonly #view: View;
  readonly #say: Telling['say'];
  readonly #isFull: Telling['isFull'];
  readonly #records = new Map<NodeId, NodeRecord>();
  /** Nodes whose records cannot be read. */
  readonly #unread = new Set<NodeId>();

  constructor(partition: Partition, view: View, { say, isFull }: Telling) {
    this.#partition = partition;
    this.#view = view;
    this.#say = say;
    this.#isFull = isFull;
  }

  all(owns: (certname: string) => boolean): void {
    this.#walk('the nodes', () => this.#nodes(owns));
    this.#walk('the inputs', () => this.#inputs());
    this.#walk('what is remembered of payloads', () => this.#memos());
    this.#dictionaries();
    this.#walk('the reports', () => this.#reports());
  }

  /** What goes through a table: where LMDB ends that, other tables are looked at all the same. */
  #walk(what: string, walk: () => void): void {
    try {
      walk();
    } catch (error) {
      this.#say(`${what} cannot be read to the end: ${messageOf(error)}`);
    }
  }

  /** What `look` makes of a record; undefined where it throws, which is told. `whose`: the certname, if that is known. */
  #read<T>(table: string, key: number | string, whose: () => string | null, look: () => T): T | undefined {
    try {
      return look();
    } catch (error) {
      // It may have to be looked for.
      const certname = this.#isFull() ? null : whose();
      const of = certname === null ? '' : ` of ${shortened(certname)}`;
      this.#say(`${table} ${key}${of} cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Certname of the node: by its record, or else by what leads there. */
  #owner(id: NodeId): () => string | null {
    return () => {
      const record = this.#records.get(id);
      if (record !== undefined) return record.certname;
      for (const { key, value } of this.#partition.tables.node_id.getRange({ ...this.#view.options }))
        if (value.length === 4 && idIn(value) === id) return textOfKey(key);
      return null;
    };
  }

  /** The same of a report, by the list of its node. */
  #ownerOfReport(id: ReportId): () => string | null {
    return () => {
      for (const key of this.#partition.tables.report_node.getKeys({ ...this.#view.options }))
        if (key.length === 8 && key.readUInt32BE(4) === id) return this.#owner(key.readUInt32BE(0))();
      return null;
    };
  }

  #nodes(owns: (certname: string) => boolean): void {
    const { tables } = this.#partition;
    const view = this.#view;
    for (const { key: id, value } of tables.node.getRange({ ...view.options })) {
      const isRead = this.#read('node', id, this.#owner(id), () => this.#node(id, decodeNode(value), owns));
      if (isRead === undefined) this.#unread.add(id);
    }
    const nodes = this.#records.size + this.#unread.size;
    this.#equal('certnames', count(tables.node_id.getKeys({ ...view.options })), nodes);
    this.#set('all', NODES_ALL, () => true);
    for (const { set, title, has } of SETS_OF_RECORDS) this.#set(title, set, has);
    this.#set('with packages', NODES_WITH_PACKAGES, (_, id) => view.packages.list(id).length > 0);
    this.#equal('counter of nodes', view.counts.nodes, nodes);
    this.#total(
      'counter of catalogs',
      view.counts.catalogs,
      this.#having((record) => record.catalog !== null),
    );
    this.#total(
      'counter of factsets',
      view.counts.factsets,
      this.#having((record) => record.factset !== null),
    );
  }

  #node(id: NodeId, record: NodeRecord, owns: (certname: string) => boolean): true {
    const { certname } = record;
    const view = this.#view;
    if (typeof certname !== 'string') throw new Error('it has no certname');
    const leadsTo = view.nodeId(certname);
    this.#records.set(id, record);
    const name = shortened(certname);
    if (leadsTo !== id) this.#say(`node ${id} ${name}: the certname leads to ${leadsTo}`);
    if (!owns(certname)) this.#say(`node ${name} belongs to another partition`);
    if (id > view.maxNodeId) this.#say(`node ${id} is beyond the largest id ${view.maxNodeId}`);
    return true;
  }

  #inputs(): void {
    const had = new Set<NodeId>();
    for (const { key: id, value } of this.#partition.tables.inputs.getRange({ ...this.#view.options })) {
      had.add(id);
      const record = this.#records.get(id);
      if (record === undefined) {
        if (!this.#unread.has(id)) this.#say(`inputs of node ${id}, which is not there`);
      } else if (record.inputs === null) this.#say(`inputs of ${shortened(record.certname)}, which has none`);
      this.#read('inputs', id, this.#owner(id), () => JSON.parse(value.toString('utf8')) as unknown);
    }
    for (const [id, { certname, inputs }] of this.#records)
      if (inputs !== null && !had.has(id)) this.#say(`${shortened(certname)}: its inputs are not there`);
  }

  #memos(): void {
    for (const name of ['catalog', 'factset'] as const) {
      const table = this.#partition.tables[MEMO_TABLES[name]];
      for (const { key: id, value } of table.getRange({ ...this.#view.options })) {
        const record = this.#records.get(id);
        const isMissing = record === undefined ? !this.#unread.has(id) : record[name] === null;
        if (isMissing) this.#say(`${name} memo of node ${id}, which has none`);
        if (!MEMO.test(value.toString('latin1'))) this.#say(`${name} memo of node ${id} cannot be read`);
      }
    }
  }

  #dictionaries(): void {
    const { resources, facts, edges, packages } = this.#partition;
    const view = this.#view;
    const { counts } = view;
    this.#walk('the resources', () => {
      this.#total('counter of resources', counts.resources, this.#dictionary(resources, view.resources, 'catalog'));
      this.#knownResources();
    });
    const registries = new FactRegistries(view, this.#say);
    this.#walk('the names and paths of facts', () => registries.load());
    this.#walk('the facts', () =>
      this.#total('counter of facts', counts.facts, this.#dictionary(facts, view.facts, 'factset', registries)),
    );
    this.#walk('the edges', () => void this.#dictionary(edges, view.edges, 'catalog'));
    this.#walk('the packages', () =>
      this.#total('counter of packages', counts.packages, this.#dictionary(packages, view.packages, null)),
    );
  }

  /** By what resources are known: items of the node's list, in the order in which they are looked for. */
  #knownResources(): void {
    const view = this.#view;
    for (const { key: node, value } of this.#partition.tables.resource_known.getRange({ ...view.options })) {
      const list = new Set(view.resources.list(node));
      if (value.length % KNOWN_SIZE !== 0) this.#say(`what is known of the resources of node ${node} cannot be read`);
      for (let at = 0; at + KNOWN_SIZE <= value.length; at += KNOWN_SIZE) {
        const item = value.readUInt32LE(at + DIGEST_SIZE);
        if (!list.has(item)) this.#say(`resource item ${item} is known for node ${node}, which does not have it`);
        const isInOrder =
          at === 0 || value.compare(value, at - KNOWN_SIZE, at - KNOWN_SIZE + DIGEST_SIZE, at, at + DIGEST_SIZE) > 0;
        if (!isInOrder) this.#say(`what is known of the resources of node ${node} is not in order`);
      }
    }
  }

  /** Returns the number of list entries of all nodes. */
  #dictionary<B>(
    dictionary: Dictionary<B>,
    view: DictionaryView<B>,
    owner: 'catalog' | 'factset' | null,
    registries: Registries<B> | null = null,
  ): number {
    const { options } = this.#view;
    const { tables } = dictionary;
    const { name, stride } = dictionary.spec;
    const expected = new Map<number, Set<NodeId>>();
    let entries = 0;
    for (const node of tables.list.getKeys({ ...options })) {
      const record = this.#records.get(node);
      if (record !== undefined) {
        if (owner !== null && record[owner] === null)
          this.#say(`${name} list of ${shortened(record.certname)} without ${owner}`);
      } else if (!this.#unread.has(node)) this.#say(`${name} list of node ${node}, which is not there`);
      const list = view.list(node);
      entries += list.length / stride;
      for (let i = stride - 1; i < list.length; i += stride) {
        const item = list[i]!;
        registries?.listed(node, item, list[i - 1]!);
        const nodes = expected.get(item);
        if (nodes === undefined) expected.set(item, new Set([node]));
        else nodes.add(node);
        if (!view.hasBody(item)) this.#say(`${name} item ${item} of node ${node} has no body`);
      }
    }
    if (tables.copy !== null) this.#copies(dictionary, tables.copy, expected);
    this.#bodies(dictionary, expected, registries);
    return entries;
  }

  /** Copies against the bodies, and whether their nodes have them. */
  #copies<B>(
    { spec, tables }: Dictionary<B>,
    table: Database<Buffer, number>,
    expected: ReadonlyMap<number, ReadonlySet<NodeId>>,
  ): void {
    const { options } = this.#view;
    for (const { key: node, value } of table.getRange({ ...options })) {
      this.#read(`${spec.name}_copy`, node, this.#owner(node), () => {
        for (const { item, start, end } of copiesIn(value)) {
          const body = tables.body.get(item, options as object);
          if (!expected.get(item)?.has(node))
            this.#say(`${spec.name} item ${item} is copied for node ${node}, which does not have it`);
          else if (body?.equals(value.subarray(start, end)) === false)
            this.#say(`${spec.name} item ${item}: its copy for node ${node} differs`);
        }
      });
    }
  }

  /** Bodies against digests, postings against the lists, indexes against the bodies; each table is read once. */
  #bodies<B>(
    { spec, tables }: Dictionary<B>,
    expected: ReadonlyMap<number, ReadonlySet<NodeId>>,
    registries: Registries<B> | null,
  ): void {
    const { options } = this.#view;
    const { name } = spec;
    const isToCome = isToComeAt(this.#view.state, name, this.#partition.tables.state, options);
    const posted = this.#ids(`${name}_post`, tables.post.getRange({ ...options }));
    const indexed = this.#ids(`${name}_index`, tables.index.getRange({ ...options }));
    let isComplete = true;
    let bodies = 0;
    let postings = 0;
    let entries = 0;
    for (const { key: item, value } of tables.body.getRange({ ...options })) {
      bodies++;
      if (isToCome(item)) this.#say(`${name} item ${item} has an id that is still to be given out`);
      const wanted = expected.get(item) ?? new Set();
      const prefixes = this.#read(`${name}_body`, item, this.#oneOf(wanted), () => {
        const body = spec.decode(value);
        const digest = tables.digest.get(digest16(spec.text(body)), options as object);
        if (digest?.readUInt32BE(0) !== item) this.#say(`${name} item ${item}: its digest leads elsewhere`);
        registries?.body(item, body);
        return new Set(spec.indexes(body).map(([tag, texts]) => nameOf(indexPrefix(tag, texts))));
      });
      const found = posted.get(itemKey(item)) ?? new Set();
      if (wanted.size === 0) this.#say(`${name} item ${item} belongs to no node`);
      if (!sameSets(found, wanted)) this.#say(`${name} item ${item}: postings ${[...found]}, lists ${[...wanted]}`);
      postings += wanted.size;
      if (prefixes === undefined) {
        isComplete = false;
        continue;
      }
      entries += prefixes.size;
      for (const prefix of prefixes) {
        if (!indexed.get(prefix)?.has(item))
          this.#say(`${name} item ${item} is not in index ${JSON.stringify(prefix)}`);
      }
    }
    this.#equal(`${name} digests`, count(tables.digest.getKeys({ ...options })), bodies);
    this.#equal(`${name} postings`, total(posted), postings);
    if (isComplete) this.#equal(`${name} index entries`, total(indexed), entries);
  }

  /** Certname of one of them. */
  #oneOf(nodes: ReadonlySet<NodeId>): () => string | null {
    for (const node of nodes) return this.#owner(node);
    return NOBODY;
  }

  /** Keys that end in the number of a chunk: ids by what is before it. */
  #ids(table: string, range: Iterable<{ key: Buffer; value: Buffer }>): Map<string, Set<number>> {
    const out = new Map<string, Set<number>>();
    for (const { key, value } of range) {
      this.#read(table, key.toString('hex'), NOBODY, () => {
        const found: number[] = [];
        chunkIds(value, firstOfChunk(key), found);
        const name = nameOf(key.subarray(0, key.length - 4));
        let set = out.get(name);
        if (set === undefined) out.set(name, (set = new Set()));
        for (const id of found) set.add(id);
      });
    }
    return out;
  }

  #reports(): void {
    const view = this.#view;
    const seen = new SeenReports(view);
    for (const { key: id, value } of this.#partition.tables.report.getRange({ ...view.options })) {
      seen.reports++;
      const bytes = Buffer.from(value);
      const record = this.#read('report', id, this.#ownerOfReport(id), () => decodeReport(bytes));
      const isRead =
        record !== undefined &&
        this.#read(
          'report',
          id,
          () => record.certname,
          () => this.#report(id, record, seen),
        );
      if (isRead !== true) seen.unread.add(id);
    }
    for (const table of OF_REPORTS) this.#walk(table, () => this.#ofReports(table));
    this.#walk('what leads to reports', () => this.#reportTables(seen));
    this.#walk("the nodes' latest reports", () => this.#latestReports(seen));
    if (seen.unread.size > 0) return;
    this.#equal("set 'reports with events': further ones", seen.withEvents.size, 0);
    for (const { clock, ids } of seen.far) this.#equal(`set 'reports far away by ${clock}': further ones`, ids.size, 0);
    this.#walk('the kinds of reports', () => this.#reportKinds(seen));
    this.#walk('the periods of reports', () => this.#reportPeriods(seen));
  }

  /** Rows whose report is not there. */
  #ofReports(table: (typeof OF_REPORTS)[number]): void {
    const { tables } = this.#partition;
    const { options } = this.#view;
    for (const id of tables[table].getKeys({ ...options }))
      if (!present(tables.report, id, options)) this.#say(`${table} ${id} is of no report`);
      else if (table === 'report_event_value' && !present(tables.report_event, id, options))
        this.#say(`${table} ${id} is of no events`);
  }

  #report(id: number, record: ReportRecord, seen: SeenReports): true {
    const view = this.#view;
    const { nodeId, certname, hash, producerTimestamp } = record;
    const node = this.#records.get(nodeId);
    if (node?.certname !== certname && !this.#unread.has(nodeId))
      this.#say(`report ${id} of ${shortened(certname)}: its node is ${node && shortened(node.certname)}`);
    if (view.reportId(hash) !== id) this.#say(`report ${id}: its hash leads to ${view.reportId(hash)}`);
    if (!present(this.#partition.tables.report_node, pairKey(nodeId, id), view.options))
      this.#say(`report ${id} is not among its node's`);
    if (id >= view.state.reportTimes.since) countOne(seen.kinds, kindText(record));
    if (record.type !== 'plan')
      seen.latest.set(nodeId, Math.max(seen.latest.get(nodeId) ?? producerTimestamp, producerTimestamp));
    const columns = fast(this.#partition.tables.report_event, id, view.options);
    const events = columns === undefined ? null : Buffer.from(columns);
    const areRead = this.#eventsOf(id, record, events, seen);
    this.#timesOf(id, record, seen);
    if (id >= view.state.marksSince) this.#markOf(id, record, areRead ? events : null, seen);
    return true;
  }

  /** Whether the columns of the report's events could be read. */
  #eventsOf(id: number, record: ReportRecord, columns: Buffer | null, seen: SeenReports): boolean {
    const { certname, eventCount } = record;
    const whose = () => certname;
    seen.events += eventCount;
    const found = columns === null ? NO_EVENTS : this.#read('report_event', id, whose, () => inspectColumns(columns));
    if (found === undefined) {
      seen.withEvents.delete(id);
      return false;
    }
    const { length, isPlaced } = found;
    seen.events += length - eventCount;
    if (length !== eventCount) this.#say(`report ${id}: ${length} events, header ${eventCount}`);
    if (seen.withEvents.delete(id) !== length > 0) this.#say(`set 'reports with events' is wrong about ${id}`);
    this.#read(isPlaced ? 'report_lists' : 'report_event_value', id, whose, () => this.#view.events(id));
    return true;
  }

  #timesOf(id: number, record: ReportRecord, { far }: SeenReports): void {
    const { reportTimes } = this.#view.state;
    for (const { clock, ids } of far) {
      const times = id < reportTimes.since ? reportTimes : withTimesOf(reportTimes, clock, record);
      if (ids.delete(id) !== (times === null)) this.#say(`set 'reports far away by ${clock}' is wrong about ${id}`);
      if (times !== null && times !== reportTimes) this.#say(`report ${id}: its times lie further away than is known`);
    }
  }

  /** `events`: their columns; null: there are none, or they cannot be read. */
  #markOf(id: number, record: ReportRecord, events: Buffer | null, seen: SeenReports): void {
    const mark = markOfKind(record);
    seen.marked++;
    countOne(seen.periods, `${periodOf(record.producerTimestamp)} ${mark}`);
    for (const problem of this.#view.reportMarks.problems(id, record, mark, events))
      this.#say(`report ${id}: its mark is wrong about its ${problem}`);
  }

  /** What leads to reports, and the counters. */
  #reportTables({ reports, events, marked, unread }: SeenReports): void {
    const { report_time, report_node, report_digest } = this.#partition.tables;
    const view = this.#view;
    let timed = 0;
    for (const key of report_time.getKeys({ ...view.options })) {
      timed++;
      if (unread.has(idOfTimeKey(key))) continue;
      const record = view.report(idOfTimeKey(key));
      if (record?.producerTimestamp !== timeOfKey(key)) this.#say(`report_time of ${idOfTimeKey(key)} is wrong`);
    }
    this.#equal('report_time', timed, reports);
    if (unread.size === 0) {
      this.#equal('marks of reports', view.reportMarks.count(), marked);
      this.#equal('counter of events', view.counts.events, events);
    }
    this.#equal('report_node', count(report_node.getKeys({ ...view.options })), reports);
    this.#equal('report_digest', count(report_digest.getKeys({ ...view.options })), reports);
    this.#equal('counter of reports', view.counts.reports, reports);
  }

  #latestReports({ latest, unread }: SeenReports): void {
    const stored = new Set(this.#view.reportSet(REPORTS_LATEST));
    for (const [id, { certname, latestReport: named }] of this.#records) {
      if (named === null) continue;
      const name = shortened(certname);
      if (!unread.has(named.reportId) && this.#view.report(named.reportId)?.hash !== named.hash)
        this.#say(`${name}: its latest report is not there`);
      if (!stored.delete(named.reportId)) this.#say(`${name}: its latest report is in no set`);
      if (unread.size === 0 && named.producerTimestamp !== latest.get(id))
        this.#say(`${name}: its latest report is not the latest`);
    }
    this.#total("set 'latest reports': further ones", stored.size, 0);
  }

  #reportKinds({ kinds }: SeenReports): void {
    for (const { count: counted, report } of this.#view.kindsOfMarked()) {
      const kind = kindText(decodeReport(report.record.bytes));
      this.#equal(`reports of the kind ${kind}`, counted, kinds.get(kind) ?? 0);
      kinds.delete(kind);
    }
    this.#equal('kinds of reports that are not counted', kinds.size, 0);
  }

  #reportPeriods({ periods }: SeenReports): void {
    for (const { start, counts } of this.#view.reportPeriods(null, null)) {
      for (const [mark, counted] of counts) {
        const period = `${start} ${mark}`;
        this.#equal(`reports of the period and kind ${period}`, counted, periods.get(period) ?? 0);
        periods.delete(period);
      }
    }
    this.#equal('periods and kinds of reports that are not counted', periods.size, 0);
  }

  #set(name: string, which: number, belongs: (record: NodeRecord, id: NodeId) => boolean): void {
    const has = this.#view.set(which);
    for (const [id, record] of this.#records) {
      if (has.has(id) !== belongs(record, id)) this.#say(`set '${name}' is wrong about ${shortened(record.certname)}`);
    }
    this.#total(`set '${name}'`, has.count(), this.#having(belongs));
  }

  #having(condition: (record: NodeRecord, id: NodeId) => boolean): number {
    let having = 0;
    for (const [id, record] of this.#records) if (condition(record, id)) having++;
    return having;
  }

  /** Of what is counted by the nodes' records. */
  #total(what: string, is: number, should: number): void {
    if (this.#unread.size === 0) this.#equal(what, is, should);
  }

  #equal(what: string, is: number, should: number): void {
    if (is !== should) this.#say(`${what}: ${is}, should be ${should}`);
  }
}

/** What the reports themselves say that their indexes, sets and counters should hold. */
class SeenReports {
  reports = 0;
  events = 0;
  marked = 0;
  /** Those whose records cannot be read. */
  readonly unread = new Set<ReportId>();
  /** When each node's latest report was made. */
  readonly latest = new Map<NodeId, number>();
  readonly kinds = new Map<string, number>();
  readonly periods = new Map<string, number>();
  /** Sets as they are stored; each report is taken out when it is seen. */
  readonly withEvents: Set<number>;
  readonly far: readonly { readonly clock: (typeof CLOCKS)[number]; readonly ids: Set<number> }[];

  constructor(view: View) {
    this.withEvents = new Set(view.reportSet(REPORTS_WITH_EVENTS));
    this.far = CLOCKS.map((clock) => ({ clock, ids: new Set(view.reportSet(FAR_SETS[clock])) }));
  }
}

const nameOf = (prefix: Buffer): string => prefix.toString('latin1');

/** What the keys of an item's postings begin with. */
const itemKey = (item: number): string => nameOf(pairKey(item, 0).subarray(0, 4));

function sameSets(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  if (a.size !== b.size) return false;
  for (const one of a) if (!b.has(one)) return false;
  return true;
}

function total(sets: ReadonlyMap<string, ReadonlySet<number>>): number {
  let sum = 0;
  for (const set of sets.values()) sum += set.size;
  return sum;
}

const NOBODY = (): null => null;
const NO_EVENTS = { length: 0, isPlaced: false };

/** Of damaged pages anything may come: what cannot be shown in a line is escaped, and what is too long ends early. */
function printable(text: string, sizeMax: number): string {
  const cut = text.length > sizeMax ? `${text.slice(0, sizeMax)}...` : text;
  return cut.replace(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd]/gu;

const shortened = (certname: string): string => printable(certname, CERTNAME_SIZE_MAX);

/** Not for tables with values one wants: only keys are walked. */
function count(keys: Iterable<unknown>): number {
  let n = 0;
  for (const _ of keys) n++;
  return n;
}

function countOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
