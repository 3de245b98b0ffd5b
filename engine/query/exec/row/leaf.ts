// The leaves of a fact as sub-rows: a path and the place of the value in the fact's stored text, which is made a value of where
// a filter asks for it.

import { type ByteWriter, bytesOf } from '../../../bytes.ts';
import { type Compared, compareStoredValue } from '../../../json/compare-stored.ts';
import { parseAt } from '../../../json/scan.ts';
import type { JsonScalar } from '../../../json/value.ts';
import type { Path } from '../../paths.ts';

/** A path with its JSON text, which is made where it is shown. Facts are much alike: many leaves share one. */
class LeafPath {
  readonly elements: Path;
  readonly #isShared: boolean;
  #text: Uint8Array | null = null;

  /** `isShared`: the text will be asked for again. */
  constructor(elements: Path, isShared: boolean) {
    this.elements = elements;
    this.#isShared = isShared;
  }

  get text(): Uint8Array {
    if (this.#text !== null) return this.#text;
    const text = bytesOf(JSON.stringify(this.elements));
    if (this.#isShared) this.#text = text;
    return text;
  }
}

/** Where a leaf is in its fact, for as long as the snapshot: start and end in bytes, counted from the start of the fact's value. */
export interface LeafPlace {
  readonly path: LeafPath;
  readonly start: number;
  readonly end: number;
}

export class Leaf {
  readonly path: LeafPath;
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;

  /** `bytes` must not change as long as the leaf is looked at. */
  constructor(path: LeafPath, bytes: Buffer, start: number, end: number) {
    this.path = path;
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  /** `valueStart`: where the fact's value begins in the leaf's bytes. */
  placeFrom(valueStart: number): LeafPlace {
    return { path: this.path, start: this.#start - valueStart, end: this.#end - valueStart };
  }

  get value(): JsonScalar {
    return parseAt(this.#bytes, this.#start, this.#end) as JsonScalar;
  }

  /** How the value compares with that one, as far as its JSON text tells. */
  compare(wanted: Compared): number {
    return compareStoredValue(this.#bytes, this.#start, this.#end, wanted);
  }

  /** Appends the value's JSON text. */
  write(out: ByteWriter): void {
    out.part(this.#bytes, this.#start, this.#end);
  }
}

/** Paths by the place of the leaf in its fact, as they were the last time. */
export class LeafPaths {
  readonly #known: LeafPath[] = [];

  /** `path` may change afterwards. */
  of(place: number, path: Path): LeafPath {
    let known = this.#known[place];
    if (known === undefined || !isSame(known.elements, path)) {
      const isShared = place < PLACES_MAX;
      known = new LeafPath([...path], isShared);
      if (isShared) this.#known[place] = known;
    }
    return known;
  }
}
const PLACES_MAX = 8192;

function isSame(a: Path, b: Path): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}
