// Counts the rows of a streamed JSON array, for answers that are too long to be kept.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class RowCounter {
  rows = 0;
  #depth = 0;
  #quoted = false;
  #escaped = false;

  push(chunk: Uint8Array): void {
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
        this.#depth++;
      } else if (byte === 0x7d || byte === 0x5d) {
        this.#depth--;
        if (this.#depth === 1) this.rows++;
      }
    }
  }

  /** Whether all that was opened has been closed. */
  get complete(): boolean {
    return this.#depth === 0 && !this.#quoted;
  }
}
