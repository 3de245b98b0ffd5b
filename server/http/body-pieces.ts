// The bytes of one body, as they come. A client may send them in chunks of one byte each, and what Node keeps of such a chunk is
// hundreds of times its size: those are put together.

import { joined } from '../../engine/bytes.ts';

/** Chunks that are kept as they are, however small. */
const LOOSE_MAX = 16;
/** Bytes below which a further chunk is copied into a block, and bytes of a block. */
const SMALL = 4096;
const BLOCK = 65_536;

export class BodyPieces {
  #pieces: Uint8Array[] = [];
  /** Small chunks that are no piece yet, and how much of the block they take. */
  #block: Uint8Array | null = null;
  #filled = 0;

  add(chunk: Uint8Array): void {
    if (this.#pieces.length < LOOSE_MAX || chunk.byteLength >= SMALL) {
      this.#close();
      this.#pieces.push(chunk);
      return;
    }
    this.#block ??= new Uint8Array(BLOCK);
    if (this.#filled + chunk.byteLength > BLOCK) this.#close();
    this.#block.set(chunk, this.#filled);
    this.#filled += chunk.byteLength;
  }

  #close(): void {
    if (this.#filled > 0) this.#pieces.push(this.#block!.slice(0, this.#filled));
    this.#filled = 0;
  }

  /** Forgets them. */
  clear(): void {
    this.#pieces = [];
    this.#block = null;
    this.#filled = 0;
  }

  /** All of them in one piece. A slice is copied even if it is alone: it would keep the whole slab, of which only its own bytes are counted. */
  join(): Uint8Array {
    this.#close();
    const only = this.#pieces.length === 1 ? this.#pieces[0] : undefined;
    return only !== undefined && only.buffer.byteLength === only.byteLength ? only : joined(this.#pieces);
  }
}
