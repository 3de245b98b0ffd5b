// Counts the rows of a streamed JSON array, and hands them on, for answers that are too long to be kept.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class RowCounter {
  rows = 0;
  #depth = 0;
  #quoted = false;
  #escaped = false;
  readonly #onRow: ((text: string) => void) | null;
  /** What earlier chunks held of the row that has begun. */
  #pieces: Uint8Array[] = [];

  /** `onRow` is called with the text of each row that is an object or an array. */
  constructor(onRow: ((text: string) => void) | null = null) {
    this.#onRow = onRow;
  }

  push(chunk: Uint8Array): void {
    let begin = this.#depth > 1 ? 0 : -1;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#escaped) {
        this.#escaped = false;
      } else if (this.#quoted) {
        if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#quoted = false;
      } else if (byte === QUOTE) {
        this.#quoted = true;
      } else if (byte === 0x7b || byte === 0x5b) {
        if (this.#depth === 1) begin = i;
        this.#depth++;
      } else if (byte === 0x7d || byte === 0x5d) {
        this.#depth--;
        if (this.#depth === 1) {
          this.rows++;
          this.#handOn(chunk.subarray(begin, i + 1));
          begin = -1;
        }
      }
    }
    if (begin >= 0 && this.#onRow !== null) this.#pieces.push(chunk.subarray(begin));
  }

  #handOn(end: Uint8Array): void {
    if (this.#onRow === null) return;
    this.#onRow(Buffer.concat([...this.#pieces, end]).toString('utf8'));
    this.#pieces = [];
  }

  /** Whether all that was opened has been closed. */
  get complete(): boolean {
    return this.#depth === 0 && !this.#quoted;
  }
}
