// Bytes of answers on their way from a query thread to the main thread: slots in shared memory that the thread fills and the
// main thread reads, sockets and compressors included, until it says that they are free. So nothing is copied for a client that keeps
// up, or that falls behind while there are plenty of slots: copies of that size cost page faults and collections. Handing memory over
// instead (transferring it) makes V8 look at each later access to any array of the thread whether its memory is still there.
//
//   Int32 per slot: 1 while its bytes are needed | the slots

import { joined } from '../../engine/bytes.ts';

const COUNT = 16;
/** With fewer free they are left to clients that keep up. One that falls behind has at most its window on the way, which fills eight. */
const PLENTY = 8;
const HEAD_BYTES = COUNT * 4;
/** A chunk and some of its last row. */
const SLOT_BYTES = 144 << 10;

/** Where bytes lie, or some of them: they go on in the next slot of their list. */
export interface Slot {
  readonly index: number;
  readonly length: number;
}

export const newSlots = (): SharedArrayBuffer => new SharedArrayBuffer(HEAD_BYTES + COUNT * SLOT_BYTES);

class Slots {
  protected readonly taken: Int32Array;
  protected readonly bytes: Buffer;

  constructor(shared: SharedArrayBuffer) {
    this.taken = new Int32Array(shared, 0, COUNT);
    this.bytes = Buffer.from(shared, HEAD_BYTES);
  }
}

/** The thread's side. */
export class SlotWriter extends Slots {
  /** Copies the bytes into slots; null: too few are free. */
  put(bytes: Uint8Array): readonly Slot[] | null {
    const slots: Slot[] = [];
    let left = bytes.length;
    for (let index = 0; index < COUNT && left > 0; index++) {
      if (Atomics.load(this.taken, index) === 1) continue;
      const length = Math.min(left, SLOT_BYTES);
      slots.push({ index, length });
      left -= length;
    }
    if (left > 0) return null;
    let at = 0;
    for (const { index, length } of slots) {
      Atomics.store(this.taken, index, 1);
      const start = index * SLOT_BYTES;
      this.bytes.fill(bytes.subarray(at, at + length), start, start + length);
      at += length;
    }
    return slots;
  }
}

/** The main thread's side. */
export class SlotReader extends Slots {
  /** The bytes where they lie: until the slot is free. */
  view({ index, length }: Slot): Uint8Array {
    const start = index * SLOT_BYTES;
    return this.bytes.subarray(start, start + length);
  }

  /** Whether few slots are free. */
  get areScarce(): boolean {
    let free = 0;
    for (let index = 0; index < COUNT; index++) if (Atomics.load(this.taken, index) === 0) free++;
    return free < PLENTY;
  }

  /** Nobody reads the slot any more. */
  free({ index }: Slot): void {
    Atomics.store(this.taken, index, 0);
  }

  /** All bytes of these slots in memory of their own; the slots are free. */
  take(slots: readonly Slot[]): Uint8Array {
    const copy = joined(slots.map((slot) => this.view(slot)));
    this.freeAll(slots);
    return copy;
  }

  freeAll(slots: readonly Slot[]): void {
    for (const slot of slots) this.free(slot);
  }
}

/** The bytes of a chunk for somebody who keeps them: as they are, or if they lie in a slot a copy, which makes the slot free. */
export function kept(chunk: Uint8Array, free?: () => void): Uint8Array {
  if (free === undefined) return chunk;
  const copy = joined([chunk]);
  free();
  return copy;
}
