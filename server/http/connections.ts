import type { Server } from 'node:net';

/** Closes connections beyond so many at once. `onFull` is told of each. */
export function boundConnections(server: Server, max: number, onFull: () => void): void {
  if (max === Number.POSITIVE_INFINITY) return;
  server.maxConnections = max;
  server.on('drop', onFull);
}
