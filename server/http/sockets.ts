// What both listeners, of plain and of TLS connections, have in common.

import type { AddressInfo, Server, Socket } from 'node:net';

/** IPv4 as a socket that speaks IPv6 shows it. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The client's address, that of IPv4 in its own form on every listener; empty when it is gone. */
export const addressOf = (socket: Pick<Socket, 'remoteAddress'>): string =>
  (socket.remoteAddress ?? '').replace(MAPPED, '');

/** Closes connections beyond so many at once. `onFull` is told of each. */
export function boundConnections(server: Server, max: number, onFull: () => void): void {
  if (max === Number.POSITIVE_INFINITY) return;
  server.maxConnections = max;
  server.on('drop', onFull);
}

/** Resolves with the real port. Rejects when the address cannot be had. */
export function listenAt(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
