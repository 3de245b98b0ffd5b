// Compression by Node's zlib: at once, or on Node's pool, whole and in parts.

import { createGzip, type Gzip, gzip, gzipSync } from 'node:zlib';
import { type Compressor, type GzipSink, type GzipWriter, WAITING_MAX } from './compressor.ts';

/** Fast beats small: the clients are near, and JSON rows compress well at any level. */
const WHOLE = { level: 1 };
/** For a body in parts a larger table of what was seen makes up for its memory. */
const IN_PARTS = { level: 1, memLevel: 9, chunkSize: 64 << 10, writableHighWaterMark: WAITING_MAX };

class ZlibWriter implements GzipWriter {
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

  write(chunk: Uint8Array, free?: () => void): boolean {
    this.#inputFull = !this.#zlib.write(chunk, free);
    return !this.#inputFull && !this.#wireFull;
  }

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

export const zlib: Compressor = {
  atOnceMax: 32 << 10,
  atOnce: (body) => gzipSync(body, WHOLE),
  writer: (sink) => new ZlibWriter(sink),
};

/** A whole body of any size, on the pool; null: that failed. */
export const compressElsewhere = (body: Uint8Array | string, then: (compressed: Uint8Array | null) => void): void =>
  gzip(body, WHOLE, (error, compressed) => then(error === null ? compressed : null));
