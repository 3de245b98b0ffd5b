// Key codecs. LMDB orders keys bytewise, so integers are big-endian and texts are UTF-8. LMDB bounds a key at 1978 bytes:
// longer texts keep a prefix and a digest, so a key is only ever a hint for long texts and readers compare the record.

import { hash as cryptoHash } from 'node:crypto';

/** Longest text kept whole in a key, bytes. */
export const KEY_TEXT_MAX = 1000;

/** UTF-8 bytes of a text, shortened with its SHA-1 when longer than KEY_TEXT_MAX. */
export function textKey(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length === 0) return Buffer.from([0]); // LMDB refuses empty keys; no other text encodes to one NUL byte and is stored
  if (bytes.length <= KEY_TEXT_MAX) return bytes;
  return Buffer.concat([
    bytes.subarray(0, KEY_TEXT_MAX),
    Buffer.from([0]),
    Buffer.from(cryptoHash('sha1', bytes, 'hex'), 'hex'),
  ]);
}

/** The text that `textKey` made a key of; null where the key is not all of it. */
export function textOfKey(key: Buffer): string | null {
  if (key.length > KEY_TEXT_MAX) return null;
  return key.length === 1 && key[0] === 0 ? '' : key.toString('utf8');
}

/** The keys of all texts that begin with one that is not empty. */
export function textKeyRange(prefix: string): { readonly start: Buffer; readonly end: Buffer } {
  const start = Buffer.from(prefix, 'utf8').subarray(0, KEY_TEXT_MAX);
  const end = Buffer.from(start);
  end[end.length - 1]!++; // no byte of UTF-8 is 255
  return { start, end };
}

/** First 16 bytes of SHA-1: the content address of a body. */
export const digest16 = (content: string | Uint8Array): Buffer => Buffer.from(digestText(content), 'latin1');

/** The same as a text of 16 characters, one for each byte: made and read faster than hexadecimal digits, and than a buffer of its own. */
export const digestText = (content: string | Uint8Array): string => cryptoHash('sha1', content, 'binary').slice(0, 16);

/** What to know a text by in memory: itself, or its digest where that is shorter. */
export const shortKey = (text: string): string => (text.length <= SHORT_MAX ? text : digestText(text));
const SHORT_MAX = 100;

/** An id as a value: a u32, big-endian. */
export function idValue(id: number): Buffer {
  const value = Buffer.allocUnsafe(4);
  value.writeUInt32BE(id, 0);
  return value;
}

/** The id of such a value; 0: there is none. */
export const idIn = (value: Buffer | undefined): number => (value === undefined ? 0 : value.readUInt32BE(0));

/** Two u32, big-endian. */
export function pairKey(first: number, second: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(first, 0);
  key.writeUInt32BE(second, 4);
  return key;
}

/** A chunk of an index entry: what all its chunks begin with, then the chunk's number. */
export function chunkKey(prefix: Uint8Array, chunk: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.length + 4);
  key.set(prefix);
  key.writeUInt32BE(chunk, prefix.length);
  return key;
}

/** Bytes of a text that stand whole in an index key. */
export const INDEX_TEXT_MAX = 480;

/** What all index entries with these texts begin with: the tag, then each text ended by NUL. */
export function indexPrefix(tag: number, texts: readonly string[]): Buffer {
  let size = 1;
  for (const text of texts) size += text.length * 3 + 1;
  if (size > prefixScratch.length) return longPrefix(tag, texts);
  prefixScratch[0] = tag;
  let at = 1;
  for (const text of texts) {
    at += prefixScratch.write(text, at, 'utf8');
    prefixScratch[at++] = 0;
  }
  return Buffer.from(prefixScratch.subarray(0, at));
}
/** Texts that have room in it are kept whole. */
const prefixScratch = Buffer.allocUnsafeSlow(INDEX_TEXT_MAX);

function longPrefix(tag: number, texts: readonly string[]): Buffer {
  const parts: Buffer[] = [Buffer.from([tag])];
  for (const text of texts) {
    let bytes = Buffer.from(text, 'utf8');
    if (bytes.length > INDEX_TEXT_MAX) {
      bytes = Buffer.concat([bytes.subarray(0, INDEX_TEXT_MAX), Buffer.from(cryptoHash('sha1', bytes, 'hex'), 'hex')]);
    }
    parts.push(bytes, ZERO);
  }
  return Buffer.concat(parts);
}
const ZERO = Buffer.from([0]);

/** The smallest key greater than every key with this prefix. */
export function prefixEnd(prefix: Uint8Array): Buffer {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i]! < 0xff) {
      end[i]!++;
      return end.subarray(0, i + 1);
    }
  }
  return Buffer.alloc(64, 0xff);
}

/** Time (epoch ms, may be negative) and id, ordered by time. */
export function timeKey(time: number, id: number): Buffer {
  const key = Buffer.allocUnsafe(12);
  // In two halves: ten times as fast as a BigInt. The offset keeps the whole Date range positive.
  const whole = Math.round(time);
  const high = Math.floor(whole / TWO_32);
  key.writeUInt32BE(high + TIME_OFFSET_HIGH, 0);
  key.writeUInt32BE(whole - high * TWO_32, 4);
  key.writeUInt32BE(id, 8);
  return key;
}
const TWO_32 = 2 ** 32;
/** High half of 2^60. */
const TIME_OFFSET_HIGH = 2 ** 28;

/** Before, and behind, the keys of all times. */
export const FIRST_TIME_KEY = Buffer.alloc(12);
export const LAST_TIME_KEY = Buffer.alloc(13, 0xff);

export const timeOfKey = (key: Buffer): number =>
  (key.readUInt32BE(0) - TIME_OFFSET_HIGH) * TWO_32 + key.readUInt32BE(4);
export const idOfTimeKey = (key: Buffer): number => key.readUInt32BE(8);

/** u64 as a key. */
export function seqKey(seq: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeBigUInt64BE(BigInt(seq), 0);
  return key;
}
