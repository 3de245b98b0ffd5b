// What one listener may use, in one place. Memory: bodies of requests that are being read or worked on take at most
// `bodiesBytesMax` together, one that is taken in parts `bodyBufferBytes` of its own; an answer waits in at most `answerBufferBytes` (plus one chunk) per connection; request heads
// take `headBytesMax` each while they arrive.

export interface HttpLimits {
  /** Request line and headers. */
  readonly headBytesMax: number;
  /** All request bodies of the listener together. */
  readonly bodiesBytesMax: number;
  /** Bytes of a body in parts that may wait for their handler before the client has to. */
  readonly bodyBufferBytes: number;
  /** How much of a refused body is read (and thrown away) before the answer, and then again before the connection is cut. */
  readonly drainBytesMax: number;
  /** Bytes of an answer that may wait for the client before the producer is told to stop. */
  readonly answerBufferBytes: number;
  /** A connection between requests is closed after so many milliseconds. */
  readonly idleMs: number;
  /** A client that neither sends the rest of its request nor takes more of its answer for so long is cut off. */
  readonly stallMs: number;
  /** The same for the rest of a body that is taken in parts: an archive may come from a server that has to look for what comes next. */
  readonly stallLongMs: number;
  /** From the first byte of a request to the end of its headers. */
  readonly headMs: number;
  /** From the first byte of a request to the end of its body, unless that is taken in parts. */
  readonly requestMs: number;
  /** A body that takes longer to arrive is given up where there is no room for another one. */
  readonly slowBodyMs: number;
  /** Connections of a listener at the same time; those that come then are closed. */
  readonly connectionsMax: number;
  /** Requests that one connection may have sent ahead of their answers: with so many it is read no further. */
  readonly pipelineMax: number;
  /** One that has sent more than these is cut: what was read together had very many, each of which takes far more memory than its bytes. */
  readonly pipelineCut: number;
  /** Whether answers are compressed for clients that ask for it, and from how many bytes on it is worth it. */
  readonly gzip: boolean;
  readonly gzipBytesMin: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const HTTP_LIMITS: HttpLimits = {
  headBytesMax: 256 * KIB,
  bodiesBytesMax: 512 * MIB,
  bodyBufferBytes: 256 * KIB,
  drainBytesMax: 256 * MIB,
  answerBufferBytes: 256 * KIB,
  idleMs: 30_000,
  stallMs: 30_000,
  stallLongMs: 3_600_000,
  headMs: 30_000,
  requestMs: 600_000,
  slowBodyMs: 30_000,
  connectionsMax: Number.POSITIVE_INFINITY,
  pipelineMax: 16,
  pipelineCut: 256,
  gzip: true,
  gzipBytesMin: KIB,
};

/** Bytes in use, with a ceiling. */
export class Budget {
  readonly #max: number;
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** false: does not fit, nothing was taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#max) return false;
    this.#used += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}
