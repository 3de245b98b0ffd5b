// From the bytes that were received to the bytes of the payload: gunzip, first member only, bounded.

import { gunzipSync, inflateRawSync, type ZlibOptions } from 'node:zlib';
import { crc32 } from '../../crc32.ts';
import { CommandFailure } from './errors.ts';
import type { BodyInflater } from './inflater.ts';

/** Largest output buffer that is allocated because of the size field alone; larger outputs grow in chunks of this size. */
const CHUNK_MAX = 4 * 1024 * 1024;
const CHUNK_MIN = 16 * 1024;

/**
 * The payload's bytes. `sizeMax` bounds them, compressed or not. Throws CommandFailure: `not-gzip` without a gzip header,
 * `unreadable` for damaged or cut off data, `too-large`. With an `inflater` they may lie in its memory, where its next use
 * overwrites them.
 */
export function payloadBytes(
  body: Uint8Array,
  gzip: boolean,
  sizeMax: number,
  inflater: BodyInflater | null = null,
): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!gzip) {
    if (bytes.length > sizeMax) throw new CommandFailure('too-large', `The body has more than ${sizeMax} bytes.`);
    return bytes;
  }
  const headerSize = gzipHeaderSize(bytes);
  if (headerSize === 0) throw new CommandFailure('not-gzip', 'The body is labelled gzip but is not in gzip format.');
  // Of a body of one member this is the payload's size, and one buffer of that size will do.
  const sizeField = sizeFieldOf(bytes);
  const isFirstEmpty = bytes[headerSize] === 3 && bytes[headerSize + 1] === 0;
  const isPossible = sizeField <= Math.min(sizeMax, bytes.length * DEFLATE_RATIO_MAX);
  if (inflater !== null && isPossible && !isFirstEmpty) {
    const payload = inflater.inflate(bytes, sizeField);
    if (payload !== null) return payload;
  }
  const options: ZlibOptions = {
    maxOutputLength: Math.max(1, sizeMax),
    chunkSize: Math.max(CHUNK_MIN, Math.min(sizeField + 64, CHUNK_MAX)),
  };
  try {
    const payload = gunzipSync(bytes, options);
    if (payload.length === sizeField && !(payload.length > 0 && isFirstEmpty)) return payload;
  } catch {
    // What follows the first member may be anything: only the careful way can tell whether the first one is damaged, or too large.
  }
  return firstMember(bytes, headerSize, options, sizeMax);
}

/** About the size of the payload, without a look at it: what gzip tells may be wrong, but not more than the bytes could hold. */
export function payloadSize(body: Uint8Array, gzip: boolean): number {
  if (!gzip) return body.length;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return Math.min(sizeFieldOf(bytes), bytes.length * DEFLATE_RATIO_MAX);
}

/** What deflate makes of zeros. */
const DEFLATE_RATIO_MAX = 1032;

/** The last four bytes: the size modulo 2^32, if the body is one member. */
const sizeFieldOf = (bytes: Buffer): number => (bytes.length >= 18 ? bytes.readUInt32LE(bytes.length - 4) : 0);

function firstMember(bytes: Buffer, headerSize: number, options: ZlibOptions, sizeMax: number): Buffer {
  let inflated: { buffer: Buffer; engine: { bytesWritten: number } };
  try {
    inflated = inflateRawSync(bytes.subarray(headerSize), { ...options, info: true }) as unknown as typeof inflated;
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE')
      throw new CommandFailure('too-large', `The body decompresses to more than ${sizeMax} bytes.`);
    throw new CommandFailure('unreadable', `The gzip data is damaged: ${(error as Error).message}.`);
  }
  const payload = inflated.buffer;
  const trailer = headerSize + inflated.engine.bytesWritten;
  if (trailer + 8 > bytes.length) throw new CommandFailure('unreadable', 'The gzip data is cut off.');
  const intact =
    bytes.readUInt32LE(trailer) === crc32(payload) && bytes.readUInt32LE(trailer + 4) === payload.length >>> 0;
  if (!intact) throw new CommandFailure('unreadable', 'The gzip data is damaged: checksum or size do not match.');
  return payload;
}

const FHCRC = 2;
const FEXTRA = 4;
const FNAME = 8;
const FCOMMENT = 16;

/** Size of the gzip header (RFC 1952), 0 when the bytes do not begin with a complete one. */
function gzipHeaderSize(bytes: Buffer): number {
  if (bytes.length < 10 || bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8) return 0;
  const flags = bytes[3] as number;
  let size = 10;
  if (flags & FEXTRA) {
    if (size + 2 > bytes.length) return 0;
    size += 2 + bytes.readUInt16LE(size);
  }
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, size);
    if (end < 0) return 0;
    size = end + 1;
  }
  if (flags & FHCRC) size += 2;
  return size <= bytes.length ? size : 0;
}
