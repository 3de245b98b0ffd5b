// One request and its answer over a wire: gathers bodies within their bounds or hands them on in parts, sends answers whole
// or in parts, compresses them for clients that ask, and reports once when it is over. Knows nothing of sockets (wire.ts) or routes.
//
// A request's body is always read to its end before its answer goes out: clients that are still sending do not look for
// an answer, and some take a closed connection for a failure of the network.

import { gzip } from 'node:zlib';
import { joined } from '../../engine/bytes.ts';
import type { CertificateExtensions } from '../tls/certificate-extensions.ts';
import {
  BodiesFull,
  BodyTooLarge,
  type BodyWriter,
  ClientGone,
  type Exchange,
  type Reply,
  type ReplyHead,
  type RequestRecord,
} from './exchange.ts';
import { GZIP_LEVEL, GzipWriter } from './gzip.ts';
import type { Budget, HttpLimits } from './limits.ts';
import { PartQueue } from './part-queue.ts';
import type { Wire, WireHead } from './wire.ts';

export interface ExchangeContext {
  readonly limits: HttpLimits;
  readonly budget: Budget;
  /** Epoch ms. */
  readonly now: () => number;
  /** Called once per request, when nothing more will happen to it. */
  readonly onEnd: (record: RequestRecord) => void;
}

