// Compression by the system's ISA-L (Debian: libisal2), two to three times as fast as the zlib in Node at the same size. Optional, as
// `koffi` is, by which it is called.
//
// The library keeps a stream in memory that the caller provides, a struct of its header igzip_lib.h (isal_zstream) whose first fields
// are the caller's: where the next input lies, where output goes, the level, and whether the input ends. Their places are the same since
// the first version under this name.

import { gunzipSync } from 'node:zlib';
import { addressOf, type NativeFunction, nativeFunction } from '../../../workers/native.ts';
import { type Compressor, type GzipSink, type GzipWriter, WAITING_MAX } from './compressor.ts';

const LIBRARY = 'libisal.so.2';
/** Those for which Debian's builds are optimised; pointers of 64 bits, little endian. */
const ARCHITECTURES = ['x64', 'arm64'];

/** Offsets of the caller's fields: pointers of 64 bits, numbers of 32, and of 16 from END_OF_STREAM on. */
const NEXT_IN = 0;
const AVAIL_IN = 8;
const NEXT_OUT = 16;
const AVAIL_OUT = 24;
const LEVEL = 40;
const LEVEL_MEMORY_SIZE = 44;
const LEVEL_MEMORY = 48;
const END_OF_STREAM = 56;
const FLUSH = 58;
const GZIP_FLAG = 60;

/** The struct takes 82,384 bytes in version 2.30: what later ones may add has room. Nobody touches the rest. */
const STATE_BYTES = 256 << 10;
/** ISAL_DEF_LVL1_DEFAULT: what level 1 works with. Levels 2 and 3 gain little on JSON rows. */
const LEVEL_BYTES = 282_624;
const GZIP = 1;
const SYNC_FLUSH = 1;
const NO_FLUSH = 0;
const OK = 0;

const NOTHING = Buffer.alloc(0);
/** Has to be the same when it has been compressed and decompressed. */
const PROOF = 'certname '.repeat(100);

interface Library {
  readonly init: NativeFunction<void>;
  readonly reset: NativeFunction<void>;
  readonly deflate: NativeFunction;
}

/** One stream at a time, any number one after the other. */
class Deflater {
  readonly #library: Library;
  readonly #state = Buffer.alloc(STATE_BYTES);
  readonly #levelMemory = Buffer.allocUnsafeSlow(LEVEL_BYTES);
  readonly #fields = new DataView(this.#state.buffer, this.#state.byteOffset);
  /** What the struct points to has to stay. */
  #input: Uint8Array | null = null;
  #output: Uint8Array = NOTHING;

  constructor(library: Library) {
    this.#library = library;
    library.init(this.#state);
    this.#fields.setUint32(LEVEL, 1, true);
    this.#fields.setUint32(LEVEL_MEMORY_SIZE, LEVEL_BYTES, true);
    this.#fields.setBigUint64(LEVEL_MEMORY, addressOf(this.#levelMemory), true);
  }

  /** A new stream begins. */
  reset(): void {
    this.#library.reset(this.#state);
    this.#fields.setUint16(END_OF_STREAM, 0, true);
    this.flushes(false);
    // It notes there that the header has been written.
    this.#fields.setUint16(GZIP_FLAG, GZIP, true);
    this.input(null);
  }

  /** What is compressed next; the bytes must not change before `left` is 0. */
  input(bytes: Uint8Array | null): void {
    this.#input = bytes;
    if (bytes !== null) this.#fields.setBigUint64(NEXT_IN, addressOf(bytes), true);
    this.#fields.setUint32(AVAIL_IN, bytes?.byteLength ?? 0, true);
  }

  /** Whether what has been read comes out at once, not when there is a block's worth of it. */
  flushes(yes: boolean): void {
    this.#fields.setUint16(FLUSH, yes ? SYNC_FLUSH : NO_FLUSH, true);
  }

  /** What is left of the input is the last one. */
  last(): void {
    this.#fields.setUint16(END_OF_STREAM, 1, true);
  }

  /** Where what comes next goes. */
  output(bytes: Uint8Array): void {
    this.#output = bytes;
    this.#fields.setBigUint64(NEXT_OUT, addressOf(bytes), true);
    this.#fields.setUint32(AVAIL_OUT, bytes.byteLength, true);
  }

  /** Bytes of the input that have not been read. */
  get left(): number {
    return this.#input === null ? 0 : this.#fields.getUint32(AVAIL_IN, true);
  }

  /** Bytes of the output that have been used. */
  get used(): number {
    return this.#output.byteLength - this.#fields.getUint32(AVAIL_OUT, true);
  }

  /** All that has been read and has to come out, has: it stops before only where there is no room. */
  get isOut(): boolean {
    return this.left === 0 && this.used < this.#output.byteLength;
  }

  /** The same of all that `last` said to be the end. */
  get isComplete(): boolean {
    return this.#fields.getUint16(END_OF_STREAM, true) === 1 && this.isOut;
  }

  /** Lets go of input and output. */
  forget(): void {
    this.#input = null;
    this.#output = NOTHING;
  }

  /** Compresses until there is no input or no room. Throws what the library finds wrong. */
  run(): void {
    const failure = failureOf(this.#library.deflate(this.#state));
    if (failure !== null) throw failure;
  }

  /** The same on a thread of Node's pool. Nothing else may be called meanwhile. */
  runElsewhere(then: (failure: Error | null) => void): void {
    this.#library.deflate.async(this.#state, (_error, result) => then(failureOf(result)));
  }
}

const failureOf = (result: number): Error | null => (result === OK ? null : new Error(`ISA-L: error ${result}`));

/** Streams for whoever compresses in parts: so many are kept for the next one. */
const IDLE_MAX = 4;
/** So many wait for the pool's four threads, or have one: each takes memory of the package that calls. The others wait here. */
const CALLS_MAX = 16;

class Deflaters {
  readonly #library: Library;
  readonly #idle: Deflater[] = [];
  readonly #waiting: (() => void)[] = [];
  #calls = 0;

  constructor(library: Library) {
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

interface Part {
  readonly chunk: Uint8Array;
  readonly free: (() => void) | undefined;
}

class IsalWriter implements GzipWriter {
  readonly #sink: GzipSink;
  readonly #deflaters: Deflaters;
  readonly #deflater: Deflater;
  /** What waits, and the part that is being read. */
  readonly #parts: Part[] = [];
  #part: Part | null = null;
  #waiting = 0;
  #output: Uint8Array = NOTHING;
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

  constructor(library: Library) {
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

/** null where the library, or the way to call it, is not there, or where it does not do what is said above. */
export function isal(): Compressor | null {
  if (!ARCHITECTURES.includes(process.arch)) return null;
  const init = nativeFunction<void>('void isal_deflate_init(void *stream)', LIBRARY);
  const reset = nativeFunction<void>('void isal_deflate_reset(void *stream)', LIBRARY);
  const deflate = nativeFunction('int isal_deflate(void *stream)', LIBRARY);
  if (init === null || reset === null || deflate === null) return null;
  try {
    const isal = new Isal({ init, reset, deflate });
    return gunzipSync(isal.atOnce(PROOF)).toString() === PROOF ? isal : null;
  } catch {
    return null;
  }
}
