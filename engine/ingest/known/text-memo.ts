// Values by text, for texts that come again and again: many small ones, asked for often. (The few large ones of
// catalog-layouts.ts are dropped one by one; a Map is slow at that when it is large.)

interface Entry<T> {
  readonly value: T;
  /** What text and value take, in bytes. */
  readonly size: number;
}

/** What an entry costs beside its text and value. */
const ENTRY_BYTES = 150;

/** The least recently used half is dropped when what texts and values take exceeds a number of bytes. */
export class TextMemo<T> {
  readonly #halfMax: number;
  #young = new Map<string, Entry<T>>();
  #old = new Map<string, Entry<T>>();
  /** Of the young ones. */
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#halfMax = bytesMax / 2;
  }

  get(text: string): T | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young.value;
    const old = this.#old.get(text);
    if (old === undefined) return undefined;
    this.#add(text, old);
    return old.value;
  }

  /** For a text that is not there. `bytes`: what the value takes beside the text; what takes more than half is not kept. */
  set(text: string, value: T, bytes: number): void {
    const size = bytes + text.length + ENTRY_BYTES;
    if (size <= this.#halfMax) this.#add(text, { value, size });
  }

  #add(text: string, entry: Entry<T>): void {
    this.#bytes += entry.size;
    if (this.#bytes > this.#halfMax) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = entry.size;
    }
    this.#young.set(text, entry);
  }
}
