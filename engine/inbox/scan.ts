// Reads a segment from a record to its end, checking every byte, with memory for one window and not for the bodies.
//
// Where the bytes stop making sense there are two cases. A torn tail: the process or the machine died while a group of
// records was written; none of them was acknowledged, so the tail may be cut. Damage: something that had been synced is
// gone, and cutting would silently lose acknowledged commands. Each record says how many bytes of the segment were durable
// when it was written; a valid record further on that claims the bad offset as durable proves damage.

import { crc32 } from '../crc32.ts';
import type { Envelope } from './envelope.ts';
import { type LogFile, readFully } from './files.ts';
import { decodeEnvelope, decodeRecordHeader, RECORD_HEADER_SIZE, type RecordHeader } from './record.ts';

const WINDOW_SIZE = 2 << 20;

/** What is wrong where nothing tells that a record of this segment ever began there. */
export const NO_RECORD = 'no record begins here';

interface ScannedRecord {
  readonly seq: number;
  readonly offset: number;
  readonly headSize: number;
  readonly bodySize: number;
  readonly envelope: Envelope;
}

interface ScanResult {
  /** Offset after the last good record. */
  readonly end: number;
  /** What is wrong at `end`, or null when the segment simply ends there. */
  readonly bad: string | null;
}

interface ScanOptions {
  readonly file: LogFile;
  readonly salt: number;
  /** Where a record begins. */
  readonly from: number;
  /** Bytes of the file that count. */
  readonly size: number;
  /** Every record must have a larger seq. */
  readonly seqAfter: number;
  readonly onRecord: (record: ScannedRecord) => void;
}

/** A sliding window over a file. */
class Window {
  readonly #file: LogFile;
  readonly #buffer = Buffer.allocUnsafe(WINDOW_SIZE);
  #start = 0;
  #end = 0;

  constructor(file: LogFile) {
    this.#file = file;
  }

  /** Bytes [offset, offset + length) of the file; shorter at its end. Valid until the next call. `length` <= WINDOW_SIZE. */
  async view(offset: number, length: number): Promise<Buffer> {
    if (offset < this.#start || offset + length > this.#end) {
      this.#start = offset;
      this.#end = offset + (await readFully(this.#file, this.#buffer, WINDOW_SIZE, offset));
    }
    const from = offset - this.#start;
    return this.#buffer.subarray(from, Math.min(from + length, this.#end - this.#start));
  }
}

export async function scanSegment(options: ScanOptions): Promise<ScanResult> {
  const { salt, size, onRecord } = options;
  const window = new Window(options.file);
  let seq = options.seqAfter;
  let offset = options.from;
  while (offset < size) {
    const start = await window.view(offset, Math.min(RECORD_HEADER_SIZE, size - offset));
    const header = start.length < RECORD_HEADER_SIZE ? null : decodeRecordHeader(start, 0, salt);
    if (header === null) return { end: offset, bad: await headerProblem(window, start, { offset, size, salt }) };
    const headSize = RECORD_HEADER_SIZE + header.envelopeSize;
    const end = offset + headSize + header.bodySize;
    if (end > size) return { end: offset, bad: 'record is cut short' };
    const head = await window.view(offset, headSize);
    if (head.length < headSize) return { end: offset, bad: 'record is cut short' };
    const envelope = decodeEnvelope(head.subarray(RECORD_HEADER_SIZE));
    const crc = await checksum(window, offset, end, salt);
    if (crc !== header.crc) return { end: offset, bad: 'checksum of the record' };
    if (envelope === null) return { end: offset, bad: 'envelope of the record' };
    if (header.seq <= seq) return { end: offset, bad: `seq ${header.seq} after seq ${seq}` };
    seq = header.seq;
    onRecord({ seq, offset, headSize, bodySize: header.bodySize, envelope });
    offset = end;
  }
  return { end: offset, bad: null };
}

/** What is wrong with bytes that are no header of a record: they may have been one of this segment. */
async function headerProblem(window: Window, bytes: Buffer, place: RecordPlace): Promise<string> {
  const mark = markOf(place.salt).subarray(0, bytes.length);
  const isMarked = bytes.subarray(0, mark.length).equals(mark);
  if (bytes.length < RECORD_HEADER_SIZE) return isMarked ? 'record header is cut short' : NO_RECORD;
  if (isMarked) return 'header of the record';
  const header = decodeRecordHeader(bytes, 0, bytes.readUInt32LE(0));
  return header !== null && (await isIntact(window, header, place)) ? 'salt of the record' : NO_RECORD;
}

/** What a record begins with. */
function markOf(salt: number): Buffer {
  const mark = Buffer.alloc(4);
  mark.writeUInt32LE(salt);
  return mark;
}

async function checksum(window: Window, offset: number, end: number, salt: number): Promise<number> {
  let crc = salt;
  for (let at = offset + 8; at < end; ) {
    const part = await window.view(at, Math.min(end - at, WINDOW_SIZE));
    if (part.length === 0) return -1;
    crc = crc32(part, crc);
    at += part.length;
  }
  return crc;
}

interface SearchedPart {
  readonly file: LogFile;
  readonly salt: number;
  readonly from: number;
  /** Bytes of the file that count. */
  readonly size: number;
}

/** Offset of the first intact record from `from` on whose header is accepted; null: there is none. */
export async function findRecord(
  { file, salt, from, size }: SearchedPart,
  accepts: (header: RecordHeader) => boolean,
): Promise<number | null> {
  const window = new Window(file);
  const mark = markOf(salt);
  let at = from;
  while (size - at >= RECORD_HEADER_SIZE) {
    const bytes = await window.view(at, WINDOW_SIZE);
    if (bytes.length < RECORD_HEADER_SIZE) return null;
    const hit = bytes.indexOf(mark);
    if (hit < 0 || hit + RECORD_HEADER_SIZE > bytes.length) {
      // Step so that a record header across the window's edge is seen whole in the next one.
      at += hit < 0 ? bytes.length - 3 : Math.max(hit, 1);
      continue;
    }
    const header = decodeRecordHeader(bytes, hit, salt);
    const offset = at + hit;
    if (header !== null && accepts(header) && (await isIntact(window, header, { offset, size, salt }))) return offset;
    at = offset + 1;
  }
  return null;
}

interface RecordPlace {
  readonly offset: number;
  /** Bytes of the file that count. */
  readonly size: number;
  readonly salt: number;
}

/** Whether the checksum is that of a record with this header there. */
async function isIntact(window: Window, header: RecordHeader, place: RecordPlace): Promise<boolean> {
  const end = place.offset + RECORD_HEADER_SIZE + header.envelopeSize + header.bodySize;
  if (end > place.size) return false;
  return (await checksum(window, place.offset, end, place.salt)) === header.crc;
}
