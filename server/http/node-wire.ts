// HTTP/1.x by node:http (llhttp): one server whose requests become wires. Requests of one connection are handled one after
// the other, so that a client that sends ahead gets its answers in order and cannot occupy more than one handler.
//
// Time-outs are per phase: node's own for heads, whole requests and connections without a request; the socket's inactivity
// for a client that stops sending its body or taking its answer. While a handler works, a silent connection is no fault.
//
// Why not uWebSockets.js, which takes less than half the processor time a request: its released binaries answer 505 when a
// request line arrives in two reads (any long GET over a network), to HTTP/1.0 and to absolute targets; cut a connection
// that sends ahead; never finish an answer to HEAD; fix time-outs at ten seconds; and cannot serve a connection that a TLS
// server accepted. wire.ts is the seam for it, once these have gone.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpLimits } from './limits.ts';
import { encodedQuery, type ParseError, parseAgain } from './raw-target.ts';
import { badMessage } from './replies.ts';
import { addressOf, boundConnections, listenAt } from './sockets.ts';
import type { BodySink, ClientIdentity, HttpServer, Wire, WireHead } from './wire.ts';

interface Connection {
  readonly socket: Duplex;
  readonly client: ClientIdentity | null;
  /** The request that is being handled. */
  active: NodeWire | null;
  /** The next answer is the last. */
  isEnding: boolean;
  /** The client has closed its side: it sends no more, but may wait for answers. */
  isHalfClosed: boolean;
  /** Those that came before it was answered. */
  readonly ahead: [IncomingMessage, ServerResponse][];
  /** What is wrong with what came behind all of these: it is told when they have been answered. */
  broken: ParseError | null;
}

export class NodeServer implements HttpServer {
  readonly #limits: HttpLimits;
  readonly #onWire: (wire: Wire) => void;
  readonly #server: Server;
  readonly #shared: Shared;
  readonly #connections = new Map<Duplex, Connection>();

