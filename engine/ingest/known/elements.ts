// Elements of large lists by their text. Catalogs of a role, and runs of a node, repeat most of their resources, facts and
// packages to the byte; an element seen before needs no parse, no canonical text and no check.
//
// Where an element ends is found by a scan for brackets and quotes, which does not judge: what it cuts wrongly (the text is no
// JSON) fails to parse as an element, or was never remembered, and the caller falls back to parsing the whole. The scan, and the texts
// that are remembered, are in WebAssembly (element-kernel.ts).

import { JSON_LIMITS, JsonError, type JsonLimits, parseJsonDocument } from '../../json/parse.ts';
import type { JsonValue } from '../../json/value.ts';
import { whereThereIsRoom } from '../../wasm/instance.ts';
import { ElementKernel } from './element-kernel.ts';
import { Sighted } from './sighted.ts';

/** What an element's text says. */
export interface ReadElement<T> {
  readonly value: T;
  /** What remembering the value takes beside the text, in bytes; 0: it is not to be remembered. */
  readonly bytes: number;
}

/** Reads the kernel's present element. `isKept`: the value may be remembered. Null: it is no element. */
type ElementReader<T> = (kernel: ElementKernel, isKept: boolean) => ReadElement<T> | null;

/** What is known of the kernel's present element elsewhere; null: nothing. */
type Recall<T> = ((kernel: ElementKernel) => T | null) | null;

/**
 * Values of elements by their text. When what they take exceeds a number of bytes, the half that was used least recently is dropped.
 *
 * An element is remembered when it comes for the second time: a part of every list belongs to one node only, and would take the place of what
 * nodes have in common.
 */
export class ElementMemo<T> {
  readonly #bytesMax: number;
  readonly #sighted: Sighted;
  /** Null: there is no WebAssembly, or no memory for it; undefined: not asked for yet. */
  #kernel: ElementKernel | null | undefined;
  /** By their numbers. */
  #young: T[] = [];
  #old: T[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#sighted = new Sighted(bytesMax / SIGHTED_PER_BYTES);
  }

  /**
   * The values of the elements of a JSON list or map (UTF-8, with its brackets). In their texts OWN_NAME stands for the certname. `recall` is
   * asked for elements that are not remembered; what it knows (null: nothing) is not remembered here. Then `read` is asked, and told whether
   * the value may be remembered. Null when the bytes do not have that form, when `read` gives null, where nothing can be remembered, and when
   * the certname is too long.
   */
  values(
    list: Uint8Array,
    read: ElementReader<T>,
    certname: string | null = null,
    recall: Recall<T> = null,
  ): T[] | null {
    const last = list.length - 1;
    const open = list[0] as number;
    if (last < 1 || list[last] !== open + 2) return null;
    if (this.#kernel === undefined)
      this.#kernel = whereThereIsRoom(() => new ElementKernel(this.#bytesMax * SHARE_OF_TEXTS));
    const kernel = this.#kernel;
    if (kernel === null) return null;
    const values: T[] = [];
    const first = behindBlanks(list, 1, last);
    if (first === last) return values;
    if (kernel.cost > this.#bytesMax / 2) this.#age(kernel);
    if (!kernel.begin(certname)) return null;
    for (let at = first; at <= last; at += kernel.place) {
      const count = kernel.walk(list, at, last);
      this.#move(kernel);
      if (count <= 0 || !this.#take(kernel, count, values, read, recall)) return null;
    }
    return values;
  }

  #age(kernel: ElementKernel): void {
    kernel.age();
    this.#old = this.#young;
    this.#young = [];
  }

  /** Values of elements that are young again. */
  #move(kernel: ElementKernel): void {
    const count = kernel.lookedFor;
    for (let index = 0; index < count; index++) {
      kernel.select(index);
      const { before, number } = kernel;
      if (before >= 0 && number >= 0) this.#young[number] = this.#old[before] as T;
    }
  }

  /** Appends the values of the elements that were found; false: one is none. */
  #take(kernel: ElementKernel, count: number, values: T[], read: ElementReader<T>, recall: Recall<T>): boolean {
    let isAdded = false;
    for (let index = 0; index < count; index++) {
      kernel.select(index);
      let { number } = kernel;
      const { before } = kernel;
      if (number < 0 && before < 0 && isAdded) number = kernel.numberNow();
      if (number >= 0) {
        values.push(this.#young[number] as T);
        continue;
      }
      if (before >= 0) {
        values.push(this.#old[before] as T);
        continue;
      }
      const recalled = recall === null ? null : recall(kernel);
      if (recalled !== null) {
        values.push(recalled);
        continue;
      }
      const isKept = this.#sighted.againOf(kernel.hash);
      const made = read(kernel, isKept);
      if (made === null) return false;
      values.push(made.value);
      if (!isKept || made.bytes === 0) continue;
      const added = kernel.add(Math.ceil(made.bytes) + kernel.size + ENTRY_BYTES);
      if (added < 0) continue;
      this.#young[added] = made.value;
      isAdded = true;
    }
    return true;
  }
}

/** What an entry costs beside its text and value. */
const ENTRY_BYTES = 112;
/** So that about as many texts are sighted as there can be entries. */
const SIGHTED_PER_BYTES = 1024;
/** Of the memory for elements. */
const SHARE_OF_TEXTS = 0.5;

/**
 * A text that was put together, as one piece: V8 keeps it as a tree of its parts, several times as large, until somebody reads it as
 * a whole. For what is remembered.
 */
export function inOnePiece(text: string): string {
  START.test(text);
  return text;
}
const START = /^/;

/** Where in a list or map something stands, between `from` and `last`. */
export function behindBlanks(bytes: Uint8Array, from: number, last: number): number {
  let at = from;
  while (at < last && BLANKS.includes(bytes[at] as number)) at++;
  return at;
}
/** Between the tokens of JSON; other control characters make it none. */
const BLANKS: readonly number[] = [0x20, 0x0a, 0x0d, 0x09];

/** Stands for the node's own certname as a whole string in texts that are compared between nodes. */
export const OWN_NAME = '"\u0001"';

export function withOwnName(text: string, certname: string): string {
  const literal = JSON.stringify(certname);
  // As a text its dollar signs would be patterns.
  return text.replaceAll(OWN_NAME, () => literal);
}

/** Depth is bounded by those who walk the values, from the payload on. */
const ELEMENT_LIMITS: JsonLimits = { ...JSON_LIMITS, depth: Number.POSITIVE_INFINITY };

/** The value of one element's text; undefined when it is no JSON. */
export function parseElement(text: string): JsonValue | undefined {
  try {
    return parseJsonDocument(text, ELEMENT_LIMITS);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
