// Bytes kept by small numbers, one behind the other in one piece of memory: to make an array for each would take V8 longer than to copy its
// bytes, and such arrays would take most of the memory.

import { ByteWriter } from './bytes.ts';

const PAGE_BITS = 8;
const PAGE_MASK = (1 << PAGE_BITS) - 1;
/** Bytes that the places of a page of ids take: where each begins, and where it ends. */
export const PAGE_BYTES = 8 << PAGE_BITS;

export class BytesById {
  /** Only appended to: its bytes can be read for long, whatever is kept meanwhile. */
  #out: ByteWriter | null = null;
  readonly #pages: (Uint32Array | undefined)[] = [];

  /** Where all of them lie, of which there are some. Others after the next `keep`. */
  get bytes(): Buffer {
    return this.#out!.bytes;
  }

  /** Where those of the id begin; 0: none are kept. */
  startOf(id: number): number {
    const page = this.#pages[id >>> PAGE_BITS];
    return page === undefined ? 0 : page[(id & PAGE_MASK) * 2]!;
  }

  /** Where those of an id that are kept end. */
  endOf(id: number): number {
    return this.#pages[id >>> PAGE_BITS]![(id & PAGE_MASK) * 2 + 1]!;
  }

  /** Keeps what lies in `source` from `start` to `end`. */
  keep(id: number, source: Uint8Array, start: number, end: number): void {
    const out = (this.#out ??= begun());
    const from = out.length;
    out.part(source, start, end);
    this.#place(id, from, out.length);
  }

  /** Keeps what was written to an answer from `start` to `end`, which may be nothing. */
  keepWritten(id: number, answer: ByteWriter, start: number, end: number): void {
    const out = (this.#out ??= begun());
    const from = out.length;
    out.written(answer, start, end);
    this.#place(id, from, out.length);
  }

  /** Keeps what another one keeps of the id, without holding on to the other's memory. */
  keepOf(id: number, from: BytesById): void {
    this.keepWritten(id, from.#out!, from.startOf(id), from.endOf(id));
  }

  #place(id: number, start: number, end: number): void {
    const page = (this.#pages[id >>> PAGE_BITS] ??= new Uint32Array(PAGE_BYTES / 4));
    page[(id & PAGE_MASK) * 2] = start;
    page[(id & PAGE_MASK) * 2 + 1] = end;
  }

  /** Appends those of an id that are kept to an answer. */
  write(id: number, answer: ByteWriter): void {
    answer.written(this.#out!, this.startOf(id), this.endOf(id));
  }

  /** Whether the place of an id takes no more memory. */
  hasPage(id: number): boolean {
    return this.#pages[id >>> PAGE_BITS] !== undefined;
  }

  /** Keeps none of the id any more. */
  delete(id: number): void {
    const page = this.#pages[id >>> PAGE_BITS];
    if (page !== undefined) page[(id & PAGE_MASK) * 2] = 0;
  }
}

/** Nothing is to begin at 0, which stands for what is not kept. */
function begun(): ByteWriter {
  const out = new ByteWriter(0);
  out.byte(0);
  return out;
}
