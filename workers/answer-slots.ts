// Bytes of answers on their way from a query thread to the main thread: slots in shared memory that the thread fills and the
// main thread reads, sockets and compressors included, until it says that they are free. So nothing is copied for a client that keeps
// up. Handing memory over instead (transferring it) makes V8 look at each later access to any array of the thread
// whether its memory is still there.
//
// Copies are made with `fill`, which is memcpy; `set` copies shared memory word by word, which takes several times as long.
//
//   Int32 per slot: 1 while its bytes are needed | the slots

const COUNT = 12;
const HEAD_BYTES = COUNT * 4;
/** A chunk and some of its last row. */
const SLOT_BYTES = 144 << 10;

/** Where bytes lie. */
export interface Slot {
  readonly index: number;
  readonly length: number;
}

export const newSlots = (): SharedArrayBuffer => new SharedArrayBuffer(HEAD_BYTES + COUNT * SLOT_BYTES);

/** The thread's side. */
export class SlotWriter {
  readonly #taken: Int32Array;
  readonly #bytes: Buffer;

  constructor(shared: SharedArrayBuffer) {
    this.#taken = new Int32Array(shared, 0, COUNT);
    this.#bytes = Buffer.from(shared, HEAD_BYTES);
  }

  /** Copies the bytes into a slot; null: none is free, or they are too many for one. */
  put(bytes: Uint8Array): Slot | null {
    const { length } = bytes;
    if (length > SLOT_BYTES) return null;
    for (let index = 0; index < COUNT; index++) {
      if (Atomics.load(this.#taken, index) === 1) continue;
      Atomics.store(this.#taken, index, 1);
      const start = index * SLOT_BYTES;
      this.#bytes.fill(bytes, start, start + length);
      return { index, length };
    }
    return null;
  }
}

/** The main thread's side. */
export class SlotReader {
  readonly #taken: Int32Array;
  readonly #bytes: Buffer;

  constructor(shared: SharedArrayBuffer) {
    this.#taken = new Int32Array(shared, 0, COUNT);
    this.#bytes = Buffer.from(shared, HEAD_BYTES);
  }

  /** The bytes where they lie: until the slot is free. */
  view({ index, length }: Slot): Uint8Array {
    const start = index * SLOT_BYTES;
    return this.#bytes.subarray(start, start + length);
  }

  /** Nobody reads the slot any more. */
  free({ index }: Slot): void {
    Atomics.store(this.#taken, index, 0);
  }
}

/** The bytes in memory of their own. */
export function ownCopy(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  if (bytes.length > 0) copy.fill(bytes);
  return copy;
}