  constructor(
    listener: Wire['listener'],
    limits: HttpLimits,
    onWire: (wire: Wire) => void,
    onFull: () => void = () => {},
  ) {
    this.#limits = limits;
    this.#onWire = onWire;
    this.#shared = { listener, stallMs: limits.stallMs, stallLongMs: limits.stallLongMs, isClosing: false };
    const server = createServer({
      maxHeaderSize: limits.headBytesMax,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: Math.max(100, Math.min(30_000, limits.headMs / 2)),
      highWaterMark: limits.answerBufferBytes,
      noDelay: true,
    });
    this.#server = server;
    boundConnections(server, limits.connectionsMax, onFull);
    // Node would drop those beyond 2,000, and with them what frames the body; `headBytesMax` bounds them.
    server.maxHeadersCount = 0;
    // Inactivity of the socket in either direction; what it means depends on the phase (below).
    server.timeout = limits.stallMs;
    // A client that closes its side behind its request (nc does) gets its answer.
    (server as typeof server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    // Heads and whole requests are timed from here on, also when the server never listens itself.
    server.emit('listening');
    server.on('connection', (socket: Duplex) => this.#connected(socket));
    server.on('request', (request, response) => this.#requested(request, response));
    server.on('timeout', (socket: Duplex) => this.#silent(socket));
    server.on('clientError', (error: ParseError, socket) => this.#malformed(error, socket));
  }

  listen(host: string, port: number): Promise<number> {
    return listenAt(this.#server, host, port);
  }

  accept(socket: Duplex, client: ClientIdentity): void {
    this.#track(socket, client);
    this.#server.emit('connection', socket);
  }

  endConnections(): void {
    this.#shared.isClosing = true;
  }

  stopListening(): void {
    this.#shared.isClosing = true;
    // Also ends the timing of requests; that a server was never listening is no error here.
    this.#server.close(() => {});
    this.#server.closeIdleConnections();
  }

  destroyConnections(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  #track(socket: Duplex, client: ClientIdentity | null): Connection {
    const connection: Connection = {
      socket,
      client,
      active: null,
      isEnding: false,
      isHalfClosed: false,
      ahead: [],
      broken: null,
    };
    this.#connections.set(socket, connection);
    socket.once('close', () => this.#connections.delete(socket));
    return connection;
  }

  #connected(socket: Duplex): void {
    const connection = this.#connections.get(socket) ?? this.#track(socket, null);
    socket.once('end', () => {
      connection.isHalfClosed = true;
      connection.active?.halfClosed();
    });
  }

  #requested(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket) ?? this.#track(request.socket, null);
    if (connection.active === null) {
      this.#handle(connection, request, response);
      return;
    }
    connection.ahead.push([request, response]);
    if (connection.ahead.length === this.#limits.pipelineMax) connection.socket.pause();
  }

  #handle(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const wire = new NodeWire(request, response, connection, this.#shared);
    connection.active = wire;
    response.once('close', () => {
      wire.over();
      connection.active = null;
      this.#handleNext(connection);
    });
    this.#onWire(wire);
  }

  #handleNext(connection: Connection): void {
    const { socket, ahead, broken } = connection;
    const next = ahead.shift();
    // Nor is one handled of which no more comes, or too slowly: it is what is broken.
    if (broken !== null && next?.[0].complete !== true) {
      ahead.length = 0;
      refuse(broken, socket);
      return;
    }
    if (next === undefined) return;
    if (ahead.length === this.#limits.pipelineMax - 1) socket.resume();
    if (socket.destroyed) ahead.length = 0;
    else this.#handle(connection, next[0], next[1]);
  }

  /** Nothing was sent or taken for as long as that may last. */
  #silent(socket: Duplex): void {
    const active = this.#connections.get(socket)?.active ?? null;
    if (active !== null && !active.waitsForClient) return;
    active?.stalled();
    socket.destroy();
  }

  #malformed(error: ParseError, socket: Duplex): void {
    const connection = this.#connections.get(socket);
    const active = connection?.active ?? null;
    // The server times whole requests, and cannot be told that one may take longer. It says so once for each.
    if (error.code === REQUEST_TIMEOUT && active?.isLongBody === true) return;
    if (connection !== undefined && active === null && !connection.isEnding) {
      const encoded = encodedQuery(error);
      if (encoded !== null) {
        // What a parser leaves on its socket shall not pile up.
        connection.isEnding = true;
        parseAgain(this.#server, socket, encoded);
        return;
      }
    }
    // An answer that is due belongs to an earlier request: the refusal must not be taken for it, nor keep it from coming.
    if (connection === undefined || active?.isReceived !== true || isLost(error)) refuse(error, socket);
    else connection.broken ??= error;
  }
}

/** Whether nobody is there any more who could be told. */
const isLost = ({ code = '' }: NodeJS.ErrnoException): boolean => LOST.includes(code);
const LOST: readonly string[] = ['ECONNRESET', 'EPIPE'];

const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  [REQUEST_TIMEOUT]: [408, 'Request Timeout'],
};

/** What is no HTTP, or comes too slowly, is told so and cut off. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || isLost(error)) {
    socket.destroy();
    return;
  }
  const [status, reason] = REFUSALS[error.code ?? ''] ?? [400, 'Bad Request'];
  const { contentType, body } = badMessage(status, reason);
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${contentType}\r\nContent-Length: ${(body as string).length}\r\n` +
      `Connection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

interface Shared {
  readonly listener: Wire['listener'];
  readonly stallMs: number;
  readonly stallLongMs: number;
  isClosing: boolean;
}

class NodeWire implements Wire {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: Wire['listener'];
  readonly clientName: string | null;
  readonly clientExtensions: Wire['clientExtensions'];
  readonly remoteAddress: string;
  readonly hasBody: boolean;
  drained: (() => void) | null = null;
  sent: (() => void) | null = null;
  gone: (() => void) | null = null;

  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #shared: Shared;
  readonly #connection: Connection;
  /** What to call for bytes that are on their way. */
  readonly #unsent = new Set<() => void>();
  #isLong = false;
  whyGone = 'the client has left';
  #needsClient = false;
  /** Whether the next move is the client's: to send more of its request, or to take more of the answer. */
  waitsForClient = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, shared: Shared) {
    this.#request = request;
    this.#response = response;
    this.#shared = shared;
    this.#connection = connection;
    this.method = request.method ?? 'GET';
    const target = originForm(request.url ?? '/');
    const question = target.indexOf('?');
    this.path = question < 0 ? target : target.slice(0, question);
    this.queryString = question < 0 ? '' : target.slice(question + 1);
    this.listener = shared.listener;
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
    return this.isLongBody && !this.#response.headersSent ? this.#shared.stallLongMs : this.#shared.stallMs;
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

  /** Of bytes that a broken connection never takes Node does not always tell: those are free when it is over. */
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
    if (this.#shared.isClosing || this.#connection.isEnding) lines.push('Connection', 'close');
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
