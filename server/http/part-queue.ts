// Between a body that arrives and a reader that takes it: what came and was not taken yet, a bounded number of bytes. When
// that is full the source is paused, so a client can only send as fast as its body is worked on.

interface PartSource {
  /** No more parts until `resume`, but for what is on its way already. */
  pause(): void;
  resume(): void;
}

/** What a part takes beside its bytes: one of a single byte is as good as this many. */
const PART_BYTES = 512;
const costOf = (part: Uint8Array): number => part.byteLength + PART_BYTES;

export class PartQueue {
  readonly #source: PartSource;
  readonly #bytesMax: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #state: 'open' | 'ended' | 'dropped' = 'open';
  #isPaused = false;
  #failure: Error | null = null;
  #wakeReader: (() => void) | null = null;

  /** `bytesMax`: what may wait before the source is paused. */
  constructor(source: PartSource, bytesMax: number) {
    this.#source = source;
    this.#bytesMax = bytesMax;
  }

  put(part: Uint8Array): void {
    if (this.#state === 'dropped') return;
    this.#parts.push(part);
    this.#bytes += costOf(part);
    if (this.#bytes >= this.#bytesMax && !this.#isPaused) {
      this.#isPaused = true;
      this.#source.pause();
    }
    this.#wake();
  }

  /** No more will come. */
  end(): void {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wake();
  }

  /** The reader gets this error instead of what is left. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.drop();
  }

  /** Whatever waits or comes is forgotten; the source flows on. */
  drop(): void {
    this.#state = 'dropped';
    this.#parts = [];
    this.#bytes = 0;
    this.#resume();
    this.#wake();
  }

  /** All parts in order, for one reader. Throws what `fail` was given. Leaving early drops the rest. */
  async *read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        while (this.#parts.length === 0 && this.#state === 'open') {
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve;
          });
        }
        if (this.#failure !== null) throw this.#failure;
        if (this.#parts.length === 0) return;
        const parts = this.#parts;
        this.#parts = [];
        for (const part of parts) {
          if (this.#failure !== null) throw this.#failure;
          yield part;
          this.#bytes -= costOf(part);
        }
        if (this.#bytes < this.#bytesMax) this.#resume();
      }
    } finally {
      this.drop();
    }
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#source.resume();
  }

  #wake(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = null;
    wake?.();
  }
}
