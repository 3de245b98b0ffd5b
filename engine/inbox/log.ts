// The embedded command stream: a segmented append-only log on local disk, one for all partitions, so that one durable write
// acknowledges whatever many submitters sent meanwhile (group commit).
//
//   append --> #waiting --(one group at a time)--> writev (durable) --> deliver each record, resolve each append
//
// A group that fails is refused as a whole and never trusted: its bytes are cut off where there was no room for them; where
// that fails, or the disk did, the segment is left for a new one whose header records how much of the old one counts. Segments
// are removed oldest first, when none of their records is needed any more: that order keeps the chain of headers complete.

import { join } from 'node:path';
import { isGone, naming } from '../reason.ts';
import { nothingLost, refusalFor } from './damage.ts';
import type { Envelope } from './envelope.ts';
import { diskFiles, type LogFile, type LogFileSystem, writeAll } from './files.ts';
import {
  BODY_SIZE_MAX,
  ENVELOPE_SIZE_MAX,
  encodeRecordHead,
  encodeSegmentHeader,
  SEGMENT_HEADER_SIZE,
  type SegmentHeader,
  sealRecord,
} from './record.ts';
import {
  closeAll,
  type Damage,
  newSegment,
  type Place,
  type ReadSegments,
  readSegments,
  type Segment,
  segmentName,
} from './segments.ts';
import { isSpare, SpareFile } from './spare.ts';
import { type CommandStream, type Deliver, type StoredBody, type StreamRecord, StreamUnavailable } from './stream.ts';

export interface LogOptions {
  /** Directory of the segments; created with mode 0700. */
  readonly dir: string;
  /** Seqs given out are larger than this: the largest position any partition has stored. */
  readonly seqAfter: number;
  /** Positions of all partitions, flushed: asked only where a part of the log cannot be read. Absent: nothing is known to be applied. */
  readonly flushedPositions?: () => Promise<readonly number[]>;
  readonly log?: { info(line: string): void; warn(line: string): void };
  /** Random unsigned 32-bit integers. */
  readonly random: () => number;
  /** A segment that has reached this size gets no further group. */
  readonly segmentSizeMax?: number;
  /** One group takes no more records once it has this many bytes; a single larger record is a group of its own. */
  readonly groupSizeMax?: number;
  readonly files?: LogFileSystem;
}

const SEGMENT_SIZE_MAX = 32 << 20;
const GROUP_SIZE_MAX = 8 << 20;
/** Keeps one writev below what systems take in a call. */
const GROUP_RECORDS_MAX = 500;
/** After these failures the disk still does what it is told, and bytes that are cut off are gone. After any other that is not sure. */
const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

interface Append {
  readonly envelope: Envelope;
  readonly head: Buffer;
  readonly body: Uint8Array;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: Error) => void;
}

interface LogStats {
  /** Bytes of all segments. */
  readonly size: number;
  /** Records not released yet. */
  readonly live: number;
}

/**
 * Opens the log, or begins one. Where damage is passed over and the new segment that this takes cannot be made, the log is in trouble, and
 * delivers what it has. Rejects with StreamCorrupt, NewerSegment, or what the system said.
 */
export async function openLog(options: LogOptions): Promise<CommandLog> {
  const files = options.files ?? diskFiles;
  await files.makeDirectory(options.dir);
  const log = new CommandLog(options, files, await openSegments(options, files));
  if (!(await log.recover()) && log.stats().size === 0) {
    await log.close();
    throw log.trouble ?? new Error(`${options.dir}: cannot create a segment`);
  }
  return log;
}

/**
 * Reads every segment, cuts off what does not count of the last one, and removes files of no use. Throws StreamCorrupt where commands are lost
 * that are not known to be applied, or NewerSegment; nothing is changed then.
 */
async function openSegments(options: LogOptions, files: LogFileSystem): Promise<ReadSegments> {
  const { dir, seqAfter, log } = options;
  const read = await readSegments({ dir, files, flags: 'r+', seqAfter });
  const { segments, damages, useless, unbegun, tail } = read;
  try {
    if (damages.length > 0) await requireApplied(damages, options);
    const spares = (await files.list(dir)).filter(isSpare).map((name) => join(dir, name));
    for (const path of [...spares, ...useless]) await files.remove(path);
    if (unbegun !== null) log?.info(`${unbegun.message}; removed: nothing tells that there was more in it`);
    const { file, path = '', size } = segments.at(-1) ?? { file: null, size: 0 };
    if (tail !== null && file !== null) {
      await naming(path, () => file.truncate(size));
      await naming(path, () => file.datasync());
      if (damages.at(-1)?.error !== tail) log?.info(`${tail.message}; cut off: nothing tells that it was acknowledged`);
    }
  } catch (error) {
    await closeAll(segments);
    throw error;
  }
  return read;
}

