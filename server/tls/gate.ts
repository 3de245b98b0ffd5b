// The TLS gate: terminates TLS with client certificates and gives the decrypted connections to the HTTP listener in this
// process, together with the name that the certificate proves. The name belongs to the connection and never travels in a
// header, so no request can forge it. Who may do what on which path is decided behind the gate (access.ts).
//
//   client ==TLS==> gate --(socket, client name)--> listener.accept
//
// Time limits for idle connections and slow requests are the listener's; the gate's own is the one for the handshake.

import type { Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { Settings } from '../../schemas/config.ts';
import type { Listener } from '../http/listener.ts';
import { addressOf, boundConnections, listenAt } from '../http/sockets.ts';
import type { Logger } from '../log.ts';
import { type CertificateExtensions, readExtensions } from './certificate-extensions.ts';
import { type SecureSettings, secureContextOptions } from './options.ts';

export interface GateOptions {
  readonly settings: SecureSettings & Pick<Settings, 'httpsHost' | 'httpsPort' | 'clientAuth'>;
  /** Takes the connections once they are decrypted. */
  readonly listener: Pick<Listener, 'accept'>;
  readonly log: Logger;
  /** Connections at the same time; those that come then are closed, and `onFull` is told. */
  readonly connectionsMax?: number;
  readonly onFull?: () => void;
  /** Milliseconds for a handshake. */
  readonly handshakeMs?: number;
}

export interface TlsGate {
  /** The real port, also when port 0 was asked for. */
  readonly port: number;
  /** Reads certificates and settings anew, for new connections. Throws and keeps the old ones when they are of no use. */
  reload(settings: SecureSettings): void;
  /** Takes no new connections and ends those that have not begun. Resolves when the others, which are the listener's to end, are closed. */
  stop(): Promise<void>;
}

const HANDSHAKE_MS = 10_000;

/** Node's decrypted connection, with the one that it reads from. */
type Wrapping = TLSSocket & { readonly _parent?: Socket | null };

/** Starts listening. Rejects when the files are of no use or the address cannot be bound. */
export async function startTlsGate(options: GateOptions): Promise<TlsGate> {
  const { settings, listener, log } = options;
  const server = createServer({
    ...secureContextOptions(settings),
    requestCert: settings.clientAuth !== 'none',
    // With `want` a client may come without a certificate; one whose certificate is no good is turned away below.
    rejectUnauthorized: settings.clientAuth === 'need',
    handshakeTimeout: options.handshakeMs ?? HANDSHAKE_MS,
    ALPNProtocols: ['http/1.1'],
  });
  boundConnections(server, options.connectionsMax ?? Number.POSITIVE_INFINITY, options.onFull ?? (() => {}));
  const tellRefused = (client: TLSSocket): void =>
    log.info(
      { address: refusedAddress(client), reason: String(client.authorizationError) },
      'client certificate refused',
    );
  /** Those whose handshake is not over. */
  const beginning = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    // It only knows its address later when it was asked for it once while it was open.
    void connection.remoteAddress;
    beginning.add(connection);
    connection.once('close', () => beginning.delete(connection));
  });
  server.on('secureConnection', (client: Wrapping) => {
    if (client._parent) beginning.delete(client._parent);
    const address = addressOf(client);
    if (!client.authorized && settings.clientAuth === 'want' && hasCertificate(client)) {
      tellRefused(client);
      client.destroy();
      return;
    }
    const name = client.authorized ? commonName(client) : null;
    listener.accept(client, {
      name,
      address,
      extensions: name === null ? () => null : once(() => extensionsOf(client)),
    });
  });
  server.on('tlsClientError', (error: NodeJS.ErrnoException, client) => {
    // Node has turned it away and says only that the connection has ended.
    if (client.authorizationError) tellRefused(client);
    else {
      // A connection that is closed before it begins is daily noise on an open port.
      const level = error.code === 'ECONNRESET' ? 'debug' : 'info';
      log[level]({ address: refusedAddress(client), reason: error.code ?? error.message }, 'TLS handshake failed');
    }
    // One whose time is over Node leaves open.
    client.destroy();
  });
  const port = await listenAt(server, settings.httpsHost, settings.httpsPort);

  return {
    port,
    reload: (changed) => server.setSecureContext(secureContextOptions(changed)),
    stop: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of beginning) connection.destroy();
      return closed;
    },
  };
}

/** Also of a client that has been turned away: Node keeps the connection below it, without saying so. */
function refusedAddress(client: Wrapping): string {
  return addressOf(client.remoteAddress === undefined && client._parent ? client._parent : client);
}

/** null when they cannot be read: then no rule about extensions speaks of the client. */
function extensionsOf(client: TLSSocket): CertificateExtensions | null {
  const certificate = client.getPeerX509Certificate();
  try {
    return certificate === undefined ? null : readExtensions(certificate.raw);
  } catch {
    return null;
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function hasCertificate(client: TLSSocket): boolean {
  return client.getPeerX509Certificate() !== undefined;
}

/** The CN of the client's certificate; null without one, or with several: then it is nobody in particular. */
function commonName(client: TLSSocket): string | null {
  const subject = client.getPeerCertificate().subject as { CN?: string | string[] } | undefined;
  return typeof subject?.CN === 'string' ? subject.CN : null;
}