export class HttpExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: 'http' | 'https';
  readonly clientName: string | null;
  readonly remoteAddress: string;

  readonly #wire: Wire;
  readonly #context: ExchangeContext;
  readonly #started: number;
  readonly #clock: number;
  readonly #abortCallbacks: (() => void)[] = [];
  #body: 'unread' | 'reading' | 'read';
  /** Runs when the body has been read to its end; an answer that had to wait for that. */
  #afterBody: (() => void) | null = null;
  /** Bytes of the shared budget this request holds. */
  #held = 0;
  #status = 0;
  #bytes = 0;
  #answered = false;
  #over = false;
  #aborted = false;
  /** Bytes of a body that may be read, and thrown away, before the answer. */
  #drainMax: number;
  /** More than these have come. */
  #isOverlong = false;
  /** Tells who reads the body that no more of it will come. */
  #rejectBody: ((error: Error) => void) | null = null;
  #wakeWriter: (() => void) | null = null;
  #writer: StreamWriter | null = null;

  constructor(wire: Wire, context: ExchangeContext) {
    this.#wire = wire;
    this.#context = context;
    this.#drainMax = context.limits.drainBytesMax;
    this.#started = context.now();
    this.#clock = performance.now();
    this.method = wire.method;
    this.path = wire.path;
    this.queryString = wire.queryString;
    this.listener = wire.listener;
    this.clientName = wire.clientName;
    this.remoteAddress = wire.remoteAddress;
    this.#body = wire.hasBody ? 'unread' : 'read';
    wire.drained = () => this.#wakeWriter?.();
    wire.sent = () => this.#finish(true);
    wire.gone = () => this.#gone();
  }

  clientExtensions(): CertificateExtensions | null {
    return this.#wire.clientExtensions();
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Whether an answer has been begun. */
  get answered(): boolean {
    return this.#answered;
  }

  get base(): string {
    return `${this.listener}://${this.#wire.header('host') || 'localhost'}`;
  }

  header(name: string): string {
    return this.#wire.header(name);
  }

  has(name: string): boolean {
    return this.#wire.has(name);
  }

  /** Bytes of the body, as far as the request tells; NaN where it does not. */
  get #announced(): number {
    return Number(this.#wire.header('content-length') || Number.NaN);
  }

  onAbort(callback: () => void): void {
    if (this.#aborted) callback();
    else this.#abortCallbacks.push(callback);
  }

  body(max: number): Promise<Uint8Array> {
    if (this.#aborted) return Promise.reject(new ClientGone());
    if (this.#body === 'read') return Promise.resolve(new Uint8Array(0));
    if (this.#body === 'reading') throw new Error('a body can be read once');
    return new Promise((resolve, reject) => {
      this.#rejectBody = reject;
      let chunks: Uint8Array[] = [];
      let size = 0;
      let isRefused = false;
      const refuse = (refusal: Error): void => {
        isRefused = true;
        chunks = [];
        this.#release();
        reject(refusal);
      };
      if (this.#announced > max) refuse(new BodyTooLarge(max));
      this.#read(
        (chunk) => {
          size += chunk.byteLength;
          if (!isRefused && size > max) refuse(new BodyTooLarge(max));
          if (!isRefused && !this.#hold(chunk.byteLength)) refuse(new BodiesFull());
          if (isRefused) this.#thrownAway(size);
          else chunks.push(chunk);
        },
        () => {
          this.#rejectBody = null;
          if (!isRefused) resolve(ownPiece(chunks, size));
        },
      );
    });
  }

  async *bodyStream(max: number): AsyncGenerator<Uint8Array> {
    if (this.#aborted) throw new ClientGone();
    if (this.#body === 'read') return;
    if (this.#body === 'reading') throw new Error('a body can be read once');
    // Who sends what would have been taken gets to read why it was not.
    this.#drainMax = Math.max(this.#drainMax, max);
    if (this.#announced > max) throw new BodyTooLarge(max);
    const source = { pause: () => this.#wire.pauseBody(), resume: () => this.#wire.resumeBody() };
    const queue = new PartQueue(source, this.#context.limits.bodyBufferBytes);
    this.#rejectBody = (error) => queue.fail(error);
    let size = 0;
    this.#read(
      (chunk) => {
        size += chunk.byteLength;
        if (size <= max) {
          queue.put(chunk);
          return;
        }
        queue.fail(new BodyTooLarge(max));
        this.#thrownAway(size);
      },
      () => {
        this.#rejectBody = null;
        queue.end();
      },
      true,
    );
    yield* queue.read();
  }

  /** Ends an answer that cannot be completed by breaking the connection. */
  cut(): void {
    this.#wire.destroy();
  }

  reply(reply: Reply): void {
    if (!this.#begin(reply)) return;
    const body = reply.body ?? '';
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
    const { gzipBytesMin } = this.#context.limits;
    if (length >= gzipBytesMin && this.#compresses(reply)) {
      gzip(body, { level: GZIP_LEVEL }, (error, compressed) => {
        if (error !== null) this.#send(reply, body, length, null);
        else this.#send(reply, compressed, compressed.byteLength, 'gzip');
      });
    } else {
      this.#send(reply, body, length, null);
    }
  }

  stream(head: ReplyHead, size?: number): BodyWriter {
    const writer: StreamWriter = new StreamWriter(this.#wire, {
      count: (bytes) => {
        this.#bytes += bytes;
      },
      onWake: (wake) => {
        this.#wakeWriter = wake;
      },
      isHead: this.method === 'HEAD',
    });
    this.#writer = writer;
    if (!this.#begin(head)) {
      writer.close();
      return writer;
    }
    const coding = this.method !== 'HEAD' && this.#compresses(head) ? 'gzip' : null;
    const wireHead = this.#head(head, coding);
    this.#whenBodyRead(() => writer.open(wireHead, coding === 'gzip', size));
    return writer;
  }

  /** Reads and forgets the rest of the body, then cuts nothing: used when nobody answers any more. */
  #read(onChunk: (chunk: Uint8Array) => void, onEnd: () => void, isLong = false): void {
    this.#body = 'reading';
    const end = () => {
      this.#body = 'read';
      onEnd();
      this.#answerNow();
    };
    this.#wire.readBody({ chunk: onChunk, end }, isLong);
  }

  /** Before the end of a body that is too long to be thrown away. */
  #whenBodyRead(then: () => void): void {
    if (this.#body === 'read' || this.#isOverlong || this.#announced > this.#drainMax) then();
    else this.#afterBody = then;
    if (this.#body !== 'unread') return;
    let size = 0;
    this.#read(
      (chunk) => {
        size += chunk.byteLength;
        this.#thrownAway(size);
      },
      () => {},
    );
  }

  /** So many bytes of the body have come, and the last ones nobody wants. Who goes on long after the answer is cut off. */
  #thrownAway(size: number): void {
    if (size > this.#drainMax * 2) this.#wire.destroy();
    else if (size > this.#drainMax && !this.#isOverlong) {
      this.#isOverlong = true;
      this.#answerNow();
    }
  }

  #answerNow(): void {
    const after = this.#afterBody;
    this.#afterBody = null;
    after?.();
  }

  /** false: nothing can be sent any more. Throws when there is an answer already, or a header that would split it. */
  #begin(head: ReplyHead): boolean {
    if (this.#answered) throw new Error(`${this.method} ${this.path} has been answered`);
    for (const [name, value] of head.headers ?? []) checkHeader(name, value);
    if (head.contentType !== null) checkHeader('Content-Type', head.contentType);
    this.#answered = true;
    this.#status = head.status;
    return !this.#aborted;
  }

  #send(reply: Reply, body: Uint8Array | string, length: number, coding: string | null): void {
    const head = this.#head(reply, coding);
    this.#whenBodyRead(() => {
      if (this.#over) return;
      const isHead = this.method === 'HEAD';
      if (!isHead) this.#bytes = length;
      this.#wire.send(head, isHead || length === 0 ? null : body, length);
    });
  }

  #head(head: ReplyHead, coding: string | null): WireHead {
    const headers: (readonly [string, string])[] = [];
    if (head.contentType !== null) headers.push(['Content-Type', head.contentType]);
    if (head.headers !== undefined) headers.push(...head.headers);
    if (isCompressible(head)) headers.push(VARY);
    if (coding !== null) headers.push(['Content-Encoding', coding]);
    return { status: head.status, headers };
  }

  #compresses(head: ReplyHead): boolean {
    return this.#context.limits.gzip && isCompressible(head) && acceptsGzip(this.#wire.header('accept-encoding'));
  }

  #hold(bytes: number): boolean {
    if (!this.#context.budget.take(bytes)) return false;
    this.#held += bytes;
    return true;
  }

  #release(): void {
    this.#context.budget.give(this.#held);
    this.#held = 0;
  }

  #gone(): void {
    if (this.#over) return;
    this.#aborted = true;
    this.#afterBody = null;
    this.#writer?.close();
    this.#rejectBody?.(new ClientGone());
    for (const callback of this.#abortCallbacks) callback();
    this.#finish(false);
  }

  #finish(completed: boolean): void {
    if (this.#over) return;
    this.#over = true;
    this.#release();
    const wire = this.#wire;
    this.#context.onEnd({
      method: this.method,
      path: this.path,
      queryString: this.queryString,
      listener: this.listener,
      remoteAddress: this.remoteAddress,
      clientName: this.clientName,
      referer: wire.header('referer'),
      userAgent: wire.header('user-agent'),
      uncompressedLength: wire.header('x-uncompressed-length'),
      status: this.#status,
      bytes: this.#bytes,
      completed,
      started: this.#started,
      elapsedMs: performance.now() - this.#clock,
    });
  }
}

interface Part {
  readonly chunk: Uint8Array;
  readonly free: (() => void) | undefined;
}

interface WriterContext {
  readonly count: (bytes: number) => void;
  /** Whom to call when the wire has room again. */
  readonly onWake: (wake: () => void) => void;
  readonly isHead: boolean;
}

/** Takes what it is given at any time; tells with `write` and `drained` when it should be given more. */
class StreamWriter implements BodyWriter {
  readonly #wire: Wire;
  readonly #context: WriterContext;
  #gzip: GzipWriter | null = null;
  /** Before the request's body has been read to its end, parts of the answer wait here. */
  #early: Part[] | null = [];
  #earlyEnd = false;
  #isFull = false;
  /** Nothing more comes, and it is not complete. */
  #isCut = false;
  #isOver = false;
  #waiting: (() => void)[] = [];

  constructor(wire: Wire, context: WriterContext) {
    this.#wire = wire;
    this.#context = context;
    context.onWake(() => this.#room());
  }

  open(head: WireHead, isCompressed: boolean, size?: number): void {
    if (this.#isOver) return;
    this.#wire.start(head, isCompressed ? undefined : size);
    if (isCompressed) {
      this.#gzip = new GzipWriter({
        chunk: (chunk) => this.#put(chunk),
        room: () => this.#room(),
        end: () => (this.#isCut ? this.#breakOff() : this.#close(() => this.#wire.end())),
        failed: () => this.#breakOff(),
      });
    }
    const early = this.#early ?? [];
    this.#early = null;
    this.#isFull = false;
    for (const { chunk, free } of early) this.write(chunk, free);
    if (this.#earlyEnd) this.end();
    else if (!this.#isFull) this.#wake();
  }

  write(chunk: Uint8Array, free?: () => void): boolean {
    if (this.#isOver || this.#context.isHead || chunk.byteLength === 0) {
      free?.();
      return true;
    }
    if (this.#early !== null) {
      this.#early.push({ chunk, free });
      this.#isFull = true;
      return false;
    }
    const hasRoom = this.#gzip !== null ? this.#gzip.write(chunk, free) : this.#put(chunk, free);
    if (!hasRoom) this.#isFull = true;
    return hasRoom;
  }

  drained(): Promise<void> {
    if (this.#isOver || !this.#isFull) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  end(): void {
    if (this.#isOver) return;
    if (this.#early !== null) this.#earlyEnd = true;
    else if (this.#gzip !== null) this.#gzip.end();
    else this.#close(() => this.#wire.end());
  }

  abort(): void {
    if (this.#isOver) return;
    if (this.#gzip === null) {
      this.#breakOff();
      return;
    }
    // What was written last, often why it is cut, still lies in the compressor.
    this.#isCut = true;
    this.#gzip.end();
  }

  #breakOff(): void {
    this.#close(() => this.#wire.breakOff());
  }

  /** The client is gone: whoever waits for room is let go. */
  close(): void {
    this.#close(() => {});
  }

  #put(chunk: Uint8Array, free?: () => void): boolean {
    this.#context.count(chunk.byteLength);
    return this.#wire.write(chunk, free);
  }

  /** The wire, or the compressor behind which it stands, takes more. */
  #room(): void {
    if (this.#gzip?.resume() === false) return;
    this.#isFull = false;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  #close(last: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    last();
    this.#gzip?.destroy();
    for (const { free } of this.#early ?? []) free?.();
    this.#early = null;
    this.#wake();
  }
}

const VARY = ['Vary', 'Accept-Encoding, User-Agent'] as const;
/** Already compressed, or delivered as it happens. Octets of unknown kind are archives here. */
const INCOMPRESSIBLE = /^(?:image|audio|video)\/|^text\/event-stream|^application\/(?:octet-stream|gzip|zip|x-)/i;

const isCompressible = (head: ReplyHead): boolean =>
  head.status >= 200 &&
  head.status < 300 &&
  head.contentType !== null &&
  !INCOMPRESSIBLE.test(head.contentType) &&
  !(head.headers?.some(([name]) => name.toLowerCase() === 'content-encoding') ?? false);

/** Whether an Accept-Encoding header names gzip with a weight above zero. */
function acceptsGzip(header: string): boolean {
  if (header === '') return false;
  const match = /(?:^|,)\s*(?:x-)?gzip\s*(?:;\s*q\s*=\s*([\d.]+)\s*)?(?=,|$)/i.exec(header);
  return match !== null && Number(match[1] ?? 1) > 0;
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Throws for what would break out of its header line. */
function checkHeader(name: string, value: string): void {
  if (!HEADER_NAME.test(name)) throw new Error(`not a header name: ${JSON.stringify(name)}`);
  if (!HEADER_VALUE.test(value)) throw new Error(`not a value for header ${name}: ${JSON.stringify(value)}`);
}

/** One piece of memory that belongs to nobody else: slices of shared slabs cannot be transferred to a thread. */
function ownPiece(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const only = chunks.length === 1 ? chunks[0] : undefined;
  return only !== undefined && only.buffer.byteLength === size ? only : joined(chunks);
}
