// What the files of a command log hold when it is opened: their records, and the stretches that cannot be read.
//
// Seqs only grow, so what stands on both sides of such a stretch says which commands it can have held:
//
//   record or header before it: seq a | stretch | record behind it: seq b                     a + 1 to b - 1
//                                               | header behind it: first seq b               a + 1 to b - 1
//                                               | end of the log, and seq b is known applied  a + 1 to b
//
// At the end of the log a stretch need not be damage: a group that was being written when the process or the machine died is cut
// off, because nobody had been told of it. That it had been acknowledged is proven by a record behind it that was written when it was durable, or by
// a partition that has applied what should stand there.

import { join } from 'node:path';
import { naming } from '../reason.ts';
import { diskFiles, type LogFile, type LogFileSystem, readFully } from './files.ts';
import { decodeSegmentHeader, type RecordHeader, SEGMENT_HEADER_SIZE, type SegmentHeader } from './record.ts';
import { findRecord, NO_RECORD, scanSegment } from './scan.ts';
import { type StoredIn, StreamCorrupt, type StreamRecord } from './stream.ts';

export interface Segment {
  readonly path: string;
  readonly header: SegmentHeader;
  file: LogFile | null;
  /** The same for whoever reads bodies. */
  readonly storedIn: StoredIn;
  /** Bytes that count: everything before is durable. */
  size: number;
  /** Records not released yet. */
  live: number;
}

export const newSegment = (path: string, header: SegmentHeader, file: LogFile, size: number): Segment => ({
  path,
  header,
  file,
  storedIn: { path, fd: file.fd, salt: header.salt },
  size,
  live: 0,
});

/** Of a record. */
export interface Place {
  readonly segment: Segment;
  readonly offset: number;
  readonly headSize: number;
}

export const segmentName = (number: number): string => `${String(number).padStart(10, '0')}.commands`;
const SEGMENT_NAME = /^\d{10,}\.commands$/;
/** Whether a file is one, by its name. */
export const isSegment = (name: string): boolean => SEGMENT_NAME.test(name);

/** A stretch that cannot be read although it had been acknowledged. */
export interface Damage {
  readonly error: StreamCorrupt;
  /** The commands that were there have seqs from here on, up to `to`; Infinity: nothing tells up to where. */
  readonly from: number;
  readonly to: number;
  /** Nothing that can be read stands behind it. */
  readonly isLast: boolean;
}

/** What the segments of a log hold. */
export interface ReadSegments {
  /** Those with a header, oldest first; open. */
  readonly segments: readonly Segment[];
  readonly records: readonly StreamRecord[];
  /** In the order of the log. */
  readonly damages: readonly Damage[];
  /** Files without a header that can be read. */
  readonly useless: readonly string[];
  /** What is wrong with the last file where it is one of those, and not taken for damaged as there is no more than a header in it; else null. */
  readonly unbegun: StreamCorrupt | null;
  /** What is wrong where the last record ends: what is left there of others does not count; null: nothing is left. */
  readonly tail: StreamCorrupt | null;
}

interface ReadOptions {
  readonly dir: string;
  readonly files: LogFileSystem;
  readonly flags: 'r' | 'r+';
  /** Commands up to this seq were acknowledged: the largest position any partition has stored. */
  readonly seqAfter: number;
}

/** A file that has the name of a segment. */
interface Found {
  readonly path: string;
  readonly segment: Segment | null;
  /** Why it is none. */
  readonly problem: string | null;
  /** It may never have become one: no record, and no further segment, is written before the header is durable. */
  readonly isUnbegun: boolean;
}

/** Reads every segment. The segments are open afterwards, unless this throws (NewerSegment, or what the system said). */
export async function readSegments(options: ReadOptions): Promise<ReadSegments> {
  const found: Found[] = [];
  try {
    const names = (await options.files.list(options.dir)).filter(isSegment).sort();
    for (const name of names) {
      const path = join(options.dir, name);
      found.push(await naming(path, () => openSegment(path, name === names.at(-1), options)));
    }
    const reader = new SegmentReader(options.seqAfter);
    for (let i = 0; i < found.length; i++) {
      await naming(found[i]!.path, () => reader.add(found[i]!, found[i + 1] ?? null));
    }
    return reader.finish();
  } catch (error) {
    await closeAll(found);
    throw error;
  }
}

export async function closeAll(segments: Iterable<Segment | Found>): Promise<void> {
  for (const one of segments) await ('segment' in one ? one.segment : one)?.file?.close();
}

/** What is damaged in a file with the name of a segment, nothing behind it. Changes nothing. Throws NewerSegment. */
export async function damagesOfSegment(path: string): Promise<readonly Damage[]> {
  const found = await openSegment(path, true, { files: diskFiles, flags: 'r' });
  try {
    const reader = new SegmentReader(0);
    await reader.add(found, null);
    return reader.finish().damages;
  } finally {
    await closeAll([found]);
  }
}

async function openSegment(
  path: string,
  isLast: boolean,
  { files, flags }: Pick<ReadOptions, 'files' | 'flags'>,
): Promise<Found> {
  const file = await files.open(path, flags);
  let segment: Segment | null = null;
  try {
    const { size } = await file.stat();
    const start = Buffer.alloc(SEGMENT_HEADER_SIZE);
    const length = await readFully(file, start, SEGMENT_HEADER_SIZE, 0);
    const header = decodeSegmentHeader(start.subarray(0, length), path);
    if (typeof header !== 'string') {
      segment = newSegment(path, header, file, size);
      return { path, segment, problem: null, isUnbegun: false };
    }
    return { path, segment: null, problem: header, isUnbegun: isLast && size <= SEGMENT_HEADER_SIZE };
  } finally {
    if (segment === null) await file.close();
  }
}

