// The file of a segment that the command log needs no more is kept for the next one: a durable write over blocks that a file has already takes
// half the time of one that makes it longer. So behind the records of a segment may stand those of an earlier one, which have another salt.

import { type LogFile, type LogFileSystem, writeAll } from './files.ts';
import { encodeSegmentHeader, type SegmentHeader } from './record.ts';
import type { Segment } from './segments.ts';

/** What stands in its name behind that of the segment that it was. */
const SPARE = '.spare';

export const isSpare = (name: string): boolean => name.endsWith(SPARE);

interface Spare {
  readonly path: string;
  readonly file: LogFile;
}

/** At most one is kept. */
export class SpareFile {
  readonly #files: LogFileSystem;
  readonly #segmentSizeMax: number;
  #spare: Spare | null = null;
  /** Becomes the spare one once its old name is gone for good: until then a power failure makes it the segment again that it was. */
  #leaving: Spare | null = null;

  constructor(files: LogFileSystem, segmentSizeMax: number) {
    this.#files = files;
    this.#segmentSizeMax = segmentSizeMax;
  }

  /**
   * Keeps the file of a segment that is not needed any more, if that is worth it. True: it has lost its name as a segment; call `settle` once
   * that is durable, or `forget` when it cannot be made so.
   */
  async keep(segment: Segment): Promise<boolean> {
    const { file, size } = segment;
    if (file === null || this.#spare !== null) return false;
    // Of one that a large command made long most would never be used again.
    if (size < this.#segmentSizeMax / 2 || size > this.#segmentSizeMax * 2) return false;
    const path = `${segment.path}${SPARE}`;
    try {
      await this.#files.rename(segment.path, path);
    } catch {
      return false;
    }
    segment.file = null;
    // A backup that is being made holds its segments by links, which nobody can make any more.
    const { nlink } = await file.stat().catch(() => ({ nlink: 2 }));
    if (nlink > 1) await this.#remove({ path, file });
    else this.#leaving = { path, file };
    return true;
  }

  settle(): void {
    this.#spare ??= this.#leaving;
    this.#leaving = null;
  }

  async forget(): Promise<void> {
    const leaving = this.#leaving;
    if (leaving !== null) await this.#remove(leaving);
    this.#leaving = null;
  }

  /** The spare file as the segment of that path and header; null when there is none, or when it cannot become that. */
  async as(path: string, header: SegmentHeader): Promise<LogFile | null> {
    const spare = this.#spare;
    if (spare === null) return null;
    this.#spare = null;
    try {
      // What has the name of a segment has its whole header.
      await writeAll(spare.file, [encodeSegmentHeader(header)], 0);
      await this.#files.rename(spare.path, path);
      return spare.file;
    } catch {
      await this.#remove(spare);
      return null;
    }
  }

  async drop(): Promise<void> {
    const spare = this.#spare;
    this.#spare = null;
    if (spare !== null) await this.#remove(spare);
  }

  /** What cannot be removed now is removed when the log is opened again. */
  async #remove({ file, path }: Spare): Promise<void> {
    await file.close().catch(() => {});
    await this.#files.remove(path).catch(() => {});
  }
}
