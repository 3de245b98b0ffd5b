// Compression by the system's ISA-L, two to three times as fast as the zlib in Node at the same size. Optional, as `koffi` is, by which
// it is called.

import { gunzipSync } from 'node:zlib';
import { type Compressor, type GzipSink, type GzipWriter, type Part, WAITING_MAX } from './compressor.ts';
import { Deflater, type IsalLibrary, isalLibrary } from './isal-library.ts';

/** Has to be the same when it has been compressed and decompressed. */
const PROOF = 'certname '.repeat(100);

/** Streams for whoever compresses in parts: so many are kept for the next one. */
const IDLE_MAX = 4;
/** Calls that are handed to Node's pool of four threads at a time, as koffi keeps memory for each. Further ones wait here. */
const CALLS_MAX = 16;

class Deflaters {
  readonly #library: IsalLibrary;
  readonly #idle: Deflater[] = [];
  readonly #waiting: (() => void)[] = [];
  #calls = 0;

  constructor(library: IsalLibrary) {
    this.#library = library;
  }

  take(): Deflater {
    const deflater = this.#idle.pop() ?? new Deflater(this.#library);
    deflater.reset();
    return deflater;
  }

  give(deflater: Deflater): void {
    deflater.forget();
    if (this.#idle.length < IDLE_MAX) this.#idle.push(deflater);
  }

  /** Calls `start`, now or later, which begins one run of a stream and calls `over` after it. */
  turn(start: (over: () => void) => void): void {
    const begin = (): void => start(() => this.#over());
    if (this.#calls === CALLS_MAX) {
      this.#waiting.push(begin);
      return;
    }
    this.#calls++;
    begin();
  }

  #over(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#calls--;
    else next();
  }
}

/** Bytes of memory for output, and what is left of it when new memory is taken. */
const OUTPUT_BYTES = 64 << 10;
const OUTPUT_MIN = 16 << 10;

class IsalWriter implements GzipWriter {
  readonly #sink: GzipSink;
  readonly #deflaters: Deflaters;
  readonly #deflater: Deflater;
  /** What waits, and the part that is being read. */
  readonly #parts: Part[] = [];
  #part: Part | null = null;
  #waiting = 0;
  #output = new Uint8Array();
  #isRunning = false;
  #isEnding = false;
  #isOver = false;
  #wireFull = false;
  #inputFull = false;

  constructor(sink: GzipSink, deflaters: Deflaters) {
    this.#sink = sink;
    this.#deflaters = deflaters;
    this.#deflater = deflaters.take();
    // The client gets the beginning when it is there.
    this.#deflater.flushes(true);
  }

  write(chunk: Uint8Array, free?: () => void): boolean {
    if (this.#isOver) {
      free?.();
      return true;
    }
    this.#parts.push({ chunk, free });
    this.#waiting += chunk.byteLength;
    this.#inputFull = this.#waiting >= WAITING_MAX;
    this.#run();
    return !this.#inputFull && !this.#wireFull;
  }

  resume(): boolean {
    this.#wireFull = false;
    this.#run();
    return !this.#inputFull;
  }

  end(): void {
    this.#isEnding = true;
    this.#run();
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { free } of this.#parts.splice(0)) free?.();
    // What another thread reads at present is free when it has.
    if (!this.#isRunning) this.#leave();
  }

  #run(): void {
    if (this.#isRunning || this.#wireFull || this.#isOver) return;
    if (this.#part === null && this.#parts.length === 0 && !this.#isEnding) return;
    this.#isRunning = true;
    this.#deflaters.turn((over) => {
      if (this.#isOver) {
        this.#leave();
        over();
        return;
      }
      this.#prepare();
      this.#deflater.runElsewhere((failure) => {
        over();
        this.#isRunning = false;
        if (this.#isOver) this.#leave();
        else if (failure !== null) this.#sink.failed(failure);
        else this.#ran(this.#deflater.used);
      });
    });
  }

  /** Gives the next part to the compressor, and memory for what comes out of it. */
  #prepare(): void {
    if (this.#part === null) {
      this.#part = this.#parts.shift() ?? null;
      this.#deflater.input(this.#part?.chunk ?? null);
    }
    if (this.#isEnding && this.#parts.length === 0) this.#deflater.last();
    if (this.#output.byteLength < OUTPUT_MIN) this.#output = Buffer.allocUnsafeSlow(OUTPUT_BYTES);
    this.#deflater.output(this.#output);
  }

  /** So many bytes came out. */
  #ran(bytes: number): void {
    const chunk = this.#output.subarray(0, bytes);
    this.#output = this.#output.subarray(bytes);
    const { isComplete, isOut } = this.#deflater;
    if (isOut) this.#deflater.flushes(false);
    if (this.#deflater.left === 0) this.#partRead();
    if (bytes > 0 && !this.#sink.chunk(chunk)) this.#wireFull = true;
    if (this.#isOver) return;
    if (isComplete) {
      this.destroy();
      this.#sink.end();
      return;
    }
    this.#run();
    if (this.#inputFull && this.#waiting < WAITING_MAX / 2) {
      this.#inputFull = false;
      if (!this.#wireFull) this.#sink.room();
    }
  }

  #partRead(): void {
    if (this.#part === null) return;
    const { chunk, free } = this.#part;
    this.#part = null;
    this.#waiting -= chunk.byteLength;
    free?.();
  }

  /** The stream is for others. */
  #leave(): void {
    this.#partRead();
    this.#deflaters.give(this.#deflater);
  }
}

class Isal implements Compressor {
  readonly atOnceMax = 256 << 10;
  readonly #deflaters: Deflaters;
  readonly #deflater: Deflater;
  /** What does not compress becomes a little larger. */
  readonly #output = Buffer.allocUnsafeSlow(this.atOnceMax + (this.atOnceMax >> 2));

  constructor(library: IsalLibrary) {
    this.#deflaters = new Deflaters(library);
    this.#deflater = new Deflater(library);
  }

  atOnce(body: Uint8Array | string): Uint8Array {
    const deflater = this.#deflater;
    deflater.reset();
    deflater.input(typeof body === 'string' ? Buffer.from(body) : body);
    deflater.last();
    deflater.output(this.#output);
    deflater.run();
    const { isComplete, used } = deflater;
    deflater.forget();
    if (!isComplete) throw new Error('ISA-L: a body that is larger than announced');
    return Buffer.from(this.#output.subarray(0, used));
  }

  writer(sink: GzipSink): GzipWriter {
    return new IsalWriter(sink, this.#deflaters);
  }
}

/** null where the library is not there, or does not do what is expected of it. */
export function isal(): Compressor | null {
  const library = isalLibrary();
  if (library === null) return null;
  try {
    const isal = new Isal(library);
    return gunzipSync(isal.atOnce(PROOF)).toString() === PROOF ? isal : null;
  } catch {
    return null;
  }
}
