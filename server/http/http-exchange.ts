// One request and its answer over a wire: gathers bodies within their bounds or hands them on in parts, sends answers whole
// or in parts, compresses them for clients that ask, and reports once when it is over. Knows nothing of sockets (wire.ts) or routes.
//
// A request's body is always read to its end before its answer goes out: clients that are still sending do not look for
// an answer, and some take a closed connection for a failure of the network.

import type { CertificateExtensions } from '../tls/certificate-extensions.ts';
import { BodyPieces } from './body-pieces.ts';
import {
  BodiesFull,
  BodyTooLarge,
  type BodyWriter,
  ClientGone,
  type Exchange,
  type ListenerKind,
  type Reply,
  type ReplyHead,
  type RequestRecord,
} from './exchange.ts';
import { compress } from './gzip/gzip.ts';
import type { Budget, HttpLimits } from './limits.ts';
import { PartQueue } from './part-queue.ts';
import { StreamWriter } from './stream-writer.ts';
import type { Wire, WireHead } from './wire.ts';

interface ExchangeContext {
  readonly limits: HttpLimits;
  readonly budget: Budget;
  /** Epoch ms. */
  readonly now: () => number;
  /** Called where the budget has no room left: asks the others that are arriving for some. */
  readonly makeRoom: () => void;
  /** Called once per request, when nothing more will happen to it. */
  readonly onEnd: (record: RequestRecord) => void;
}

export class HttpExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: ListenerKind;
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
  /** More than `#drainMax` bytes have come. */
  #isOverlong = false;
  /** While a whole body arrives: gives up what has come of it. */
  #refuseBody: ((refusal: Error) => void) | null = null;
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
    wire.makeRoom = () => this.#makeRoom();
  }

  clientExtensions(): CertificateExtensions | null {
    return this.#wire.clientExtensions();
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get whyAborted(): string {
    return this.#wire.whyGone;
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
    if (this.#aborted) {
      callback();
      return;
    }
    this.#abortCallbacks.push(callback);
    this.#wire.needClient();
  }

  body(max: number): Promise<Uint8Array> {
    if (this.#aborted) return Promise.reject(new ClientGone());
    if (this.#body === 'read') return Promise.resolve(new Uint8Array(0));
    if (this.#body === 'reading') throw new Error('a body can be read once');
    return new Promise((resolve, reject) => {
      this.#rejectBody = reject;
      const pieces = new BodyPieces();
      let size = 0;
      let isRefused = false;
      const refuse = (refusal: Error): void => {
        isRefused = true;
        this.#refuseBody = null;
        pieces.clear();
        this.#release();
        reject(refusal);
      };
      this.#refuseBody = refuse;
      if (this.#announced > max) refuse(new BodyTooLarge(max));
      this.#read(
        (chunk) => {
          size += chunk.byteLength;
          if (!isRefused && size > max) refuse(new BodyTooLarge(max));
          if (!isRefused && !this.#hold(chunk.byteLength)) refuse(new BodiesFull());
          if (isRefused) this.#thrownAway(size);
          else pieces.add(chunk);
        },
        () => {
          this.#rejectBody = null;
          this.#refuseBody = null;
          if (!isRefused) resolve(pieces.join());
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
      compress(body, length, (compressed) => {
        if (compressed === null) this.#send(reply, body, length, null);
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

  /** Reads the body: gives its chunks to `onChunk`, and sends an answer that waited for its end. */
  #read(onChunk: (chunk: Uint8Array) => void, onEnd: () => void, isLong = false): void {
    this.#body = 'reading';
    const end = () => {
      this.#body = 'read';
      onEnd();
      this.#answerNow();
    };
    this.#wire.readBody({ chunk: onChunk, end }, isLong);
  }

  /** Runs `then`, which sends the answer, at the end of the body; at once where that is too long to be read and thrown away. */
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

  /** `size` bytes of the body have come, and nobody wants the rest: beyond `#drainMax` the answer goes out, beyond twice that the connection is cut. */
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
    const { budget, makeRoom } = this.#context;
    let isTaken = budget.take(bytes);
    if (!isTaken) {
      makeRoom();
      isTaken = budget.take(bytes);
    }
    if (isTaken) this.#held += bytes;
    return isTaken;
  }

  /** A client must not keep the memory from others by sending slowly. */
  #makeRoom(): void {
    const isSlow = performance.now() - this.#clock >= this.#context.limits.slowBodyMs;
    if (isSlow) this.#refuseBody?.(new BodiesFull());
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
