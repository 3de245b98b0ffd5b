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
import type { Duplex } from 'node:stream';
import type { ListenerKind } from './exchange.ts';
import type { HttpLimits } from './limits.ts';
import { type Connection, NodeWire, type WireContext } from './node-wire.ts';
import { encodedQuery, type ParseError, parseAgain } from './raw-target.ts';
import { badMessage } from './replies.ts';
import { boundConnections, listenAt } from './sockets.ts';
import type { ClientIdentity, HttpServer, Wire } from './wire.ts';

export class NodeServer implements HttpServer {
  readonly #limits: HttpLimits;
  readonly #onWire: (wire: Wire) => void;
  readonly #server: Server;
  readonly #context: WireContext;
  readonly #connections = new Map<Duplex, Connection>();

  constructor(listener: ListenerKind, limits: HttpLimits, onWire: (wire: Wire) => void, onFull: () => void = () => {}) {
    this.#limits = limits;
    this.#onWire = onWire;
    this.#context = { listener, stallMs: limits.stallMs, stallLongMs: limits.stallLongMs, isClosing: false };
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
    this.#context.isClosing = true;
  }

  renewConnections(): void {
    for (const connection of this.#connections.values()) connection.isEnding = true;
  }

  stopListening(): void {
    this.#context.isClosing = true;
    // Also ends the timing of requests; that a server was never listening is no error here.
    this.#server.close(() => {});
    this.#server.closeIdleConnections();
  }

  makeRoom(): void {
    for (const { active } of this.#connections.values()) active?.makeRoom?.();
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
      isParsedAgain: false,
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
    const { ahead, socket } = connection;
    if (socket.destroyed) return;
    ahead.push([request, response]);
    if (ahead.length === this.#limits.pipelineMax) socket.pause();
    if (ahead.length > this.#limits.pipelineCut) {
      ahead.length = 0;
      socket.destroy();
    }
  }

  #handle(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const wire = new NodeWire(request, response, connection, this.#context);
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
    // A request that did not arrive whole is not handled: it is the broken one.
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
    if (connection !== undefined && active === null && !connection.isParsedAgain) {
      const encoded = encodedQuery(error);
      if (encoded !== null) {
        // What a parser leaves on its socket shall not pile up.
        connection.isParsedAgain = true;
        connection.isEnding = true;
        parseAgain(this.#server, socket, encoded);
        return;
      }
    }
    // While an earlier request waits for its answer, the refusal comes behind that: it must neither replace it nor be taken for it.
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
