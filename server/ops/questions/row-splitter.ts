// Cuts the UTF-8 text of a JSON list into the texts of its elements, however it arrives. Reads every byte once, and of those within
// strings four at a time.

import { textOf, wordsOf } from '../../../engine/bytes.ts';
import { BACKSLASH, CLOSE_LIST, CLOSE_MAP, COMMA, OPEN_LIST, OPEN_MAP, QUOTE } from '../../../engine/json/ascii.ts';
import { hasStop, STOPS } from '../../../engine/json/stops.ts';

export class RowSplitter {
  /** Parts of the element that is not complete yet. */
  #parts: Buffer[] = [];
  /** Brackets open so far. 0: outside the list. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  #closed = false;

  /** The elements that end in the chunk, which must not change before the next element has been taken. */
  *push({ buffer, byteOffset, byteLength: end }: Uint8Array): IterableIterator<string> {
    const chunk = Buffer.from(buffer, byteOffset, end);
    const words = wordsOf(chunk);
    let start = 0;
    let at = 0;
    while (at < end) {
      if (this.#inString) {
        at = this.#endOfString(chunk, words, at);
        continue;
      }
      const unit = chunk[at++]!;
      if (unit === QUOTE) this.#inString = true;
      else if (unit === OPEN_LIST || unit === OPEN_MAP) {
        this.#depth++;
        if (this.#depth === 1) start = at;
      } else if (unit === CLOSE_LIST || unit === CLOSE_MAP) {
        this.#depth--;
        if (this.#depth > 0) continue;
        const last = this.#take(chunk.subarray(start, at - 1));
        start = at;
        this.#closed = true;
        if (last !== '') yield last;
      } else if (unit === COMMA && this.#depth === 1) {
        const element = this.#take(chunk.subarray(start, at - 1));
        start = at;
        yield element;
      }
    }
    if (this.#depth > 0 && start < end) this.#parts.push(chunk.subarray(start));
  }

  /** Throws when the list is not complete. */
  end(): void {
    if (!this.#closed) throw new SyntaxError('the answer is not a complete JSON array');
  }

  /** Behind the string in which `at` is, or the end of the chunk. */
  #endOfString(chunk: Uint8Array, words: DataView, at: number): number {
    const end = chunk.length;
    while (at < end) {
      if (this.#escaped) {
        this.#escaped = false;
        at++;
        continue;
      }
      while (at + 4 <= end && !hasStop(words.getInt32(at, true))) at += 4;
      while (at < end && STOPS[chunk[at]!] === 0) at++;
      if (at === end) break;
      const unit = chunk[at++]!;
      if (unit === BACKSLASH) this.#escaped = true;
      else if (unit === QUOTE) {
        this.#inString = false;
        break;
      }
    }
    return at;
  }

  #take(end: Buffer): string {
    const parts = this.#parts;
    this.#parts = [];
    return textOf(parts.length === 0 ? end : Buffer.concat([...parts, end])).trim();
  }
}
