// One request and its answer, as handlers see them. The listener implements this; handlers know nothing
// of it, so every route is a function that tests can call.

import type { CertificateExtensions } from '../tls/certificate-extensions.ts';

/** What a request came by: a connection in cleartext, or one through the TLS gate. */
export type ListenerKind = 'http' | 'https';

export interface Exchange {
  readonly method: string;
  /** Path as sent, percent-encoded, without the query string. */
  readonly path: string;
  /** Query string without `?`; empty when there is none. */
  readonly queryString: string;
  /** Header value by lower-case name; empty text when the header was not sent (`has` tells the difference). */
  header(name: string): string;
  has(name: string): boolean;
  readonly listener: ListenerKind;
  /** Common name of the verified client certificate, null on cleartext. */
  readonly clientName: string | null;
  /** What that certificate says beside the name; null on cleartext, and when it cannot be read. */
  clientExtensions(): CertificateExtensions | null;
  /** Address of who is at the other end of the connection; empty when that is gone. */
  readonly remoteAddress: string;
  /** Scheme and authority as the client sees them: `http://localhost:8080`. */
  readonly base: string;

  /**
   * The whole body, at most `max` bytes, in memory that is not used again. Rejects with BodyTooLarge or BodiesFull, in both
   * cases after the body has been read to its end, and with ClientGone.
   */
  body(max: number): Promise<Uint8Array>;

  /**
   * The body in parts, for bodies of any size up to `max` bytes: the client sends on only as parts are taken, and may take
   * its time as long as it sends at all. Instead of `body`, once. Parts may be kept. Throws BodyTooLarge,
   * and ClientGone when the connection breaks; leaving the loop early drops the rest.
   */
  bodyStream(max: number): AsyncIterable<Uint8Array>;

  /** Sends the whole answer. */
  reply(reply: Reply): void;
  /** Starts a streamed answer. `size`: bytes that will be written, when they are known. */
  stream(head: ReplyHead, size?: number): BodyWriter;
  /** Calls back once when the client goes away before the answer is complete; closing its side of the connection is going, too. */
  onAbort(callback: () => void): void;
  readonly aborted: boolean;
  /** Then: who broke the connection, for the log: `the client has left`. */
  readonly whyAborted: string;
}

export interface ReplyHead {
  readonly status: number;
  /** Full Content-Type value; null sends none. */
  readonly contentType: string | null;
  readonly headers?: readonly (readonly [string, string])[];
}
export interface Reply extends ReplyHead {
  readonly body: string | Uint8Array | null;
}

export interface BodyWriter {
  /**
   * false: the socket is full; wait for `drained` before writing more (what was given is kept and will be sent). `free` is called,
   * once, when the bytes are not needed any more, whatever has become of them.
   */
  write(chunk: Uint8Array, free?: () => void): boolean;
  /** Resolves when there is room again, or the client is gone. */
  drained(): Promise<void>;
  end(): void;
  /** Breaks the connection, once what was written has gone out, without completing the answer. */
  abort(): void;
}

export class BodyTooLarge extends Error {
  readonly max: number;
  constructor(max: number) {
    super(`body larger than ${max} bytes`);
    this.name = 'BodyTooLarge';
    this.max = max;
  }
}

/** The bodies of all requests that are being read or worked on take all the memory there is for them. */
export class BodiesFull extends Error {
  constructor() {
    super('too many requests at once, try again later');
    this.name = 'BodiesFull';
  }
}

/** The connection broke before the request was complete. Nobody is left to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client went away');
    this.name = 'ClientGone';
  }
}

/** What is known of a request once it is over, for logs and metrics. */
export interface RequestRecord {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: ListenerKind;
  readonly remoteAddress: string;
  readonly clientName: string | null;
  readonly referer: string;
  readonly userAgent: string;
  /** X-Uncompressed-Length as sent; empty when it was not. */
  readonly uncompressedLength: string;
  /** 0: the client went away before there was an answer. */
  readonly status: number;
  /** Body bytes of the answer as sent (compressed ones when compressed). */
  readonly bytes: number;
  /** false: the connection broke before the answer was complete. */
  readonly completed: boolean;
  /** Epoch ms. */
  readonly started: number;
  readonly elapsedMs: number;
}

/** Answers one exchange. A rejected promise becomes a 500 (BodyTooLarge a 413, BodiesFull a 503). */
export type Handler = (exchange: Exchange) => void | Promise<void>;

/** A subtree of paths and who answers it. `prefix` without trailing slash, empty for everything; the longest match wins. */
export interface Mount {
  readonly prefix: string;
  readonly handler: Handler;
  /** true: answers below `/pdb` also while the server is starting (static files). */
  readonly whileStarting?: boolean;
}
