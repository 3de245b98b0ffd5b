// The leaves of a fact as sub-rows: a path and the place of the value in the fact's stored text, which is made a value of where
// a filter asks for it.

import { type ByteWriter, bytesOf } from '../../bytes.ts';
import { parseAt } from '../../json/scan.ts';
import type { JsonScalar } from '../../json/value.ts';
import type { Path } from '../paths.ts';

/** A path with its JSON text. Facts are much alike: many leaves share one. */
export class LeafPath {
  readonly elements: Path;
  readonly text: Uint8Array;

  constructor(elements: Path) {
    this.elements = elements;
    this.text = bytesOf(JSON.stringify(elements));
  }
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

  get value(): JsonScalar {
    return parseAt(this.#bytes, this.#start, this.#end) as JsonScalar;
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
      known = new LeafPath([...path]);
      if (place < PLACES_MAX) this.#known[place] = known;
    }
    return known;
  }
}
const PLACES_MAX = 1000;

function isSame(a: Path, b: Path): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}
