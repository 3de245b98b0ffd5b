// Answers compressed, whole or on their way from their producer to the wire. For the latter zlib works on its own threads; here only
// the back-pressure of both sides is joined: while the wire is full nothing more is taken out of zlib, and while zlib is full the
// producer waits.

import { createGzip, type Gzip, gzip, gzipSync } from 'node:zlib';

/** Fast beats small: the clients are near, and JSON rows compress well at any level. */
const WHOLE = { level: 1 };
/**
 * For a body in parts a larger table of what was seen makes up for its memory. So many bytes wait while the part before them is compressed
 * that the compressor need not wait for them.
 */
const IN_PARTS = { level: 1, memLevel: 9, chunkSize: 64 << 10, writableHighWaterMark: 256 << 10 };

/** Bytes of a body up to which it is compressed at once: that takes less of the calling thread than handing it to another one. */
const AT_ONCE_MAX = 32 << 10;

/** The body compressed, at once or later; null: another thread failed to. `length`: its bytes. */
export function compress(
  body: Uint8Array | string,
  length: number,
  then: (compressed: Uint8Array | null) => void,
): void {
  if (length <= AT_ONCE_MAX) then(gzipSync(body, WHOLE));
  else gzip(body, WHOLE, (error, compressed) => then(error === null ? compressed : null));
}

export interface GzipSink {
  /** false: no more until `resume`. */
  chunk(chunk: Uint8Array): boolean;
  /** zlib takes more input again. */
  room(): void;
  /** Everything has been given to `chunk`. */
  end(): void;
  failed(error: Error): void;
}

export class GzipWriter {
  readonly #zlib: Gzip;
  #wireFull = false;
  #inputFull = false;

  constructor(sink: GzipSink) {
    this.#zlib = createGzip(IN_PARTS);
    this.#zlib.on('data', (chunk: Buffer) => {
      if (sink.chunk(chunk)) return;
      this.#wireFull = true;
      this.#zlib.pause();
    });
    this.#zlib.on('drain', () => {
      this.#inputFull = false;
      if (!this.#wireFull) sink.room();
    });
    this.#zlib.on('end', () => sink.end());
    this.#zlib.on('error', (error) => sink.failed(error));
  }

  /** false: wait for `room`. `free` is called when the bytes have been read, or never will be. */
  write(chunk: Uint8Array, free?: () => void): boolean {
    this.#inputFull = !this.#zlib.write(chunk, free);
    return !this.#inputFull && !this.#wireFull;
  }

  /** The wire has room. Returns whether the producer may go on too. */
  resume(): boolean {
    if (this.#wireFull) {
      this.#wireFull = false;
      this.#zlib.resume();
    }
    return !this.#inputFull;
  }

  end(): void {
    this.#zlib.end();
  }

  destroy(): void {
    this.#zlib.destroy();
  }
}
