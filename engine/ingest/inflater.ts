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

/** Larger payloads are rare enough to have memory of their own. */
const SIZE_MAX = 1 << 20;
const SIZE_MIN = 128 << 10;
/** Room for zlib to see that there is no more. */
const SLACK = 64;

/** Memory for one payload after the other. */
export class PayloadMemory {
  #memory = Buffer.alloc(0);

  /** More than `size` bytes, the same ones again unless they are too few; null for a payload that is too large for that. */
  room(size: number): Buffer | null {
    if (size > SIZE_MAX) return null;
    if (this.#memory.length < size + SLACK) {
      this.#memory = Buffer.allocUnsafeSlow(Math.max(SIZE_MIN, Math.min(size * 2, SIZE_MAX) + SLACK));
    }
    return this.#memory;
  }
}

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
