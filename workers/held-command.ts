// A command as its partition keeps it beyond the stream position: until it is tried again, its dead letter is written, or
// the partition it belongs to has it. The transaction that advances the position past it puts it there, so there is no
// moment at which it is in neither place.

import { Packr } from 'msgpackr';
import type { Attempt } from '../engine/inbox/dead-letters.ts';
import type { Envelope } from '../engine/inbox/stream.ts';
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

export function encodeHeld(held: HeldCommand): Uint8Array {
  const { envelope, body, attempts, state, certname } = held;
  return packr.pack([
    1,
    envelope.uuid,
    envelope.command,
    envelope.version,
    envelope.certname,
    envelope.received,
    envelope.producerTimestamp,
    envelope.gzip,
    envelope.size,
    attempts.map((attempt) => [attempt.time, attempt.text]),
    state,
    certname,
    Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  ]);
}

export function decodeHeld(bytes: Uint8Array): HeldCommand {
  const parts = packr.unpack(bytes) as [
    number,
    string,
    string,
    number,
    string,
    number,
    number | null,
    boolean,
    number | null,
    [number, string][],
    Held['state'],
    string,
    Uint8Array,
  ];
  if (parts[0] !== 1) throw new Error(`held command of format ${parts[0]}`);
  const [, uuid, command, version, routed, received, producerTimestamp, gzip, size, attempts, state, certname, body] =
    parts;
  return {
    envelope: { uuid, command, version, certname: routed, received, producerTimestamp, gzip, size },
    attempts: attempts.map(([time, text]) => ({ time, text })),
    state,
    certname,
    // A copy: what the store handed out may be overwritten by its next read.
    body: Uint8Array.from(body),
  };
}
