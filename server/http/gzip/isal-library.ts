// The functions of the system's ISA-L (Debian: libisal2) that compress, called by the optional `koffi`.
//
// The library keeps a stream in memory that the caller provides, a struct of its header igzip_lib.h (isal_zstream) whose first fields
// are the caller's: where the next input lies, where output goes, the level, and whether the input ends. Their places are the same in all
// versions from 2.20 (2017) to 2.32.

import { addressOf, type NativeFunction, nativeFunction } from '../../../workers/system/native.ts';

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

const NOTHING = new Uint8Array();

export interface IsalLibrary {
  readonly init: NativeFunction<void>;
  readonly reset: NativeFunction<void>;
  readonly deflate: NativeFunction;
}

/** One stream at a time, any number one after the other. */
export class Deflater {
  readonly #library: IsalLibrary;
  readonly #state = Buffer.alloc(STATE_BYTES);
  readonly #levelMemory = Buffer.allocUnsafeSlow(LEVEL_BYTES);
  readonly #fields = new DataView(this.#state.buffer, this.#state.byteOffset);
  /** What the struct points to has to stay. */
  #input: Uint8Array | null = null;
  #output: Uint8Array = NOTHING;

  constructor(library: IsalLibrary) {
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

  /** Whether all of the input has been read, and what it gives has come out: the library stops short of that only without room for output. */
  get isOut(): boolean {
    return this.left === 0 && this.used < this.#output.byteLength;
  }

  /** Whether the stream is: the same, behind what `last` said to be its end. */
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

/** null where the library, or the way to call it, is not there. */
export function isalLibrary(): IsalLibrary | null {
  if (!ARCHITECTURES.includes(process.arch)) return null;
  const init = nativeFunction<void>('void isal_deflate_init(void *stream)', LIBRARY);
  const reset = nativeFunction<void>('void isal_deflate_reset(void *stream)', LIBRARY);
  const deflate = nativeFunction('int isal_deflate(void *stream)', LIBRARY);
  return init === null || reset === null || deflate === null ? null : { init, reset, deflate };
}
