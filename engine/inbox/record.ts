// Bytes of the log: segment headers and records. All integers are little endian.
//
//   segment header, 48 bytes                     record
//    0  u32  'MSEG'                               0  u32  salt of the segment: marks the start of a record
//    4  u32  crc32 of bytes 8..48                 4  u32  crc32 of everything from byte 8, begun with the salt
//    8  u32  format                               8  u32  envelope length
//   12  u32  segment number                      12  u32  body length
//   16  u64  first seq that may be in it         16  u64  seq
//   24  u32  salt                                24  u64  bytes of the segment known durable when this was written
//   28  u32  number of the segment before        32       envelope: JSON, UTF-8
//   32  u64  bytes of that one that count                 body, exactly as received
//   40  u64  0
//
// The salt is random per segment, so a body cannot imitate a record. `durable` tells a torn tail (may be cut: nothing in it
// was acknowledged) from damage before acknowledged records (must not be cut); see scan.ts.

import { crc32 } from '../crc32.ts';
import { type Envelope, envelopeOf, fieldsOf } from './envelope.ts';

export const SEGMENT_HEADER_SIZE = 48;
export const RECORD_HEADER_SIZE = 32;
const LOG_FORMAT = 1;
/** A certname is the only part of an envelope that can be long; the longest request line is far below this. */
export const ENVELOPE_SIZE_MAX = 1 << 20;
/** Of these for the certname, as JSON: the other parts are short. */
const CERTNAME_BYTES_MAX = ENVELOPE_SIZE_MAX - 4096;
/** Bytes of JSON that a UTF-16 unit takes at most. */
const UNIT_BYTES_MAX = 6;
/** Lengths are 32 bit; Node's buffers end at 4 GiB. */
export const BODY_SIZE_MAX = 2 ** 31;

/** Whether there is room for the certname in an envelope, as JSON. */
export const isRecordable = (certname: string): boolean =>
  certname.length * UNIT_BYTES_MAX <= CERTNAME_BYTES_MAX ||
  Buffer.byteLength(JSON.stringify(certname)) - 2 <= CERTNAME_BYTES_MAX;

const SEGMENT_MAGIC = 0x4745534d;

export interface SegmentHeader {
  readonly number: number;
  readonly firstSeq: number;
  readonly salt: number;
  /** 0 when this is the first segment ever. */
  readonly previousNumber: number;
  readonly previousSize: number;
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_SIZE);
  bytes.writeUInt32LE(SEGMENT_MAGIC, 0);
  bytes.writeUInt32LE(LOG_FORMAT, 8);
  bytes.writeUInt32LE(header.number, 12);
  bytes.writeBigUInt64LE(BigInt(header.firstSeq), 16);
  bytes.writeUInt32LE(header.salt, 24);
  bytes.writeUInt32LE(header.previousNumber, 28);
  bytes.writeBigUInt64LE(BigInt(header.previousSize), 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
  return bytes;
}

/** A segment is whole, and this version cannot read it. */
export class NewerSegment extends Error {
  constructor(path: string, format: number) {
    super(
      `${path} was written by a newer version (format ${format}, this program knows ${LOG_FORMAT}): install the newer version`,
    );
    this.name = 'NewerSegment';
  }
}

/** What is wrong with the bytes as text, or the header. `path` is for the message. Throws NewerSegment. */
export function decodeSegmentHeader(bytes: Buffer, path: string): SegmentHeader | string {
  if (bytes.length < SEGMENT_HEADER_SIZE) return 'segment header is cut short';
  if (bytes.readUInt32LE(0) !== SEGMENT_MAGIC) return 'not a segment of the command log';
  if (bytes.readUInt32LE(4) !== crc32(bytes.subarray(8, SEGMENT_HEADER_SIZE))) return 'checksum of the segment header';
  const format = bytes.readUInt32LE(8);
  if (format > LOG_FORMAT) throw new NewerSegment(path, format);
  return {
    number: bytes.readUInt32LE(12),
    firstSeq: Number(bytes.readBigUInt64LE(16)),
    salt: bytes.readUInt32LE(24),
    previousNumber: bytes.readUInt32LE(28),
    previousSize: Number(bytes.readBigUInt64LE(32)),
  };
}

/**
 * Header and envelope of a record; the body follows it in the file. `durable` and the checksum are set by `sealRecord`. Throws
 * RangeError for a version that JSON cannot hold: a record that cannot be read back would keep the log from being opened.
 */
export function encodeRecordHead(envelope: Envelope, bodySize: number): Buffer {
  for (const number of [envelope.version, envelope.received]) {
    if (!Number.isFinite(number)) throw new RangeError(`${number} cannot stand in the envelope of a command`);
  }
  const text = JSON.stringify(fieldsOf(envelope, envelope.gzip ? 1 : 0));
  const head = Buffer.allocUnsafe(RECORD_HEADER_SIZE + Buffer.byteLength(text));
  head.writeUInt32LE(head.length - RECORD_HEADER_SIZE, 8);
  head.writeUInt32LE(bodySize, 12);
  head.write(text, RECORD_HEADER_SIZE, 'utf8');
  return head;
}

/** Fills in what is only known when the record gets its place, and the checksum over all of it. */
export function sealRecord(head: Buffer, body: Uint8Array, seq: number, salt: number, durable: number): void {
  head.writeUInt32LE(salt, 0);
  head.writeBigUInt64LE(BigInt(seq), 16);
  head.writeBigUInt64LE(BigInt(durable), 24);
  head.writeUInt32LE(crc32(body, crc32(head.subarray(8), salt)), 4);
}

export interface RecordHeader {
  readonly crc: number;
  readonly envelopeSize: number;
  readonly bodySize: number;
  readonly seq: number;
  readonly durable: number;
}

/** Reads the fixed part at `offset`; null when it does not begin a record. Nothing is proven before the checksum. */
export function decodeRecordHeader(bytes: Buffer, offset: number, salt: number): RecordHeader | null {
  if (bytes.readUInt32LE(offset) !== salt) return null;
  const envelopeSize = bytes.readUInt32LE(offset + 8);
  const bodySize = bytes.readUInt32LE(offset + 12);
  if (envelopeSize > ENVELOPE_SIZE_MAX || bodySize > BODY_SIZE_MAX) return null;
  return {
    crc: bytes.readUInt32LE(offset + 4),
    envelopeSize,
    bodySize,
    seq: Number(bytes.readBigUInt64LE(offset + 16)),
    durable: Number(bytes.readBigUInt64LE(offset + 24)),
  };
}

/** null when the text, although its checksum is right, is not an envelope. */
export function decodeEnvelope(bytes: Buffer): Envelope | null {
  let parts: unknown;
  try {
    parts = JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
  return Array.isArray(parts) ? envelopeOf(parts) : null;
}
