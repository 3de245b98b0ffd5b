// Paths of requests, as mounts and rules look at them.

import type { Exchange } from './exchange.ts';

/** Whether a path is the prefix itself or continues it with a slash. */
export const isBelow = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) &&
  (path.length === prefix.length || prefix === '' || path.charCodeAt(prefix.length) === 0x2f);

/** Path below a mount's prefix, percent-decoded: empty, or beginning with a slash. null: the path only looks alike. */
export function pathBelow(exchange: Exchange, prefix: string): string | null {
  const rest = exchange.path.slice(prefix.length);
  return rest !== '' && !rest.startsWith('/') ? null : decodedPath(rest);
}

/** Percent-decoded; as it was sent where the escapes are no UTF-8. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
