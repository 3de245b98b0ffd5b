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

/** Where bytes lie, or some of them: they go on in the next slot of their list. */
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

  /** Copies the bytes into slots; null: too few are free. */
  put(bytes: Uint8Array): readonly Slot[] | null {
    const slots: Slot[] = [];
    let left = bytes.length;
    for (let index = 0; index < COUNT && left > 0; index++) {
      if (Atomics.load(this.#taken, index) === 1) continue;
      const length = Math.min(left, SLOT_BYTES);
      slots.push({ index, length });
      left -= length;
    }
    if (left > 0) return null;
    let at = 0;
    for (const { index, length } of slots) {
      Atomics.store(this.#taken, index, 1);
      const start = index * SLOT_BYTES;
      this.#bytes.fill(bytes.subarray(at, at + length), start, start + length);
      at += length;
    }
    return slots;
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

  /** All bytes of these slots in memory of their own; the slots are free. */
  take(slots: readonly Slot[]): Uint8Array {
    const copy = joined(slots.map((slot) => this.view(slot)));
    for (const slot of slots) this.free(slot);
    return copy;
  }
}

/** The bytes in memory of their own. */
export const ownCopy = (bytes: Uint8Array): Uint8Array => joined([bytes]);

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    if (part.length > 0) whole.fill(part, at, at + part.length);
    at += part.length;
  }
  return whole;
}
