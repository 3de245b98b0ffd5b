// The body of an answer while it is being produced: rows are framed, indented on demand and collected as bytes until the
// chunk is taken.

import type { ByteWriter } from '../../bytes.ts';
import { CLOSE_LIST, COMMA, OPEN_LIST } from '../../json/ascii.ts';
import { PrettyText } from '../../json/pretty.ts';
import type { RowSink } from '../sink.ts';

/** How rows become elements of the list. */
export type RowShape = 'objects' | 'names';

/** Bytes up to which a body is a text, which goes from thread to thread with its head. */
const TEXT_MAX = 4096;

/** All that was written, for the last time. */
export const wholeBody = (out: ByteWriter): string | Uint8Array =>
  out.length <= TEXT_MAX ? out.toString() : out.take();

export interface ListOptions {
  readonly pretty: boolean;
  readonly shape: RowShape;
}

/** A body that goes out while it is written. */
export interface StreamedBody {
  /** Bytes after which it is full: a chunk is to be taken. */
  sizeMax: number;
  readonly full: boolean;
  /** What has been collected since the last call. It lasts until more is written. */
  take(): Uint8Array;
  /** The same, for the last time, as the body of a whole answer. */
  finish(): string | Uint8Array;
}

/** A list answer. `full` asks the executor to pause; what it gives nevertheless is kept. */
export class ListBody implements RowSink, StreamedBody {
  readonly #pretty: boolean;
  readonly #shape: RowShape;
  readonly #out: ByteWriter;
  #isEmpty = true;
  /** Rows that are not yet indented; of the first one a part may be. */
  readonly #behind: PrettyText[] = [];
  #begun: PrettyText | null = null;
  sizeMax: number;

  constructor(options: ListOptions, sizeMax: number, out: ByteWriter) {
    this.#pretty = options.pretty;
    this.#shape = options.shape;
    this.sizeMax = sizeMax;
    this.#out = out;
  }

  get full(): boolean {
    return this.#out.length >= this.sizeMax || this.#behind.length > 0;
  }

  row(json: string): void {
    const text = this.#shape === 'names' ? nameOf(json) : json;
    if (this.#pretty) {
      this.#behind.push(new PrettyText(Buffer.from(text, 'utf8')));
      if (this.#behind.length === 1) this.#indent();
    } else {
      this.#separate();
      this.#out.text(text);
    }
  }

  /** Writes the rows that are behind, until the chunk is full. */
  #indent(): void {
    for (let row = this.#behind[0]; row !== undefined; row = this.#behind[0]) {
      if (row !== this.#begun) this.#separate();
      this.#begun = row;
      if (!row.write(this.#out, this.sizeMax)) return;
      this.#behind.shift();
    }
  }

  /** Brings it up to date after a pause: until then rows may be behind. */
  *caughtUp(): Generator<undefined, void> {
    while (this.#behind.length > 0) {
      this.#indent();
      if (this.#behind.length > 0) yield;
    }
  }

  begin(): ByteWriter | null {
    if (this.#pretty || this.#shape === 'names') return null;
    this.#separate();
    return this.#out;
  }

  #separate(): void {
    this.#out.byte(this.#isEmpty ? OPEN_LIST : COMMA);
    this.#isEmpty = false;
    if (this.#pretty) this.#out.byte(0x20);
  }

  /** After the last row. */
  end(): void {
    if (this.#isEmpty) this.#out.byte(OPEN_LIST);
    if (this.#pretty) this.#out.byte(0x20);
    this.#out.byte(CLOSE_LIST);
  }

  take(): Uint8Array {
    return this.#out.take();
  }

  finish(): string | Uint8Array {
    return wholeBody(this.#out);
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

/** Bytes up to which an answer that is one thing goes out whole. */
const ONE_BYTES = 1 << 20;

/** An answer that is one thing: a row, made pretty. */
export class OneBody implements RowSink, StreamedBody {
  readonly #row: ByteWriter;
  readonly #writer: (size: number) => ByteWriter;
  #out: ByteWriter;
  sizeMax = ONE_BYTES;

  /** `writer`: where its memory comes from. */
  constructor(writer: (size: number) => ByteWriter) {
    this.#writer = writer;
    this.#row = writer(0);
    this.#out = this.#row;
  }

  get full(): boolean {
    return this.#out !== this.#row && this.#out.length >= this.#max;
  }

  get #max(): number {
    return Math.max(this.sizeMax, ONE_BYTES);
  }

  row(json: string): void {
    this.begin().text(json);
  }

  begin(): ByteWriter {
    this.#row.length = 0;
    return this.#row;
  }

  /** Indents the row. Returns whether there was one. */
  *indented(): Generator<undefined, boolean> {
    const { bytes, length } = this.#row;
    if (length === 0) return false;
    this.#out = this.#writer(Math.min(length + (length >> 1), ONE_BYTES));
    const text = new PrettyText(bytes, 0, length);
    while (!text.write(this.#out, this.#max)) yield;
    return true;
  }

  take(): Uint8Array {
    return this.#out.take();
  }

  finish(): string | Uint8Array {
    return wholeBody(this.#out);
  }
}
