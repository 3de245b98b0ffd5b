// Decompresses one body after the other with one zlib state and into the same memory. `gunzipSync` makes both for each call:
// some 100 KB a command outside V8's heap, and V8 answers every 64 MB of that with a collection of the whole heap: about a
// tenth of the processor time of unchanged commands.
//
// Node has no public way to do this. What is used instead is what its own zlib streams call, the same in all versions since 11;
// where it is not there, or anything about a body is unusual, `inflate` gives null and the caller takes the public way.

import { constants, createGunzip } from 'node:zlib';

/** What a zlib stream of Node works with. */
interface Handle {
  reset(): void;
  writeSync(
    flush: number,
    input: Uint8Array,
    inputStart: number,
    inputSize: number,
    output: Uint8Array,
    outputStart: number,
    outputSize: number,
  ): void;
  onerror: (message: string, code: number, name: string) => void;
}

/** Decompresses gzip bodies one after the other, into memory that the next one overwrites. */
export interface BodyInflater {
  /** The payload of a gzip body that says at its end that it has `size` bytes; null unless that is so, to the last byte. */
  inflate(body: Uint8Array, size: number): Buffer | null;
}

/** Bounds of the memory that stays for good. */
const SIZE_MAX = 1 << 20;
const SIZE_MIN = 128 << 10;
/** Larger payloads have memory of their own. */
const LARGE_MAX = 64 << 20;
/** Memory for large payloads stays so long after the last one: each page that the system has to give anew costs a fault. */
const LARGE_KEPT_MS = 5000;
/** Room for zlib to see that there is no more. */
const SLACK = 64;

/** Memory for one payload after the other. */
export class PayloadMemory {
  readonly #keptMs: number;
  #memory: Buffer = Buffer.alloc(0);
  #large: Buffer | null = null;
  #forgetLarge: NodeJS.Timeout | null = null;

  constructor(keptMs = LARGE_KEPT_MS) {
    this.#keptMs = keptMs;
  }

  /** More than `size` bytes, the same ones again unless they are too few; null for a payload that is too large for that. */
  room(size: number): Buffer | null {
    if (size > SIZE_MAX) return size > LARGE_MAX ? null : this.#roomForLarge(size);
    if (this.#memory.length < size + SLACK) this.#memory = fresh(Math.max(SIZE_MIN, Math.min(size * 2, SIZE_MAX)));
    return this.#memory;
  }

  #roomForLarge(size: number): Buffer {
    if (this.#large === null || this.#large.length < size + SLACK) {
      // The old one first: both at once are more than is wanted.
      this.#large = null;
      this.#large = fresh(Math.min(Math.ceil(size * 1.25), LARGE_MAX));
    }
    if (this.#forgetLarge === null) {
      this.#forgetLarge = setTimeout(() => {
        this.#large = null;
        this.#forgetLarge = null;
      }, this.#keptMs).unref();
    } else this.#forgetLarge.refresh();
    return this.#large;
  }
}

const fresh = (size: number): Buffer => Buffer.allocUnsafeSlow(size + SLACK);

/** By the zlib of Node. */
export class Inflater implements BodyInflater {
  readonly #handle: Handle | null;
  /** What zlib left over after a call: room in the output, bytes of the input. */
  readonly #left: Uint32Array;
  readonly #memory = new PayloadMemory();
  #hasFailed = false;

  constructor() {
    const stream = createGunzip() as unknown as { _handle?: Partial<Handle>; _writeState?: unknown };
    const { _handle: handle, _writeState: left } = stream;
    const isUsable =
      typeof handle?.reset === 'function' && typeof handle.writeSync === 'function' && left instanceof Uint32Array;
    this.#handle = isUsable ? (handle as Handle) : null;
    this.#left = isUsable ? left : new Uint32Array(2);
    if (isUsable) {
      handle.onerror = () => {
        this.#hasFailed = true;
      };
    }
  }

  inflate(body: Uint8Array, size: number): Buffer | null {
    const handle = this.#handle;
    const output = handle === null ? null : this.#memory.room(size);
    if (handle === null || output === null) return null;
    this.#hasFailed = false;
    handle.reset();
    handle.writeSync(constants.Z_FINISH, body, 0, body.length, output, 0, output.length);
    const [room, rest] = this.#left as unknown as [number, number];
    if (this.#hasFailed || rest !== 0 || output.length - room !== size) return null;
    return output.subarray(0, size);
  }
}
