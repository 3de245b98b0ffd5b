// The body of an answer while it is being produced: rows are framed, indented on demand and collected as bytes until the
// chunk is taken.

import type { ByteWriter } from '../../bytes.ts';
import { CLOSE_LIST, COMMA, OPEN_LIST } from '../../json/ascii.ts';
import { writePretty } from '../../json/pretty.ts';
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

/** A list answer. `full` asks the executor to pause; what it gives nevertheless is kept. */
export class ListBody implements RowSink {
  readonly #pretty: boolean;
  readonly #shape: RowShape;
  readonly #out: ByteWriter;
  #isEmpty = true;
  /** Bytes after which the executor pauses. */
  sizeMax: number;

  constructor(options: ListOptions, sizeMax: number, out: ByteWriter) {
    this.#pretty = options.pretty;
    this.#shape = options.shape;
    this.sizeMax = sizeMax;
    this.#out = out;
  }

  get full(): boolean {
    return this.#out.length >= this.sizeMax;
  }

  row(json: string): void {
    const text = this.#shape === 'names' ? nameOf(json) : json;
    this.#separate();
    if (this.#pretty) {
      const bytes = Buffer.from(text, 'utf8');
      writePretty(bytes, 0, bytes.length, this.#out);
    } else this.#out.text(text);
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

  /** What has been collected since the last call. It lasts until the next row. */
  take(): Uint8Array {
    return this.#out.take();
  }

  /** The same, for the last time, as the body of a whole answer. */
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

/** The row of an answer that is one thing, made pretty. */
export class OneRow implements RowSink {
  readonly full = false;
  readonly #writer: (size: number) => ByteWriter;
  readonly #out: ByteWriter;

  /** `writer`: where its memory comes from. */
  constructor(writer: (size: number) => ByteWriter) {
    this.#writer = writer;
    this.#out = writer(0);
  }

  row(json: string): void {
    this.begin().text(json);
  }
  begin(): ByteWriter {
    this.#out.length = 0;
    return this.#out;
  }

  /** The body of the answer; null: there was no row. */
  finish(): string | Uint8Array | null {
    const { bytes, length } = this.#out;
    if (length === 0) return null;
    const pretty = this.#writer(length + (length >> 1));
    writePretty(bytes, 0, length, pretty);
    return wholeBody(pretty);
  }
}