/** Reads one segment after the other. */
class SegmentReader {
  readonly #seqAfter: number;
  readonly #segments: Segment[] = [];
  readonly #records: StreamRecord[] = [];
  readonly #damages: Damage[] = [];
  readonly #useless: string[] = [];
  #unbegun: StreamCorrupt | null = null;
  #tail: StreamCorrupt | null = null;
  /** Every command with a larger seq stands further on. */
  #seq = 0;
  /** A stretch whose end was not seen yet. */
  #open: Pick<Damage, 'error' | 'from'> | null = null;
  /** What was added last has no header that can be read. */
  #isBlind = false;

  constructor(seqAfter: number) {
    this.#seqAfter = seqAfter;
  }

  /** `next`: what is added after it; null: nothing. */
  async add({ path, segment, problem, isUnbegun }: Found, next: Found | null): Promise<void> {
    if (segment === null) {
      this.#useless.push(path);
      const error = new StreamCorrupt(path, 0, problem!);
      if (isUnbegun) {
        this.#unbegun = error;
        return;
      }
      this.#lose(error);
      this.#isBlind = true;
      return;
    }
    const { number, previousNumber, firstSeq } = segment.header;
    const before = this.#segments.at(-1)?.header.number ?? previousNumber;
    if (before !== previousNumber) {
      this.#lose(new StreamCorrupt(path, 28, `segment ${segmentName(previousNumber)} is missing`));
    }
    this.#isBlind = false;
    this.#segments.push(segment);
    this.#see(firstSeq);
    const following = next?.segment?.header;
    const counts = following?.previousNumber === number ? following.previousSize : null;
    await this.#read(segment, counts, next === null || next.isUnbegun);
  }

  finish(): ReadSegments {
    const segment = this.#segments.at(-1);
    if (segment !== undefined && this.#seq < this.#seqAfter) {
      this.#lose(new StreamCorrupt(segment.path, segment.size, `seq ${this.#seqAfter} was applied and is not there`));
    }
    if (this.#open !== null) {
      const isKnown = !this.#isBlind && this.#seqAfter >= this.#open.from;
      this.#damages.push({ ...this.#open, to: isKnown ? this.#seqAfter : Number.POSITIVE_INFINITY, isLast: true });
    }
    return {
      segments: this.#segments,
      records: this.#records,
      damages: this.#damages,
      useless: this.#useless,
      unbegun: this.#unbegun,
      tail: this.#tail,
    };
  }

  /** `counts`: bytes of it that count; null: that is not known. */
  async #read(segment: Segment, counts: number | null, isLast: boolean): Promise<void> {
    const { path, header } = segment;
    const { salt } = header;
    const file = segment.file!;
    const size = Math.min(segment.size, counts ?? segment.size);
    const short =
      counts === null || segment.size >= counts
        ? null
        : new StreamCorrupt(path, segment.size, `file is shorter than its ${counts} bytes`);
    segment.size = counts ?? segment.size;
    for (let from: number | null = SEGMENT_HEADER_SIZE; from !== null; ) {
      const { end, bad } = await scanSegment({
        file,
        salt,
        from,
        size,
        seqAfter: this.#seq,
        onRecord: ({ seq, offset, headSize, bodySize, envelope }) => {
          this.#see(seq);
          this.#seq = seq;
          const place: Place = { segment, offset, headSize };
          this.#records.push({ seq, envelope, bytes: bodySize, place });
          segment.live++;
        },
      });
      if (bad === null) break;
      const behind = await findRecord({ file, salt, from: end + 1, size }, () => true);
      const found = async (accepts: (header: RecordHeader) => boolean): Promise<number | null> =>
        behind === null ? null : findRecord({ file, salt, from: behind, size }, accepts);
      const proof = isLast ? await found(({ durable }) => durable > end) : null;
      if (isLast && proof === null && this.#seq >= this.#seqAfter) {
        segment.size = end;
        // Where nothing of this segment is, it is what was in the file before: that stays, as when it was written to.
        if (bad !== NO_RECORD || behind !== null) this.#tail = new StreamCorrupt(path, end, bad);
        return;
      }
      from = await found(({ seq }) => seq > this.#seq);
      if (from === null && counts === null && !isLast) {
        // How much of it counts said the header that is damaged or missing, which is told. Behind that anything may stand.
        segment.size = end;
        return;
      }
      const why = proof === null ? '' : `, before the intact record at offset ${proof}: not a torn tail`;
      const error = new StreamCorrupt(path, end, `${bad}${why}`);
      this.#lose(from === null && short !== null ? short : error);
      if (from === null && isLast) {
        segment.size = end;
        this.#tail = this.#open!.error;
      }
    }
    if (short !== null) this.#lose(short);
  }

  /** What cannot be read begins, unless it has already. */
  #lose(error: StreamCorrupt): void {
    this.#open ??= { error, from: this.#seq + 1 };
  }

  /** Whatever stands further on has this seq or a larger one. */
  #see(seq: number): void {
    if (this.#open !== null && this.#open.from < seq) {
      this.#damages.push({ ...this.#open, to: seq - 1, isLast: false });
    }
    this.#open = null;
    this.#seq = Math.max(this.#seq, seq - 1);
  }
}
