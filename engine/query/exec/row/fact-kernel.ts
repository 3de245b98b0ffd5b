// The WebAssembly that puts the facts of nodes together (engine/wasm/facts) and its memory.
//
//   memory   what stands around a fact | what is known of each item | kept texts | a node's list and copies | a body | text on its way out
//
// A thread has a few instances. What one knows of a partition's items serves the next queries, too: an item's body never changes. When another
// partition needs an instance, it is taken from whoever leased it first, who goes on without one.

import { type ByteWriter, Memory, type Piece } from '../../../bytes.ts';
import type { Ids } from '../../../store/items/ids.ts';
import { COPY_MAX, type Copies } from '../../../store/records/copies.ts';
import type { ItemId } from '../../../store/records/records.ts';
import { FACTS } from '../../../wasm/facts.bytes.ts';
import { instanceOf, memoryOf, type WasmExports, whereThereIsRoom } from '../../../wasm/instance.ts';

/** The first bytes of the memory are its own. */
const FORM_START = 256;
const FORM_SIZE = 64;
const TABLE_START = FORM_START + 2 * FORM_SIZE;
const TEXTS_SIZE = 2 << 20;
const NODE_SIZE = 256 << 10;
const BODY_SIZE = 64 << 10;
const OUT_SIZE = 64 << 10;
/** More than is touched behind a text. */
const SLACK = 64;
/** With more items their table would be too large. Long before ids are given out anew. */
const ITEMS_MAX = 1 << 20;
/** A table has room for this many times the items there are, and some. */
const GROWTH = 1.25;
const GROWTH_MIN = 1000;
/** With fewer bytes left for texts all are forgotten before the next query: many may be of items that are gone. */
const TEXTS_LEFT_MIN = TEXTS_SIZE / 4;
/** How many a thread has at most. */
export const KERNELS_MAX = 8;
/** As in engine/wasm/facts: how it ends. */
const DONE = 0;
const FULL = 1;
const UNKNOWN = 2;

/** What stands around each fact: behind a comma, `before` its name and `after` its value. A row has `,"value":` between them, else a colon. */
export interface FactForm {
  readonly before: Piece;
  readonly after: Piece;
  readonly isRow: boolean;
}

interface Exports extends WasmExports {
  begin(table: number, items: number, texts: number, textsLimit: number, out: number, outLimit: number): void;
  setForm(before: number, beforeSize: number, after: number, afterSize: number, isRow: boolean): void;
  setNode(list: number, listEnd: number, copies: number, copiesEnd: number): void;
  write(): number;
  item(): ItemId;
  put(body: number, size: number, sharedMax: number): number;
  take(): number;
  nextText(): number;
}

/** Those of this thread: the one that was leased last comes last. */
const kernels: FactKernel[] = [];

/** The right to use a kernel, until somebody else gets it. */
export interface FactLease {
  /**
   * Appends the facts of a node. False: nothing is appended, because the kernel was lost, or for a node that is too large for it or damaged.
   * `bodyOf`: an item's body, as `raw` of store/file/lmdb.ts gives it.
   */
  write(list: Ids, copies: Copies, bodyOf: (item: ItemId) => Buffer, out: ByteWriter): boolean;
}

/** A kernel for the facts of one partition: `of` stands for its items, whose ids are below `items`. Null where they are too many, or there is no memory. */
export function leaseKernel(of: object, items: ItemId, form: FactForm): FactLease | null {
  if (items > ITEMS_MAX) return null;
  const kernel = kernelFor(of, items, form);
  if (kernel === null) return null;
  kernels.push(kernel);
  const { beginning } = kernel;
  return {
    write: (list, copies, bodyOf, out) => kernel.beginning === beginning && kernel.write(list, copies, bodyOf, out),
  };
}

