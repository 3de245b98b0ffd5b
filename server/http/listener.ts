// The HTTP front end: one listener, its limits and its end.
//
//   const listener = await startListener({ at: { host, port }, kind: 'http', mounts, isStarting, onError, ... });
//   listener.port                                   the real port
//   listener.accept(tlsSocket, { name, address })   serves a connection that a TLS server accepted and decrypted
//   await listener.stop(graceMs)      no new connections; running requests get `graceMs`; then everything is cut
//
// Who the client is: on an address of its own a listener knows nobody (`clientName` null). A TLS server gives its
// connections, any duplex stream, to `accept` together with the verified name: the name belongs to the connection and
// never travels in a header, so no request can forge it.

import type { Duplex } from 'node:stream';
import { createDispatcher } from './dispatch.ts';
import type { Exchange, ListenerKind, Mount, RequestRecord } from './exchange.ts';
import { HttpExchange } from './http-exchange.ts';
import { Budget, HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { NodeServer } from './node-server.ts';
import type { ClientIdentity, Wire } from './wire.ts';

type ListenerAddress =
  | { readonly host: string; readonly port: number }
  /** Listens nowhere: connections come through `accept`. */
  | 'accept';

export interface ListenerOptions {
  readonly at: ListenerAddress;
  /** What the exchanges of this listener say they came by. */
  readonly kind: ListenerKind;
  readonly mounts: readonly Mount[];
  /** true until the server can serve: everything below `/pdb` answers 503. */
  readonly isStarting: () => boolean;
  /** The certificate allowlist (dispatch.ts); null: none. */
  readonly refuseClient?: ((exchange: Exchange) => string | null) | null;
  readonly limits?: Partial<HttpLimits>;
  /** Each request once, when it is over: access log and metrics. */
  readonly onRequest?: (record: RequestRecord) => void;
  /** A handler failed unexpectedly (the client got a 500 or a cut answer). */
  readonly onError: (error: unknown, method: string, path: string) => void;
  /** A connection was closed, there were `connectionsMax`. */
  readonly onFull?: () => void;
  /** Epoch ms. */
  readonly now?: () => number;
}

export interface Listener {
  readonly port: number;
  readonly connectionCount: number;
  /** Requests that have not been answered completely. */
  readonly requestCount: number;
  accept(socket: Duplex, client: ClientIdentity): void;
  /** From now on every answer is the last one of its connection, so that clients come again, over new ones or elsewhere. */
  endConnections(): void;
  /** The next answer of each connection that there is now is the last one of it: its client comes again, over a new one. */
  renewConnections(): void;
  /** Resolves with the number of requests that were broken off. */
  stop(graceMs: number): Promise<number>;
}

/** Resolves once connections are accepted; rejects when the address cannot be had. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const limits: HttpLimits = { ...HTTP_LIMITS, ...options.limits };
  // A count: of a set that something is put into and taken out of again and again V8 makes a new table now and then, and a
  // table that was given up and is in its old generation keeps all that come after it, with the requests in them.
  let running = 0;
  let onIdle: (() => void) | null = null;
  const dispatch = createDispatcher({ ...options, refuseClient: options.refuseClient ?? null });
  const budget = new Budget(limits.bodiesBytesMax);
  const now = options.now ?? Date.now;

  const makeRoom = (): void => server.makeRoom();
  const serve = (wire: Wire): void => {
    running++;
    const exchange = new HttpExchange(wire, {
      limits,
      budget,
      now,
      makeRoom,
      onEnd: (record) => {
        running--;
        options.onRequest?.(record);
        if (running === 0) onIdle?.();
      },
    });
    dispatch(exchange);
  };
  const server = new NodeServer(options.kind, limits, serve, options.onFull);
  const port = options.at === 'accept' ? 0 : await server.listen(options.at.host, options.at.port);

  return {
    port,
    get connectionCount() {
      return server.connectionCount;
    },
    get requestCount() {
      return running;
    },
    accept: (socket, client) => server.accept(socket, client),
    endConnections: () => server.endConnections(),
    renewConnections: () => server.renewConnections(),
    stop: async (graceMs) => {
      server.stopListening();
      if (running > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, graceMs);
          onIdle = () => {
            clearTimeout(timer);
            // The last answer is on its way through the socket's own close.
            setImmediate(resolve);
          };
        });
      }
      const left = running;
      server.destroyConnections();
      return left;
    },
  };
}
