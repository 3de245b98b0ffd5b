// Bytes of answers on their way from a query thread to the main thread: a ring in shared memory that the thread writes and
// the main thread reads, in the order of the messages that tell the places. Handing memory over instead (transferring it)
// makes V8 look at each later access to any array of the thread whether its memory is still there.
//
// Copies are made with `fill`, which is memcpy; `set` copies shared memory word by word, which takes several times as long.
//
//   u32 end of what was read, counted on and on | the bytes

const HEAD_BYTES = 8;
/** A power of two: places are counted on and on, modulo 2^32. */
const SIZE = 1 << 20;

/** Where bytes lie in the ring. */
export interface RingPlace {
  readonly at: number;
  readonly length: number;
}

export const newRing = (): SharedArrayBuffer => new SharedArrayBuffer(HEAD_BYTES + SIZE);

/** The thread's side. */
export class RingWriter {
  readonly #read: Int32Array;
  readonly #bytes: Buffer;
  #written = 0;

  constructor(shared: SharedArrayBuffer) {
    this.#read = new Int32Array(shared, 0, 1);
    this.#bytes = Buffer.from(shared, HEAD_BYTES);
  }

  /** Copies the bytes, at least one, into the ring; null: there is no room for them now. */
  put(bytes: Uint8Array): RingPlace | null {
    const { length } = bytes;
    const offset = this.#written & (SIZE - 1);
    // They lie in one piece: what is left before the end stays empty.
    const at = offset + length > SIZE ? (this.#written + SIZE - offset) | 0 : this.#written;
    const end = (at + length) | 0;
    if (length > SIZE || ((end - Atomics.load(this.#read, 0)) | 0) > SIZE) return null;
    const start = at & (SIZE - 1);
    this.#bytes.fill(bytes, start, start + length);
    this.#written = end;
    return { at, length };
  }
}

/** The main thread's side. */
export class RingReader {
  readonly #read: Int32Array;
  readonly #bytes: Buffer;

  constructor(shared: SharedArrayBuffer) {
    this.#read = new Int32Array(shared, 0, 1);
    this.#bytes = Buffer.from(shared, HEAD_BYTES);
  }

  /** The bytes in memory of their own. To be called for each place, in order: the room is free afterwards. */
  take({ at, length }: RingPlace): Uint8Array {
    const offset = at & (SIZE - 1);
    const copy = Buffer.allocUnsafeSlow(length);
    copy.fill(this.#bytes.subarray(offset, offset + length));
    Atomics.store(this.#read, 0, (at + length) | 0);
    return copy;
  }
}