/** One that knows items already, a new one, or the one that was leased before all others. */
function kernelFor(of: object, items: ItemId, form: FactForm): FactKernel | null {
  const place = kernels.findIndex((kernel) => kernel.serves(of, items, form));
  if (place >= 0) return kernels.splice(place, 1)[0]!;
  const kernel = kernels.length < KERNELS_MAX ? whereThereIsRoom(() => new FactKernel()) : kernels.shift()!;
  return kernel === null ? null : whereThereIsRoom(() => kernel.begin(of, items, form));
}

class FactKernel {
  readonly #exports = instanceOf<Exports>(FACTS, {});
  #bytes = memoryOf(this.#exports, TABLE_START);
  #words: Uint32Array = new Uint32Array(0);
  /** Where the regions begin. */
  #node = 0;
  #body = 0;
  #out = 0;
  #of: object | null = null;
  #items = 0;
  #form: FactForm | null = null;
  readonly #copiesSource = new Memory();
  readonly #bodySource = new Memory();
  readonly #outSource = new Memory();
  /** How often it has forgotten all. */
  beginning = 0;

  serves(of: object, items: ItemId, form: FactForm): boolean {
    if (of !== this.#of || form !== this.#form || items > this.#items) return false;
    return this.#node - this.#exports.nextText() >= TEXTS_LEFT_MIN;
  }

  /** Forgets all, for other facts. */
  begin(of: object, items: ItemId, form: FactForm): this {
    this.beginning++;
    this.#of = null;
    const room = Math.min(ITEMS_MAX, Math.ceil(items * GROWTH) + GROWTH_MIN);
    const texts = TABLE_START + room * 4 + SLACK;
    this.#node = texts + TEXTS_SIZE;
    this.#body = this.#node + NODE_SIZE + SLACK;
    this.#out = this.#body + BODY_SIZE + SLACK;
    const end = this.#out + OUT_SIZE;
    if (end + SLACK > this.#bytes.length) this.#bytes = memoryOf(this.#exports, end + SLACK);
    this.#words = new Uint32Array(this.#bytes.buffer);
    this.#bytes.fill(0, TABLE_START, texts);
    const { before, after, isRow } = form;
    this.#bytes.set(before.bytes, FORM_START);
    this.#bytes.set(after.bytes, FORM_START + FORM_SIZE);
    this.#exports.begin(TABLE_START, room, texts, this.#node, this.#out, end);
    this.#exports.setForm(FORM_START, before.size, FORM_START + FORM_SIZE, after.size, isRow);
    this.#of = of;
    this.#items = room;
    this.#form = form;
    return this;
  }

  write(list: Ids, copies: Copies, bodyOf: (item: ItemId) => Buffer, out: ByteWriter): boolean {
    const exports = this.#exports;
    const { length: count, values } = list;
    const { size, bytes } = copies;
    if (count * 4 + size > NODE_SIZE) return false;
    const words = this.#words;
    const first = this.#node >>> 2;
    for (let i = 0; i < count; i++) words[first + i] = values[i]!;
    const copiesStart = this.#node + count * 4;
    if (size > 0) this.#bytes.set(this.#copiesSource.of(bytes, 0, size), copiesStart);
    exports.setNode(this.#node, copiesStart, copiesStart, copiesStart + size);
    const sharedMax = size > 0 ? COPY_MAX : 0;
    const start = out.length;
    let state = exports.write();
    while (state !== DONE) {
      if (state === UNKNOWN) state = this.#put(bodyOf(exports.item()), sharedMax);
      if (state === FULL) state = this.#flush(out) === 0 ? -1 : DONE;
      if (state !== DONE) {
        out.length = start;
        return false;
      }
      state = exports.write();
    }
    this.#flush(out);
    return true;
  }

  #put(body: Buffer, sharedMax: number): number {
    const size = body.length;
    if (size > BODY_SIZE) return -1;
    this.#bytes.set(this.#bodySource.of(body, 0, size), this.#body);
    return this.#exports.put(this.#body, size, sharedMax);
  }

  /** Bytes that were appended. */
  #flush(out: ByteWriter): number {
    const size = this.#exports.take();
    out.room(size).set(this.#outSource.of(this.#bytes, this.#out, size), out.length);
    out.length += size;
    return size;
  }
}
