// How whoever applies commands gets at their bodies: from the command log, by plain data that says where a stored command is and that any thread
// of the process can use. Bodies themselves do not travel: they were written a moment ago, and the system still has their pages.

import { crc32 } from '../crc32.ts';
import { readFullySync } from '../read-fully.ts';
import { messageOf, named } from '../reason.ts';
import { decodeRecordHeader } from './record.ts';
import { type StoredBody, StreamCorrupt } from './stream.ts';

/** What is kept of the memory from one batch to the next. */
const KEPT_MAX = 4 << 20;

/** A body that cannot be read: the first one of those that were asked for. `cause`: StreamCorrupt, or what the system said. */
export class Unreadable extends Error {
  /** Of what was asked for. */
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = 'Unreadable';
    this.index = index;
  }

  /** The bytes are not what was written: they never will be. */
  get isDamaged(): boolean {
    return this.cause instanceof StreamCorrupt;
  }
}

/** Reads the bodies of one batch after the other. */
export class BodyReader {
  #memory = Buffer.alloc(0);

  /** The bodies, checked, until the next call or `rest`; an empty one for null. Waits for the disk. Throws Unreadable. */
  read(stored: readonly (StoredBody | null)[]): Uint8Array[] {
    this.#reserve(stored.reduce((sum, one) => sum + (one === null ? 0 : one.headSize + one.bytes), 0));
    const bodies: Uint8Array[] = [];
    let at = 0;
    for (let index = 0; index < stored.length; index++) {
      const one = stored[index] as StoredBody | null;
      if (one === null) {
        bodies.push(new Uint8Array(0));
        continue;
      }
      const end = at + one.headSize + one.bytes;
      const record = this.#memory.subarray(at, end);
      try {
        readRecord(one, record);
      } catch (error) {
        throw new Unreadable(index, named(error, one.file.path));
      }
      bodies.push(record.subarray(one.headSize));
      at = end;
    }
    return bodies;
  }

  #reserve(size: number): void {
    if (size <= this.#memory.length) return;
    try {
      this.#memory = Buffer.allocUnsafeSlow(Math.max(size, Math.min(2 * size, KEPT_MAX)));
    } catch (error) {
      // There may be memory for it later.
      throw new Unreadable(0, error);
    }
  }

  /** Nobody looks at the bodies any more. */
  rest(): void {
    if (this.#memory.length > KEPT_MAX) this.#memory = Buffer.alloc(0);
  }
}

/** Fills `record`. Throws StreamCorrupt when something else stands there, and a system error. */
function readRecord({ file, seq, offset }: StoredBody, record: Buffer): void {
  const { path, fd, salt } = file;
  const isWhole = readFullySync(fd, record, offset) === record.length;
  const header = isWhole ? decodeRecordHeader(record, 0, salt) : null;
  if (header === null || header.seq !== seq) throw new StreamCorrupt(path, offset, `seq ${seq} is not there any more`);
  if (crc32(record.subarray(8), salt) !== header.crc) throw new StreamCorrupt(path, offset, 'checksum of the record');
}
