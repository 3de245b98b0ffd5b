// One request of node:http, and its answer, as a wire. Whose move it is, the client's or the handler's, it knows at any time: that decides
// whether a silent connection is at fault (node-server.ts).

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenerKind } from './exchange.ts';
import type { ParseError } from './raw-target.ts';
import { addressOf } from './sockets.ts';
import type { BodySink, ClientIdentity, Wire, WireHead } from './wire.ts';

/** What the requests of one connection have in common. */
export interface Connection {
  readonly socket: Duplex;
  readonly client: ClientIdentity | null;
  /** The request that is being handled. */
  active: NodeWire | null;
  /** The next answer is the last. */
  isEnding: boolean;
  /** Its request has been given to the parser a second time. */
  isParsedAgain: boolean;
  /** The client has closed its side: it sends no more, but may wait for answers. */
  isHalfClosed: boolean;
  /** Those that came before it was answered. */
  readonly ahead: [IncomingMessage, ServerResponse][];
  /** What is wrong with what came behind all of these: it is told when they have been answered. */
  broken: ParseError | null;
}

/** What the wires of one server have in common. */
export interface WireContext {
  readonly listener: ListenerKind;
  readonly stallMs: number;
  readonly stallLongMs: number;
  isClosing: boolean;
}

export class NodeWire implements Wire {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: ListenerKind;
  readonly clientName: string | null;
  readonly clientExtensions: Wire['clientExtensions'];
  readonly remoteAddress: string;
  readonly hasBody: boolean;
  drained: (() => void) | null = null;
  sent: (() => void) | null = null;
  makeRoom: (() => void) | null = null;
  gone: (() => void) | null = null;

  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: WireContext;
  readonly #connection: Connection;
  /** Calls that are due for bytes on their way: each once, when they are not needed any more. */
  readonly #unsent = new Set<() => void>();
  #isLong = false;
  whyGone = 'the client has left';
  #needsClient = false;
  /** Whether the next move is the client's: to send more of its request, or to take more of the answer. */
  waitsForClient = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, context: WireContext) {
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.#connection = connection;
    this.method = request.method ?? 'GET';
    const target = originForm(request.url ?? '/');
    const question = target.indexOf('?');
    this.path = question < 0 ? target : target.slice(0, question);
    this.queryString = question < 0 ? '' : target.slice(question + 1);
    this.listener = context.listener;
    const { headers } = request;
    const { client } = connection;
    this.clientName = client?.name ?? null;
    this.clientExtensions = () => client?.extensions() ?? null;
    this.remoteAddress = client?.address ?? addressOf(connection.socket as Socket);
    this.hasBody =
      headers['transfer-encoding'] !== undefined ||
      (headers['content-length'] !== undefined && headers['content-length'] !== '0');
    response.on('drain', () => {
      this.waitsForClient = false;
      this.drained?.();
    });
    // A broken connection is told by `close`.
    response.on('error', () => {});
  }

  /** Whether the request has arrived to its last byte. */
  get isReceived(): boolean {
    return this.#request.complete;
  }

  /** Whether a body is on its way that may take its time. */
  get isLongBody(): boolean {
    return this.#isLong && !this.#request.complete;
  }

  get #stallMs(): number {
    // What is sent behind the answer is of no use.
    return this.isLongBody && !this.#response.headersSent ? this.#context.stallLongMs : this.#context.stallMs;
  }

  #timeStall(): void {
    this.#request.socket.setTimeout(this.#stallMs);
  }

  /** The client has been waited for long enough. */
  stalled(): void {
    const what = this.#request.complete ? 'taken' : 'sent';
    this.whyGone = `the client has ${what} nothing for ${this.#stallMs / 1000} s`;
  }

  header(name: string): string {
    const value = this.#request.headers[name];
    return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ');
  }

  has(name: string): boolean {
    return this.#request.headers[name] !== undefined;
  }

  readBody(sink: BodySink, isLong: boolean): void {
    const request = this.#request;
    this.#isLong = isLong;
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => sink.chunk(chunk));
    if (isLong) this.#timeStall();
    request.on('end', () => {
      this.waitsForClient = false;
      if (isLong) this.#timeStall();
      sink.end();
    });
    this.waitsForClient = true;
  }

  pauseBody(): void {
    this.#request.pause();
    this.waitsForClient = false;
  }

  resumeBody(): void {
    if (this.#request.readableEnded || this.#request.destroyed) return;
    this.waitsForClient = true;
    // The time-out may have run off while nothing was asked of the client, and runs again only when told to.
    this.#timeStall();
    this.#request.resume();
  }

  send(head: WireHead, body: Uint8Array | string | null, length: number): void {
    const isEmpty = head.status === 204 || head.status === 304;
    this.#writeHead(head, isEmpty ? null : length);
    if (body === null) this.#response.end();
    else this.#response.end(body);
    this.waitsForClient = true;
  }

  start(head: WireHead, length?: number): void {
    this.#writeHead(head, length ?? null);
  }

  write(chunk: Uint8Array, free?: () => void): boolean {
    const hasRoom = this.#response.write(chunk, free === undefined ? undefined : this.#once(free));
    if (!hasRoom) this.waitsForClient = true;
    return hasRoom;
  }

  end(): void {
    this.#response.end();
    this.waitsForClient = true;
  }

  breakOff(): void {
    const socket = this.#request.socket;
    // Since Node 26 a response holds what was written to it until the end of the turn, before the socket knows of it.
    process.nextTick(() => socket.destroySoon());
    this.waitsForClient = true;
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  needClient(): void {
    this.#needsClient = true;
    if (this.#connection.isHalfClosed) this.halfClosed();
  }

  /** The client has closed its side. Whether it still listens shows only when something is written to it. */
  halfClosed(): void {
    if (this.#needsClient) this.#connection.socket.end();
  }

  /** Calls `free` when the bytes are written; as Node does not always tell when a connection breaks, at the latest when the response is over. */
  #once(free: () => void): () => void {
    const once = (): void => {
      if (this.#unsent.delete(once)) free();
    };
    this.#unsent.add(once);
    return once;
  }

  /** The response has been closed: complete or not. */
  over(): void {
    for (const free of this.#unsent) free();
    if (this.#response.writableFinished) this.sent?.();
    else this.gone?.();
  }

  #writeHead(head: WireHead, length: number | null): void {
    const lines: string[] = [];
    for (const [name, value] of head.headers) lines.push(name, value);
    if (length !== null) lines.push('Content-Length', String(length));
    if (this.#context.isClosing || this.#connection.isEnding) lines.push('Connection', 'close');
    this.#response.writeHead(head.status, lines);
    if (this.isLongBody) this.#timeStall();
  }
}

/** Path and query of a request target, which may be a whole URL. llhttp lets nothing beyond ASCII through. */
function originForm(target: string): string {
  let path = target;
  if (!path.startsWith('/')) {
    const authority = /^https?:\/\/[^/?]*/i.exec(path);
    if (authority !== null) path = path.slice(authority[0].length);
    if (!path.startsWith('/')) path = `/${path}`;
  }
  return path;
}
