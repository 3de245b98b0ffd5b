// What nodes have in common, stored once (items/dictionary.ts): lists, bodies, digests, postings, indexes and copies against each other.

import type { Database } from 'lmdb';
import { digest16, indexPrefix, pairKey } from '../file/keys.ts';
import { isToComeAt } from '../item-ids.ts';
import { chunkIds, firstOfChunk } from '../items/chunk.ts';
import type { Dictionary } from '../items/dictionary.ts';
import type { DictionaryView } from '../items/dictionary-view.ts';
import { DIGEST_SIZE, KNOWN_SIZE } from '../items/known-items.ts';
import { copiesIn } from '../records/copies.ts';
import type { ItemId, NodeId } from '../records/records.ts';
import type { View } from '../view.ts';
import { FactRegistries } from './fact-registries.ts';
import { count, type Findings, NOBODY, shown } from './findings.ts';
import type { CheckedNodes } from './nodes.ts';

/** What the bodies of a dictionary, and the number that a list has before each, are held against. */
interface Registries<B> {
  listed(node: NodeId, item: ItemId, before: number): void;
  body(item: ItemId, body: B): void;
}

export class ItemsCheck {
  readonly #view: View;
  readonly #nodes: CheckedNodes;
  readonly #findings: Findings;

  constructor(view: View, nodes: CheckedNodes, findings: Findings) {
    this.#view = view;
    this.#nodes = nodes;
    this.#findings = findings;
  }

  check(): void {
    const { resources, facts, edges, packages } = this.#view.partition;
    const view = this.#view;
    const { counts } = view;
    this.#findings.walk('the resources', () => {
      this.#nodes.total(
        'counter of resources',
        counts.resources,
        this.#dictionary(resources, view.resources, 'catalog'),
      );
      this.#knownResources();
    });
    const registries = new FactRegistries(view, this.#findings.say);
    this.#findings.walk('the names and paths of facts', () => registries.load());
    this.#findings.walk('the facts', () =>
      this.#nodes.total('counter of facts', counts.facts, this.#dictionary(facts, view.facts, 'factset', registries)),
    );
    this.#findings.walk('the edges', () => void this.#dictionary(edges, view.edges, 'catalog'));
    this.#findings.walk('the packages', () =>
      this.#nodes.total('counter of packages', counts.packages, this.#dictionary(packages, view.packages, null)),
    );
  }

  /** By what resources are known: items of the node's list, in the order in which they are looked for. */
  #knownResources(): void {
    const view = this.#view;
    for (const { key: node, value } of this.#view.partition.tables.resource_known.getRange({ ...view.options })) {
      const list = new Set(view.resources.list(node));
      if (value.length % KNOWN_SIZE !== 0)
        this.#findings.say(`what is known of the resources of node ${node} cannot be read`);
      for (let at = 0; at + KNOWN_SIZE <= value.length; at += KNOWN_SIZE) {
        const item = value.readUInt32LE(at + DIGEST_SIZE);
        if (!list.has(item))
          this.#findings.say(`resource item ${item} is known for node ${node}, which does not have it`);
        const isInOrder =
          at === 0 || value.compare(value, at - KNOWN_SIZE, at - KNOWN_SIZE + DIGEST_SIZE, at, at + DIGEST_SIZE) > 0;
        if (!isInOrder) this.#findings.say(`what is known of the resources of node ${node} is not in order`);
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
      const record = this.#nodes.records.get(node);
      if (record !== undefined) {
        if (owner !== null && record[owner] === null)
          this.#findings.say(`${name} list of ${shown(record.certname)} without ${owner}`);
      } else if (!this.#nodes.unread.has(node)) this.#findings.say(`${name} list of node ${node}, which is not there`);
      const list = view.list(node);
      entries += list.length / stride;
      for (let i = stride - 1; i < list.length; i += stride) {
        const item = list[i]!;
        registries?.listed(node, item, list[i - 1]!);
        const nodes = expected.get(item);
        if (nodes === undefined) expected.set(item, new Set([node]));
        else nodes.add(node);
        if (!view.hasBody(item)) this.#findings.say(`${name} item ${item} of node ${node} has no body`);
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
      this.#findings.read(`${spec.name}_copy`, node, this.#nodes.owner(node), () => {
        for (const { item, start, end } of copiesIn(value)) {
          const body = tables.body.get(item, options as object);
          if (!expected.get(item)?.has(node))
            this.#findings.say(`${spec.name} item ${item} is copied for node ${node}, which does not have it`);
          else if (body?.equals(value.subarray(start, end)) === false)
            this.#findings.say(`${spec.name} item ${item}: its copy for node ${node} differs`);
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
    const isToCome = isToComeAt(this.#view.state, name, this.#view.partition.tables.state, options);
    const posted = this.#ids(`${name}_post`, tables.post.getRange({ ...options }));
    const indexed = this.#ids(`${name}_index`, tables.index.getRange({ ...options }));
    let isComplete = true;
    let bodies = 0;
    let postings = 0;
    let entries = 0;
    for (const { key: item, value } of tables.body.getRange({ ...options })) {
      bodies++;
      if (isToCome(item)) this.#findings.say(`${name} item ${item} has an id that is still to be given out`);
      const wanted = expected.get(item) ?? new Set();
      const prefixes = this.#findings.read(`${name}_body`, item, this.#oneOf(wanted), () => {
        const body = spec.decode(value);
        const digest = tables.digest.get(digest16(spec.text(body)), options as object);
        if (digest?.readUInt32BE(0) !== item) this.#findings.say(`${name} item ${item}: its digest leads elsewhere`);
        registries?.body(item, body);
        return new Set(spec.indexes(body).map(([tag, texts]) => nameOf(indexPrefix(tag, texts))));
      });
      const found = posted.get(itemKey(item)) ?? new Set();
      if (wanted.size === 0) this.#findings.say(`${name} item ${item} belongs to no node`);
      if (!sameSets(found, wanted))
        this.#findings.say(`${name} item ${item}: postings ${[...found]}, lists ${[...wanted]}`);
      postings += wanted.size;
      if (prefixes === undefined) {
        isComplete = false;
        continue;
      }
      entries += prefixes.size;
      for (const prefix of prefixes) {
        if (!indexed.get(prefix)?.has(item))
          this.#findings.say(`${name} item ${item} is not in index ${JSON.stringify(prefix)}`);
      }
    }
    this.#findings.equal(`${name} digests`, count(tables.digest.getKeys({ ...options })), bodies);
    this.#findings.equal(`${name} postings`, total(posted), postings);
    if (isComplete) this.#findings.equal(`${name} index entries`, total(indexed), entries);
  }

  /** Certname of one of them. */
  #oneOf(nodes: ReadonlySet<NodeId>): () => string | null {
    for (const node of nodes) return this.#nodes.owner(node);
    return NOBODY;
  }

  /** Keys that end in the number of a chunk: ids by what is before it. */
  #ids(table: string, range: Iterable<{ key: Buffer; value: Buffer }>): Map<string, Set<number>> {
    const out = new Map<string, Set<number>>();
    for (const { key, value } of range) {
      this.#findings.read(table, key.toString('hex'), NOBODY, () => {
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