/** Throws StreamCorrupt unless all that cannot be read is known to be applied. */
async function requireApplied(damages: readonly Damage[], { flushedPositions, log }: LogOptions): Promise<void> {
  if (flushedPositions === undefined) throw damages[0]!.error;
  const positions = await flushedPositions();
  for (const damage of damages) {
    const refusal = refusalFor(damage, positions);
    if (refusal !== null) throw refusal;
  }
  for (const damage of damages) log?.warn(`${damage.error.message}; passed over: ${nothingLost(damage)}`);
}

/** Use `openLog`. */
export class CommandLog implements CommandStream {
  readonly #dir: string;
  readonly #files: LogFileSystem;
  readonly #random: () => number;
  readonly #segmentSizeMax: number;
  readonly #groupSizeMax: number;
  /** Oldest first; appends go to the last one. */
  readonly #segments: Segment[];
  #backlog: StreamRecord[];
  #seq: number;
  #deliver: Deliver | null = null;
  #waiting: Append[] = [];
  #writing: Promise<void> | null = null;
  #trouble: Error | null = null;
  #recovering: Promise<boolean> | null = null;
  #closed = false;
  #removing: Promise<void> = Promise.resolve();
  readonly #spare: SpareFile;

  constructor(options: LogOptions, files: LogFileSystem, { segments, records, damages }: ReadSegments) {
    this.#dir = options.dir;
    this.#files = files;
    this.#random = options.random;
    this.#segmentSizeMax = options.segmentSizeMax ?? SEGMENT_SIZE_MAX;
    this.#groupSizeMax = options.groupSizeMax ?? GROUP_SIZE_MAX;
    this.#spare = new SpareFile(files, this.#segmentSizeMax);
    this.#segments = [...segments];
    this.#backlog = [...records];
    this.#seq = Math.max(options.seqAfter, (segments.at(-1)?.header.firstSeq ?? 0) - 1, records.at(-1)?.seq ?? 0);
    // A segment with a damaged stretch gets no further group, so that it goes when what is left of it is applied.
    this.#trouble = damages.at(-1)?.error ?? null;
  }

  get trouble(): Error | null {
    return this.#trouble;
  }

  stats(): LogStats {
    let size = 0;
    let live = 0;
    for (const segment of this.#segments) {
      size += segment.size;
      live += segment.live;
    }
    return { size, live };
  }

