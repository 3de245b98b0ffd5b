// The seam between the exchange (what handlers see) and the library that speaks HTTP. A wire is one request and the place
// for its answer; it knows framing, sockets and time-outs, and nothing of bodies as a whole, compression or content.
//
// Rules: `start` once, then `write` any number of times, then `end`; or `send` alone. After `gone` no method does
// anything. Callbacks are set by the exchange before it returns from the listener's callback.

import type { Duplex } from 'node:stream';
import type { CertificateExtensions } from '../tls/certificate-extensions.ts';
import type { ListenerKind } from './exchange.ts';

export interface WireHead {
  readonly status: number;
  /** Names and values, checked: they hold no line breaks. Framing headers are the wire's. */
  readonly headers: readonly (readonly [string, string])[];
}

export interface BodySink {
  /** The bytes may be kept; they may be a part of larger memory. */
  chunk(chunk: Uint8Array): void;
  end(): void;
}

export interface Wire {
  readonly method: string;
  /** Path and query string as sent. */
  readonly path: string;
  readonly queryString: string;
  header(name: string): string;
  has(name: string): boolean;
  readonly remoteAddress: string;
  readonly listener: ListenerKind;
  readonly clientName: string | null;
  clientExtensions(): CertificateExtensions | null;
  /** Whether the request announces a body (a length other than 0, or chunks). */
  readonly hasBody: boolean;

  /** Lets the body flow. Called once at most. `isLong`: it may take any time as long as something comes. */
  readBody(sink: BodySink, isLong: boolean): void;
  /** No more of the body for now, but for what is on its way already. The client waits; no time-out runs for it. */
  pauseBody(): void;
  resumeBody(): void;

  /** The whole answer. `body` null: the client gets the head alone, with `length` in it. */
  send(head: WireHead, body: Uint8Array | string | null, length: number): void;
  /** Begins an answer of that many bytes; without them, of unknown length. */
  start(head: WireHead, length?: number): void;
  /** false: the socket is full, `drained` follows. The bytes must not change before `free` has been called, which it is once. */
  write(chunk: Uint8Array, free?: () => void): boolean;
  end(): void;
  /** Leaves an answer incomplete: what was written goes out, then the connection breaks. */
  breakOff(): void;
  /** Cuts the connection at once. */
  destroy(): void;
  /** The answer costs too much to be made for nobody: a client that closes its side counts as gone. */
  needClient(): void;

  /** There is room again after `write` returned false. */
  drained: (() => void) | null;
  /** The answer is complete and handed to the operating system. */
  sent: (() => void) | null;
  /** Others have no room for their bodies. */
  makeRoom: (() => void) | null;
  /** The connection broke before that. */
  gone: (() => void) | null;
  /** Then: who broke it, for the log. */
  readonly whyGone: string;
}

/** Who is behind a connection, as far as somebody has proved it. */
export interface ClientIdentity {
  /** Common name of the verified certificate. */
  readonly name: string | null;
  readonly address: string;
  /** What that certificate says beside the name. */
  extensions(): CertificateExtensions | null;
}

/** A source of wires: one of the libraries. */
export interface HttpServer {
  /** Resolves with the real port. Rejects when the address cannot be had. */
  listen(host: string, port: number): Promise<number>;
  /** Serves a connection that somebody else accepted (and decrypted). */
  accept(socket: Duplex, client: ClientIdentity): void;
  /** Every further answer is the last one of its connection; there may be new ones. */
  endConnections(): void;
  /** The next answer of each connection that there is now is the last one of it. */
  renewConnections(): void;
  /** The same, and no new connections; idle ones are closed. */
  stopListening(): void;
  /** Asks each request that is being handled to give up memory for others, if it can. */
  makeRoom(): void;
  destroyConnections(): void;
  readonly connectionCount: number;
}
