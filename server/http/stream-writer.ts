// The body of an answer that is sent in parts: compressed where the client asks for it, and held back until the body of the
// request has been read.

import type { BodyWriter } from './exchange.ts';
import type { GzipWriter, Part } from './gzip/compressor.ts';
import { gzipWriter } from './gzip/gzip.ts';
import type { Wire, WireHead } from './wire.ts';

interface WriterContext {
  readonly count: (bytes: number) => void;
  /** Whom to call when the wire has room again. */
  readonly onWake: (wake: () => void) => void;
  readonly isHead: boolean;
}

/** Takes what it is given at any time; tells with `write` and `drained` when it should be given more. */
export class StreamWriter implements BodyWriter {
  readonly #wire: Wire;
  readonly #context: WriterContext;
  #gzip: GzipWriter | null = null;
  /** Before the request's body has been read to its end, parts of the answer wait here. */
  #early: Part[] | null = [];
  #earlyEnd = false;
  #isFull = false;
  /** Nothing more comes, and it is not complete. */
  #isCut = false;
  #isOver = false;
  #waiting: (() => void)[] = [];

  constructor(wire: Wire, context: WriterContext) {
    this.#wire = wire;
    this.#context = context;
    context.onWake(() => this.#room());
  }

  open(head: WireHead, isCompressed: boolean, size?: number): void {
    if (this.#isOver) return;
    this.#wire.start(head, isCompressed ? undefined : size);
    if (isCompressed) {
      this.#gzip = gzipWriter({
        chunk: (chunk) => this.#put(chunk),
        room: () => this.#room(),
        end: () => (this.#isCut ? this.#breakOff() : this.#close(() => this.#wire.end())),
        failed: () => this.#breakOff(),
      });
    }
    const early = this.#early ?? [];
    this.#early = null;
    this.#isFull = false;
    for (const { chunk, free } of early) this.write(chunk, free);
    if (this.#earlyEnd) this.end();
    else if (!this.#isFull) this.#wake();
  }

  write(chunk: Uint8Array, free?: () => void): boolean {
    if (this.#isOver || this.#context.isHead || chunk.byteLength === 0) {
      free?.();
      return true;
    }
    if (this.#early !== null) {
      this.#early.push({ chunk, free });
      this.#isFull = true;
      return false;
    }
    const hasRoom = this.#gzip !== null ? this.#gzip.write(chunk, free) : this.#put(chunk, free);
    if (!hasRoom) this.#isFull = true;
    return hasRoom;
  }

  drained(): Promise<void> {
    if (this.#isOver || !this.#isFull) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  end(): void {
    if (this.#isOver) return;
    if (this.#early !== null) this.#earlyEnd = true;
    else if (this.#gzip !== null) this.#gzip.end();
    else this.#close(() => this.#wire.end());
  }

  abort(): void {
    if (this.#isOver) return;
    if (this.#gzip === null) {
      this.#breakOff();
      return;
    }
    // What was written last, often why it is cut, still lies in the compressor.
    this.#isCut = true;
    this.#gzip.end();
  }

  #breakOff(): void {
    this.#close(() => this.#wire.breakOff());
  }

  /** The client is gone: whoever waits for room is let go. */
  close(): void {
    this.#close(() => {});
  }

  #put(chunk: Uint8Array, free?: () => void): boolean {
    this.#context.count(chunk.byteLength);
    return this.#wire.write(chunk, free);
  }

  /** The wire, or the compressor behind which it stands, takes more. */
  #room(): void {
    if (this.#gzip?.resume() === false) return;
    this.#isFull = false;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #close(last: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    last();
    this.#gzip?.destroy();
    for (const { free } of this.#early ?? []) free?.();
    this.#early = null;
    this.#wake();
  }
}
