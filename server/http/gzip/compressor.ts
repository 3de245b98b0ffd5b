// What compresses answers: by the system's ISA-L where that can be called (isal.ts), by Node's zlib elsewhere (zlib.ts).

/** Bytes of an answer that wait, and whom to tell once they are not needed any more. */
export interface Part {
  readonly chunk: Uint8Array;
  readonly free: (() => void) | undefined;
}

/** Where the compressed bytes of an answer in parts go. */
export interface GzipSink {
  /** false: no more until `resume`. */
  chunk(chunk: Uint8Array): boolean;
  /** The compressor takes more input again. */
  room(): void;
  /** Everything has been given to `chunk`. */
  end(): void;
  failed(error: Error): void;
}

/**
 * An answer in parts, on its way from its producer to the wire. It is compressed on other threads; both sides push back: while the wire is
 * full nothing more is compressed, and while enough waits for that the producer waits.
 */
export interface GzipWriter {
  /** false: wait for `room`. `free` is called when the bytes have been read, or never will be. */
  write(chunk: Uint8Array, free?: () => void): boolean;
  /** The wire has room. Returns whether the producer may go on too. */
  resume(): boolean;
  end(): void;
  destroy(): void;
}

export interface Compressor {
  /** Bytes of a whole body up to which compressing it at once takes less of the calling thread than handing it to another one. */
  readonly atOnceMax: number;
  atOnce(body: Uint8Array | string): Uint8Array;
  writer(sink: GzipSink): GzipWriter;
}

/** Bytes of an answer in parts that wait while the part before them is compressed: enough that the compressor need not wait for them. */
export const WAITING_MAX = 256 << 10;
