// The TLS gate: terminates TLS with client certificates and gives the decrypted connections to the HTTP listener in this
// process, together with the name that the certificate proves. The name belongs to the connection and never travels in a
// header, so no request can forge it. Who may do what on which path is decided behind the gate (access/access.ts).
//
//   client ==TLS==> gate --(socket, client name)--> listener.accept
//
// Time limits for idle connections and slow requests are the listener's; the gate's own is the one for the handshake.

import type { Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { type Settings, settingRows } from '../../schemas/config.ts';
import { BoundedLines, type Untold } from '../bounded-lines.ts';
import type { Logger } from '../log.ts';
import { type CertificateExtensions, readExtensions } from '../tls/certificate-extensions.ts';
import { type SecureSettings, secureContextOptions } from '../tls/options.ts';
import type { Listener } from './listener.ts';
import { addressOf, boundConnections, listenAt } from './sockets.ts';

export interface GateOptions {
  readonly settings: SecureSettings & Pick<Settings, 'httpsHost' | 'httpsPort' | 'clientAuth'>;
  /** Takes the connections once they are decrypted. */
  readonly listener: Pick<Listener, 'accept' | 'renewConnections'>;
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
  /** Reads certificates and settings anew, for new connections; open ones end with their next answer. Throws and keeps the old ones when they are of no use. */
  reload(settings: SecureSettings): void;
  /** Takes no new connections and ends those that have not begun. Resolves when the others, which are the listener's to end, are closed. */
  stop(): Promise<void>;
}

const HANDSHAKE_MS = 10_000;
const HANDSHAKE_FAILED = 'TLS handshake failed';

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
  const refusals = new BoundedLines();
  const failures = new BoundedLines();
  const refused = (client: TLSSocket): void => refusals.tell((untold) => tellRefused(client, log, untold));
  /** Those whose handshake is not over. */
  const beginning = new Set<Socket>();
  server.on('connection', (connection: Socket) => {
    // Node remembers the address of a closed connection only if it was read while this was open.
    void connection.remoteAddress;
    beginning.add(connection);
    connection.once('close', () => beginning.delete(connection));
  });
  server.on('secureConnection', (client: Wrapping) => {
    if (client._parent) beginning.delete(client._parent);
    const address = addressOf(client);
    if (!client.authorized && settings.clientAuth === 'want' && hasCertificate(client)) {
      refused(client);
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
    // Of a certificate that it has refused Node tells only that the connection ended.
    if (client.authorizationError) refused(client);
    else {
      const failed = { address: refusedAddress(client), reason: error.code ?? error.message };
      // A connection that is closed before it begins is daily noise on an open port.
      if (error.code === 'ECONNRESET') log.debug(failed, HANDSHAKE_FAILED);
      else failures.tell((untold) => log.info({ ...failed, ...untold }, HANDSHAKE_FAILED));
    }
    // After a time-out Node leaves the connection open.
    client.destroy();
  });
  const port = await listenAt(server, settings.httpsHost, settings.httpsPort);

  return {
    port,
    reload: (changed) => {
      server.setSecureContext(secureContextOptions(changed));
      // A certificate that has been revoked is as good as before until its connection ends, which its client can put off for ever.
      listener.renewConnections();
    },
    stop: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const connection of beginning) connection.destroy();
      return closed;
    },
  };
}

/** Where it is no fault of the client's: what goes behind the line about it, by reason. */
const OF_THE_SERVER: ReadonlyMap<string, string> = new Map([
  ['CRL_HAS_EXPIRED', `: the server's own revocation list (${settingRows.sslCrl.name}) has expired`],
]);

function tellRefused(client: TLSSocket, log: Logger, untold: Untold): void {
  const who = { address: refusedAddress(client), ...identityOf(client) };
  const reason = String(client.authorizationError);
  log.warn({ ...who, reason, ...untold }, `client certificate refused${OF_THE_SERVER.get(reason) ?? ''}`);
}

/** Characters of each text: enough to find the certificate by, for which nobody has vouched. */
const NAME_MAX = 200;

/** Whose the certificate says it is. Empty with `client-auth = need`: Node has dropped the certificate by then. */
function identityOf(client: TLSSocket): Readonly<Record<string, string>> {
  try {
    const certificate = client.getPeerX509Certificate();
    if (certificate === undefined) return {};
    const name = commonName(client);
    // Node's types do not say so: a certificate may name no issuer.
    const issuer = certificate.issuer as string | undefined;
    return {
      ...(name === null ? {} : { clientName: name.slice(0, NAME_MAX) }),
      serial: certificate.serialNumber.slice(0, NAME_MAX),
      ...(issuer === undefined ? {} : { issuer: issuer.replaceAll('\n', ', ').slice(0, NAME_MAX) }),
    };
  } catch {
    // Whatever is in it, the line is written without it.
    return {};
  }
}

/** Also of a client that Node has turned away already: the connection below knows it (`_parent`, which Node does not document). */
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
