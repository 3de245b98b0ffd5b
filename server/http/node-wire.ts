// HTTP/1.x by node:http (llhttp): one server whose requests become wires. Requests of one connection are handled one after
// the other, so that a client that sends ahead gets its answers in order and cannot occupy more than one handler.
//
// Time-outs are per phase: node's own for heads and whole requests, the socket's for a client that stops sending its body
// or taking its answer. While a handler works, a silent connection is no fault.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpLimits } from './limits.ts';
import { badMessage } from './replies.ts';
import type { BodySink, Wire, WireHead } from './wire.ts';

export interface NodeServer {
  readonly server: Server;
  /** Serves a connection that somebody else accepted (and decrypted). */
  accept(socket: Duplex, client: ClientIdentity): void;
  /** From now on every answer is the last one of its connection. */
  closeAfterAnswer(): void;
  destroyConnections(): void;
  readonly connectionCount: number;
}

export interface ClientIdentity {
  /** Common name of the verified certificate. */
  readonly name: string | null;
  readonly address: string;
}

interface Connection {
  readonly socket: Duplex;
  readonly client: ClientIdentity | null;
  isBusy: boolean;
  readonly ahead: [IncomingMessage, ServerResponse][];
}

export function createNodeServer(
  listener: Wire['listener'],
  limits: HttpLimits,
  onWire: (wire: Wire) => void,
): NodeServer {
  const connections = new Map<Duplex, Connection>();
  const shared: Shared = { listener, stallMs: limits.stallMs, isClosing: false };

  const server = createServer({
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.max(100, Math.min(30_000, limits.headMs / 2)),
    highWaterMark: limits.answerBufferBytes,
    noDelay: true,
  });
  server.maxRequestsPerSocket = 0;
  server.timeout = 0;

  const track = (socket: Duplex, client: ClientIdentity | null): Connection => {
    const connection: Connection = { socket, client, isBusy: false, ahead: [] };
    connections.set(socket, connection);
    socket.once('close', () => connections.delete(socket));
    return connection;
  };

  const handle = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    connection.isBusy = true;
    const wire = new NodeWire(request, response, connection, shared);
    response.once('close', () => {
      wire.over();
      connection.isBusy = false;
      const next = connection.ahead.shift();
      if (next === undefined) return;
      if (connection.ahead.length === limits.pipelineMax - 1) connection.socket.resume();
      if (connection.socket.destroyed) connection.ahead.length = 0;
      else handle(connection, next[0], next[1]);
    });
    onWire(wire);
  };

  server.on('connection', (socket: Duplex) => {
    if (!connections.has(socket)) track(socket, null);
  });
  server.on('request', (request, response) => {
    const connection = connections.get(request.socket) ?? track(request.socket, null);
    if (!connection.isBusy) {
      handle(connection, request, response);
      return;
    }
    connection.ahead.push([request, response]);
    if (connection.ahead.length === limits.pipelineMax) connection.socket.pause();
  });
  server.on('timeout', (socket: Duplex) => socket.destroy());
  server.on('clientError', refuse);

  return {
    server,
    accept: (socket, client) => {
      track(socket, client);
      server.emit('connection', socket);
    },
    closeAfterAnswer: () => {
      shared.isClosing = true;
    },
    destroyConnections: () => {
      for (const socket of connections.keys()) socket.destroy();
    },
    get connectionCount() {
      return connections.size;
    },
  };
}

const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};

/** What is no HTTP, or comes too slowly, is told so (once, if the connection carries no other answer) and cut off. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  const hasAnswer = (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage?.headersSent === true;
  if (!socket.writable || hasAnswer || error.code === 'ECONNRESET') {
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
  isClosing: boolean;
}

class NodeWire implements Wire {
  readonly method: string;
  readonly path: string;
  readonly queryString: string;
  readonly listener: Wire['listener'];
  readonly clientName: string | null;
  readonly remoteAddress: string;
  readonly hasBody: boolean;
  drained: (() => void) | null = null;
  sent: (() => void) | null = null;
  gone: (() => void) | null = null;

  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #shared: Shared;
  #isStalled = false;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, shared: Shared) {
    this.#request = request;
    this.#response = response;
    this.#shared = shared;
    this.method = request.method ?? 'GET';
    const target = originForm(request.url ?? '/');
    const question = target.indexOf('?');
    this.path = question < 0 ? target : target.slice(0, question);
    this.queryString = question < 0 ? '' : target.slice(question + 1);
    this.listener = shared.listener;
    const { headers } = request;
    const { client } = connection;
    this.clientName = client?.name ?? null;
    this.remoteAddress = client?.address ?? (connection.socket as Socket).remoteAddress ?? '';
    this.hasBody =
      headers['transfer-encoding'] !== undefined ||
      (headers['content-length'] !== undefined && headers['content-length'] !== '0');
    response.on('drain', () => {
      this.#stall(false);
      this.drained?.();
    });
    // A broken connection is told by `close`.
    response.on('error', () => {});
  }

  header(name: string): string {
    const value = this.#request.headers[name];
    return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ');
  }

  has(name: string): boolean {
    return this.#request.headers[name] !== undefined;
  }

  readBody(sink: BodySink): void {
    const request = this.#request;
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => sink.chunk(chunk));
    request.on('end', () => {
      this.#stall(false);
      sink.end();
    });
    this.#stall(true);
  }

  send(head: WireHead, body: Uint8Array | string | null, length: number): void {
    const isEmpty = head.status === 204 || head.status === 304;
    this.#writeHead(head, isEmpty ? null : length);
    if (body === null) this.#response.end();
    else this.#response.end(body);
    this.#stall(true);
  }

  start(head: WireHead): void {
    this.#writeHead(head, null);
  }

  write(chunk: Uint8Array): boolean {
    const hasRoom = this.#response.write(chunk);
    if (!hasRoom) this.#stall(true);
    return hasRoom;
  }

  end(): void {
    this.#response.end();
    this.#stall(true);
  }

  breakOff(): void {
    const socket = this.#request.socket;
    socket.destroySoon();
    this.#stall(true);
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  /** The response has been closed: complete or not. */
  over(): void {
    if (this.#response.writableFinished) this.sent?.();
    else this.gone?.();
  }

  #writeHead(head: WireHead, length: number | null): void {
    const lines: string[] = [];
    for (const [name, value] of head.headers) lines.push(name, value);
    if (length !== null) lines.push('Content-Length', String(length));
    if (this.#shared.isClosing) lines.push('Connection', 'close');
    this.#response.writeHead(head.status, lines);
  }

  /** Between true and false the connection must move at least one byte in every `stallMs`. */
  #stall(isStalled: boolean): void {
    if (this.#isStalled === isStalled) return;
    this.#isStalled = isStalled;
    this.#request.socket.setTimeout(isStalled ? this.#shared.stallMs : 0);
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