  async append(envelope: Envelope, body: Uint8Array): Promise<number> {
    if (this.#closed) throw new StreamUnavailable('the command log is closed');
    if (this.#trouble !== null) throw unavailable(this.#trouble);
    if (body.length > BODY_SIZE_MAX) throw new RangeError(`a body of ${body.length} bytes is too large`);
    const head = encodeRecordHead(envelope, body.length);
    if (head.length > ENVELOPE_SIZE_MAX) throw new RangeError('the envelope is too large');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ envelope, head, body, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  subscribe(deliver: Deliver): void {
    if (this.#deliver !== null) throw new Error('the command log has a subscriber already');
    this.#deliver = deliver;
    const backlog = this.#backlog;
    this.#backlog = [];
    for (const record of backlog) deliver(record);
  }

  locate({ seq, bytes, place }: StreamRecord): StoredBody {
    const { segment, offset, headSize } = place as Place;
    if (segment.file === null) throw new Error(`seq ${seq} was released`);
    return { file: segment.storedIn, seq, offset, headSize, bytes };
  }

  release(record: StreamRecord): void {
    const { segment } = record.place as Place;
    if (segment.live <= 0) throw new Error(`seq ${record.seq} was released twice`);
    segment.live--;
    if (segment.live === 0 && segment === this.#segments[0] && this.#segments.length > 1) {
      this.#removing = this.#removing.then(() => this.#removeOldest());
    }
  }

  recover(): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    // Appends in flight decide about the last segment themselves.
    if (this.#writing !== null) return this.#writing.then(() => this.#trouble === null);
    if (this.#trouble === null && this.#segments.length > 0) return Promise.resolve(true);
    this.#recovering ??= this.#roll().finally(() => {
      this.#recovering = null;
    });
    return this.#recovering;
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#writing !== null) await this.#writing;
    await this.#recovering;
    await this.#removing;
    await this.#spare.drop();
    for (const segment of this.#segments) {
      if (segment === this.#segments.at(-1)) await cutOff(segment);
      await segment.file?.close();
      segment.file = null;
    }
  }

  async #write(): Promise<void> {
    // Lets everything that arrives in this turn of the event loop into the first group.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      const failure = this.#trouble ?? (await this.#writeGroup(group));
      if (failure !== null) for (const append of group) append.reject(unavailable(failure));
    }
    this.#writing = null;
  }

  #takeGroup(): Append[] {
    let size = 0;
    let count = 0;
    while (count < this.#waiting.length && count < GROUP_RECORDS_MAX && size < this.#groupSizeMax) {
      const append = this.#waiting[count++]!;
      size += append.head.length + append.body.length;
    }
    return this.#waiting.splice(0, count);
  }

  /** Writes, syncs, delivers and resolves; or leaves the log as it was (or in trouble) and returns why. */
  async #writeGroup(group: readonly Append[]): Promise<Error | null> {
    if (this.#segments.at(-1)!.size >= this.#segmentSizeMax && !(await this.#roll())) return this.#trouble;
    const segment = this.#segments.at(-1)!;
    const { salt } = segment.header;
    const buffers: Uint8Array[] = [];
    const records: StreamRecord[] = [];
    let offset = segment.size;
    for (const { envelope, head, body } of group) {
      const seq = ++this.#seq;
      sealRecord(head, body, seq, salt, segment.size);
      buffers.push(head, body);
      const place: Place = { segment, offset, headSize: head.length };
      records.push({ seq, envelope, bytes: body.length, place });
      offset += head.length + body.length;
    }
    try {
      await naming(segment.path, () => writeAll(segment.file!, buffers, segment.size));
    } catch (error) {
      await this.#leave(segment, error as NodeJS.ErrnoException);
      return error as Error;
    }
    segment.size = offset;
    segment.live += records.length;
    for (let i = 0; i < records.length; i++) {
      group[i]!.resolve(records[i]!.seq);
      if (this.#deliver === null) this.#backlog.push(records[i]!);
      else this.#deliver(records[i]!);
    }
    return null;
  }

  /** After a failed group: the segment ends where it ended before, on disk too, or is not used any more. */
  async #leave(segment: Segment, { code = '' }: NodeJS.ErrnoException): Promise<void> {
    if (NO_ROOM.has(code)) {
      try {
        await segment.file!.truncate(segment.size);
        await segment.file!.datasync();
        return;
      } catch {
        // The tail stays: the next segment's header says that it does not count.
      }
    }
    await this.#roll();
  }

  /** Begins a new segment. false: not possible now, and `trouble` says why. */
  async #roll(): Promise<boolean> {
    const last = this.#segments.at(-1) ?? null;
    const header: SegmentHeader = {
      number: (last?.header.number ?? 0) + 1,
      firstSeq: this.#seq + 1,
      salt: this.#random() >>> 0 || 1,
      previousNumber: last?.header.number ?? 0,
      previousSize: last?.size ?? 0,
    };
    const path = join(this.#dir, segmentName(header.number));
    let file: LogFile | null = null;
    try {
      file = await this.#spare.as(path, header);
      if (file === null) {
        file = await this.#openNew(path);
        const opened = file;
        await naming(path, () => writeAll(opened, [encodeSegmentHeader(header)], 0));
      }
      await this.#files.syncDirectory(this.#dir);
    } catch (error) {
      this.#trouble = error as Error;
      await file?.close().catch(() => {});
      if (file !== null) await this.#files.remove(path).catch(() => {});
      return false;
    }
    this.#segments.push(newSegment(path, header, file, SEGMENT_HEADER_SIZE));
    this.#trouble = null;
    this.#removing = this.#removing.then(() => this.#removeOldest());
    return true;
  }

  async #openNew(path: string): Promise<LogFile> {
    try {
      return await this.#files.open(path, 'wx+');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      // Left behind by an attempt of this very segment that could not be removed: it never held a record.
      await this.#files.remove(path);
      return this.#files.open(path, 'wx+');
    }
  }

  /**
   * Removes what is not needed from the front, each removal durable before the next: a gap in the chain would look like
   * lost commands. What cannot be removed now is tried again with the next segment.
   */
  async #removeOldest(): Promise<void> {
    while (this.#segments.length > 1 && this.#segments[0]!.live === 0) {
      const segment = this.#segments[0]!;
      try {
        if (this.#closed || !(await this.#spare.keep(segment))) {
          await segment.file?.close();
          segment.file = null;
          await this.#files.remove(segment.path);
        }
        await this.#files.syncDirectory(this.#dir);
        this.#spare.settle();
      } catch (error) {
        await this.#spare.forget();
        if (!isGone(error)) return;
      }
      this.#segments.shift();
    }
  }
}

/** Cuts off what stands behind the records: it is not looked at when the log is opened again, and not taken for a record that was torn. */
async function cutOff({ file, size }: Segment): Promise<void> {
  try {
    if (file === null || (await file.stat()).size <= size) return;
    await file.truncate(size);
    await file.datasync();
  } catch {
    // Then they are looked at.
  }
}

const unavailable = (cause: Error): StreamUnavailable =>
  new StreamUnavailable(`the command log cannot be written: ${cause.message}`, { cause });
