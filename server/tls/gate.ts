// The TLS gate: terminates TLS with client certificates and hands the decrypted requests to the HTTP listener over a
// private unix socket, one connection for one connection. What the client's certificate says travels as a header that the
// rewriter guards (head-rewriter.ts). The gate never decides on a path: who may do what is decided behind it (access.ts).
//
//   client ==TLS==> gate --unix socket--> HTTP listener
//          <======       <---------------
//
// Time limits for idle connections and slow requests are the listener's, which sees the same silence; the gate's own
// limits are the handshake and the last bytes to a client that has stopped reading.

import { connect, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Settings } from '../../schemas/config.ts';
import type { Logger } from '../log.ts';
import { HeadRewriter, type Refusal } from './head-rewriter.ts';
import { type SecureSettings, secureContextOptions } from './options.ts';

export interface GateOptions {
  readonly settings: SecureSettings &
    Pick<Settings, 'httpsHost' | 'httpsPort' | 'clientAuth' | 'idleTimeout' | 'headerMax'>;
  /** Path of the HTTP listener's unix socket. */
  readonly socketPath: string;
  readonly log: Logger;
}

export interface TlsGate {
  /** The real address, also when port 0 was asked for. */
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  /** Reads certificates and settings anew, for new connections. Throws and keeps the old ones when they are of no use. */
  reload(settings: SecureSettings): void;
  /** Takes no new connections and waits until the open ones are closed, at most `graceMs`; then closes them. */
  stop(graceMs: number): Promise<void>;
}

const handshakeMs = 10_000;

/** Starts listening. Rejects when the files are of no use or the address cannot be bound. */
export async function startTlsGate(options: GateOptions): Promise<TlsGate> {
  const { settings, log } = options;
  const open = new Set<TLSSocket>();
  const server = createServer({
    ...secureContextOptions(settings),
    requestCert: settings.clientAuth !== 'none',
    // With `want` a client may come without a certificate; one whose certificate is no good is turned away below.
    rejectUnauthorized: settings.clientAuth === 'need',
    handshakeTimeout: handshakeMs,
    ALPNProtocols: ['http/1.1'],
  });
  server.on('secureConnection', (client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    serve(client, options);
  });
  server.on('tlsClientError', (error, client) => {
    // Closed without an alert or a wrong protocol: daily noise on an open port. A refused certificate is worth more.
    const level = (error as { code?: string }).code === 'ECONNRESET' ? 'debug' : 'info';
    log[level]({ address: client.remoteAddress, reason: reasonOf(error) }, 'TLS handshake failed');
  });
  await listen(server, settings.httpsPort, settings.httpsHost);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the HTTPS listener has no address');

  return {
    host: address.address,
    port: address.port,
    get connections() {
      return open.size;
    },
    reload: (changed) => server.setSecureContext(secureContextOptions(changed)),
    stop: (graceMs) => stop(server, open, graceMs),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function serve(client: TLSSocket, options: GateOptions): void {
  const { settings, socketPath, log } = options;
  if (!client.authorized && settings.clientAuth === 'want' && hasCertificate(client)) {
    log.info(
      { address: client.remoteAddress, reason: String(client.authorizationError) },
      'client certificate refused',
    );
    client.destroy();
    return;
  }
  const clientName = client.authorized ? commonName(client) : null;
  const rewriter = new HeadRewriter(clientName, settings.headerMax);
  const behind = connect({ path: socketPath });
  client.setNoDelay(true);
  let answered = false;

  client.on('data', (chunk: Buffer) => {
    const out: Buffer[] = [];
    const refusal = rewriter.push(chunk, out);
    let hasRoom = true;
    behind.cork();
    for (const part of out) hasRoom = behind.write(part);
    behind.uncork();
    if (refusal !== null) refuse(client, behind, refusal, rewriter.requests === 1 && !answered);
    else if (!hasRoom) client.pause();
  });
  behind.on('drain', () => client.resume());
  behind.on('data', (chunk: Buffer) => {
    answered = true;
    if (!client.write(chunk)) behind.pause();
  });
  client.on('drain', () => behind.resume());

  // Either side's end is the end of both; what the server has written still goes out, if the client takes it in time.
  client.on('close', () => behind.destroy());
  client.on('error', (error) => {
    log.debug({ address: client.remoteAddress, reason: reasonOf(error) }, 'TLS connection broken');
    behind.destroy();
  });
  behind.on('end', () => {
    client.setTimeout(settings.idleTimeout, () => client.destroy());
    client.end();
  });
  behind.on('error', (error) => {
    log.warn({ reason: reasonOf(error) }, 'the HTTP listener closed a connection from the TLS gate');
    client.destroy();
  });
}

/**
 * A request refused in its turn is answered by the HTTP server, which got one in its place that says so. In the middle of
 * a body there is no turn: the gate answers itself when no other answer can be on its way, else it just closes.
 */
function refuse(client: TLSSocket, behind: Socket, refusal: Refusal, alone: boolean): void {
  client.pause();
  if (refusal.inTurn) return;
  behind.destroy();
  if (!alone) {
    client.destroy();
    return;
  }
  const body = `${refusal.reason}\n`;
  client.end(
    `HTTP/1.1 ${refusal.status} Bad Request\r\nContent-Type: text/plain;charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function hasCertificate(client: TLSSocket): boolean {
  return client.getPeerX509Certificate() !== undefined;
}

/** The CN of the client's certificate; null without one, or with several: then it is nobody in particular. */
function commonName(client: TLSSocket): string | null {
  const subject = client.getPeerCertificate().subject as { CN?: string | string[] } | undefined;
  return typeof subject?.CN === 'string' ? subject.CN : null;
}

async function stop(server: Server, open: ReadonlySet<TLSSocket>, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = setTimeout(() => {
    for (const client of open) client.destroy();
  }, graceMs);
  await closed;
  clearTimeout(timer);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code ?? message ?? String(error);
}
