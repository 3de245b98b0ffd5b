import type { Socket } from 'node:net';

/** IPv4 as a socket that speaks IPv6 shows it. */
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The client's address, that of IPv4 in its own form on every listener; empty when it is gone. */
export const addressOf = (socket: Pick<Socket, 'remoteAddress'>): string =>
  (socket.remoteAddress ?? '').replace(MAPPED, '');
