// Values by text, for texts that come again and again.

/** The least recently used half is dropped when what texts and values take exceeds a number of bytes. */
export class TextMemo<T> {
  readonly #bytesMax: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** `bytes`: what a value takes beside the text; asked when an old one is used again, too. */
  get(text: string, bytes: number): T | undefined {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.set(text, old, bytes);
    return old;
  }

  set(text: string, value: T, bytes: number): void {
    const size = bytes + text.length + ENTRY_BYTES;
    this.#bytes += size;
    if (this.#bytes > this.#bytesMax / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = size;
    }
    this.#young.set(text, value);
  }
}

/** What an entry costs beside its text and value. */
const ENTRY_BYTES = 120;
