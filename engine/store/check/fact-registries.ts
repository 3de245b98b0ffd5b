// What a check holds the facts of a partition against: the ids of their names and the registry of their paths (fact-paths.ts). Names and paths
// that no fact has any more may be there until they are collected (retention/unused.ts); those that facts have must be.

import type { Database } from 'lmdb';
import { parseJson } from '../../json/parse.ts';
import { digest16, shortKey } from '../file/keys.ts';
import { factPaths, isNested, pathText } from '../records/fact-paths.ts';
import type { FactBody, ItemId, NodeId } from '../records/records.ts';
import type { View } from '../view.ts';

type Rows = Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
type Say = (problem: string) => void;

export class FactRegistries {
  readonly #view: View;
  readonly #say: Say;
  readonly #paths = new Set<string>();
  /** By item, the name id that the first node has beside it. */
  readonly #names = new Map<ItemId, number>();

  constructor(view: View, say: Say) {
    this.#view = view;
    this.#say = say;
  }

  /** Reads both registries. */
  load(): void {
    const { fact_name, fact_path } = this.#view.partition.tables;
    this.#loadNames(this.#rows(fact_name));
    for (const { key, value } of this.#rows(fact_path)) {
      const text = value.toString('utf8');
      if (digest16(text).equals(key)) this.#paths.add(shortKey(pathText(text)));
      else this.#say(`fact_path ${key.toString('hex')}: its key is not the digest of its path`);
    }
  }

  #rows(table: Database<Buffer, Buffer>): Rows {
    return table.getRange({ ...this.#view.options });
  }

  #loadNames(rows: Rows): void {
    const { nextName } = this.#view.state;
    const given = new Set<number>();
    for (const { key, value } of rows) {
      const id = value.length === 4 ? value.readUInt32BE(0) : 0;
      const name = JSON.stringify(key.toString('utf8'));
      if (id === 0 || id >= nextName) this.#say(`fact_name ${name}: its id ${id} was never given out`);
      else if (given.has(id)) this.#say(`fact_name ${name}: its id ${id} is that of another name`);
      given.add(id);
    }
  }

  /** A node has the item, and that name id beside it. */
  listed(node: NodeId, item: ItemId, nameId: number): void {
    const first = this.#names.get(item);
    if (first === undefined) this.#names.set(item, nameId);
    else if (first !== nameId) this.#say(`fact item ${item} of node ${node}: name id ${nameId}, for others ${first}`);
  }

  /** Once all lists have been gone through. */
  body(item: ItemId, { name, value }: FactBody): void {
    const shown = JSON.stringify(name);
    const is = this.#view.nameId(name);
    const listed = this.#names.get(item) ?? is;
    if (is === 0) this.#say(`fact item ${item}: its name ${shown} has no id`);
    else if (is !== listed) this.#say(`fact item ${item}: name id ${listed}, that of ${shown} is ${is}`);
    let missing: string | null = null;
    factPaths(name, isNested(value) ? parseJson(value) : '', (_, path) => {
      const text = JSON.stringify(path);
      if (!this.#paths.has(shortKey(text))) missing ??= text;
    });
    if (missing !== null) this.#say(`fact item ${item}: its path ${missing} is not registered`);
  }
}
