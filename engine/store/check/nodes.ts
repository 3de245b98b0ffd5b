// The records of nodes, and what stands or falls with them: certnames, sets of nodes, inputs, what is remembered of payloads.

import { idIn, textOfKey } from '../file/keys.ts';
import { decodeNode } from '../records/node-record.ts';
import type { NodeId, NodeRecord } from '../records/records.ts';
import { MEMO_TABLES, NODES_ALL, NODES_WITH_PACKAGES, SETS_OF_RECORDS } from '../records/tables.ts';
import type { View } from '../view.ts';
import { count, type Findings, shown } from './findings.ts';

/** What a memo looks like (ingest/known/spans.ts): older ones have no fingerprints of single parts. */
const MEMO = /^[0-9a-f]{40} [0-9a-f]{40}( [a-z_]+ \d+(:[0-9a-f]{32})?)+$/;

export class CheckedNodes {
  readonly #view: View;
  readonly #findings: Findings;
  /** Those that can be read. */
  readonly records = new Map<NodeId, NodeRecord>();
  /** Nodes whose records cannot be read. */
  readonly unread = new Set<NodeId>();

  constructor(view: View, findings: Findings) {
    this.#view = view;
    this.#findings = findings;
  }

  /** `owns`: whether a node of that certname belongs to the partition. */
  check(owns: (certname: string) => boolean): void {
    this.#findings.walk('the nodes', () => this.#nodes(owns));
    this.#findings.walk('the inputs', () => this.#inputs());
    this.#findings.walk('what is remembered of payloads', () => this.#memos());
  }

  /** Certname of the node: by its record, or else by what leads there. */
  owner(id: NodeId): () => string | null {
    return () => {
      const record = this.records.get(id);
      if (record !== undefined) return record.certname;
      for (const { key, value } of this.#view.partition.tables.node_id.getRange({ ...this.#view.options }))
        if (value.length === 4 && idIn(value) === id) return textOfKey(key);
      return null;
    };
  }

  /** Of what is counted by the nodes' records. */
  total(what: string, is: number, should: number): void {
    if (this.unread.size === 0) this.#findings.equal(what, is, should);
  }

  #nodes(owns: (certname: string) => boolean): void {
    const { tables } = this.#view.partition;
    const view = this.#view;
    for (const { key: id, value } of tables.node.getRange({ ...view.options })) {
      const isRead = this.#findings.read('node', id, this.owner(id), () => this.#node(id, decodeNode(value), owns));
      if (isRead === undefined) this.unread.add(id);
    }
    const nodes = this.records.size + this.unread.size;
    this.#findings.equal('certnames', count(tables.node_id.getKeys({ ...view.options })), nodes);
    this.#set('all', NODES_ALL, () => true);
    for (const { set, title, has } of SETS_OF_RECORDS) this.#set(title, set, has);
    this.#set('with packages', NODES_WITH_PACKAGES, (_, id) => view.packages.list(id).length > 0);
    this.#findings.equal('counter of nodes', view.counts.nodes, nodes);
    this.total(
      'counter of catalogs',
      view.counts.catalogs,
      this.#having((record) => record.catalog !== null),
    );
    this.total(
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
    this.records.set(id, record);
    const name = shown(certname);
    if (leadsTo !== id) this.#findings.say(`node ${id} ${name}: the certname leads to ${leadsTo}`);
    if (!owns(certname)) this.#findings.say(`node ${name} belongs to another partition`);
    if (id > view.maxNodeId) this.#findings.say(`node ${id} is beyond the largest id ${view.maxNodeId}`);
    return true;
  }

  #inputs(): void {
    const had = new Set<NodeId>();
    for (const { key: id, value } of this.#view.partition.tables.inputs.getRange({ ...this.#view.options })) {
      had.add(id);
      const record = this.records.get(id);
      if (record === undefined) {
        if (!this.unread.has(id)) this.#findings.say(`inputs of node ${id}, which is not there`);
      } else if (record.inputs === null) this.#findings.say(`inputs of ${shown(record.certname)}, which has none`);
      this.#findings.read('inputs', id, this.owner(id), () => JSON.parse(value.toString('utf8')) as unknown);
    }
    for (const [id, { certname, inputs }] of this.records)
      if (inputs !== null && !had.has(id)) this.#findings.say(`${shown(certname)}: its inputs are not there`);
  }

  #memos(): void {
    for (const name of ['catalog', 'factset'] as const) {
      const table = this.#view.partition.tables[MEMO_TABLES[name]];
      for (const { key: id, value } of table.getRange({ ...this.#view.options })) {
        const record = this.records.get(id);
        const isMissing = record === undefined ? !this.unread.has(id) : record[name] === null;
        if (isMissing) this.#findings.say(`${name} memo of node ${id}, which has none`);
        if (!MEMO.test(value.toString('latin1'))) this.#findings.say(`${name} memo of node ${id} cannot be read`);
      }
    }
  }

  #set(name: string, which: number, belongs: (record: NodeRecord, id: NodeId) => boolean): void {
    const has = this.#view.set(which);
    for (const [id, record] of this.records) {
      if (has.has(id) !== belongs(record, id))
        this.#findings.say(`set '${name}' is wrong about ${shown(record.certname)}`);
    }
    this.total(`set '${name}'`, has.count(), this.#having(belongs));
  }

  #having(condition: (record: NodeRecord, id: NodeId) => boolean): number {
    let having = 0;
    for (const [id, record] of this.records) if (condition(record, id)) having++;
    return having;
  }
}
