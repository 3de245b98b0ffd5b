// A command as its partition keeps it beyond the stream position: until it is tried again, its dead letter is written, or
// the partition it belongs to has it. The transaction that advances the position past it puts it there, so there is no
// moment at which it is in neither place.

import { Packr } from 'msgpackr';
import type { Attempt } from '../../engine/inbox/dead-letters.ts';
import { ENVELOPE_FIELDS, type Envelope, envelopeOf, fieldsOf } from '../../engine/inbox/envelope.ts';
import type { Held } from './messages.ts';

export interface HeldCommand {
  readonly envelope: Envelope;
  readonly body: Uint8Array;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly state: Held['state'];
  /** Certname whose partition a moving command belongs to; else that of the envelope. */
  readonly certname: string;
}

const packr = new Packr({ useRecords: false, mapsAsObjects: true });

/** How msgpack writes no bytes, and what it writes before bytes of any number, which goes on with their number in four. */
const NO_BYTES_SIZE = 2;
const BYTES = 0xc6;
const BYTES_HEAD_SIZE = 5;
const NO_BYTES = Buffer.alloc(0);

/** The body is put behind what is packed: the packer keeps memory as large as the largest that it packed. */
export function encodeHeld(held: HeldCommand): Uint8Array {
  const { envelope, body, attempts, state, certname } = held;
  const packed = packr.pack([
    1,
    ...fieldsOf(envelope, envelope.gzip),
    attempts.map((attempt) => [attempt.time, attempt.text]),
    state,
    certname,
    NO_BYTES,
  ]);
  const at = packed.length - NO_BYTES_SIZE;
  const bytes = Buffer.allocUnsafe(at + BYTES_HEAD_SIZE + body.byteLength);
  packed.copy(bytes, 0, 0, at);
  bytes[at] = BYTES;
  bytes.writeUInt32BE(body.byteLength, at + 1);
  bytes.set(body, at + BYTES_HEAD_SIZE);
  return bytes;
}

export function decodeHeld(bytes: Uint8Array): HeldCommand {
  const parts = packr.unpack(bytes) as unknown[];
  if (parts[0] !== 1) throw new Error(`held command of format ${parts[0]}`);
  const envelope = envelopeOf(parts.slice(1, 1 + ENVELOPE_FIELDS));
  if (envelope === null) throw new Error('held command without an envelope');
  const [attempts, state, certname, body] = parts.slice(1 + ENVELOPE_FIELDS) as [
    [number, string][],
    Held['state'],
    string,
    Uint8Array,
  ];
  return {
    envelope,
    attempts: attempts.map(([time, text]) => ({ time, text })),
    state,
    certname,
    // A copy: what the store handed out may be overwritten by its next read.
    body: Uint8Array.from(body),
  };
}
