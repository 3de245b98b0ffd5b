// The body of an answer while it is being produced: rows are framed, indented on demand and kept as one text until the
// chunk is taken. Text becomes bytes once per chunk.

import { prettyText } from '../../json/pretty.ts';
import type { RowSink } from '../sink.ts';

/** How rows become elements of the list. */
export type RowShape = 'objects' | 'names';

/** A list answer. `full` asks the executor to pause; what it gives nevertheless is kept. */
export class ListBody implements RowSink {
  readonly #pretty: boolean;
  readonly #shape: RowShape;
  #text = '';
  #rows = 0;
  /** UTF-16 units after which the executor pauses. */
  unitsMax: number;

  constructor(options: { readonly pretty: boolean; readonly shape: RowShape; readonly unitsMax: number }) {
    this.#pretty = options.pretty;
    this.#shape = options.shape;
    this.unitsMax = options.unitsMax;
  }

  get full(): boolean {
    return this.#text.length >= this.unitsMax;
  }

  row(json: string): void {
    const text = this.#shape === 'names' ? nameOf(json) : json;
    if (this.#pretty) this.#text += (this.#rows === 0 ? '[ ' : ', ') + prettyText(text);
    else this.#text += (this.#rows === 0 ? '[' : ',') + text;
    this.#rows++;
  }

  /** After the last row. */
  end(): void {
    if (this.#rows === 0) this.#text += this.#pretty ? '[ ]' : '[]';
    else this.#text += this.#pretty ? ' ]' : ']';
  }

  /** What has been collected since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

/** The value of `name`; rows of another projection have none. */
function nameOf(row: string): string {
  if (row.startsWith('{"name":"') && row.indexOf('"', 9) === row.length - 2) return row.slice(8, -1);
  const { name } = JSON.parse(row) as { name?: string | null };
  return JSON.stringify(name ?? null);
}

/** Rows kept apart, for answers that are made of few. */
export class RowList implements RowSink {
  readonly rows: string[] = [];
  readonly full = false;
  row(json: string): void {
    this.rows.push(json);
  }
}
