// Paths of requests, as mounts and rules look at them.

import type { Exchange } from './exchange.ts';

/** Whether a path is the prefix itself or continues it with a slash. */
export const isBelow = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) &&
  (path.length === prefix.length || prefix === '' || path.charCodeAt(prefix.length) === 0x2f);

/** What follows the prefix of the mount that was asked, percent-decoded: empty, or beginning with a slash. */
export const pathBelow = ({ path }: Pick<Exchange, 'path'>, prefix: string): string =>
  decodedPath(path.slice(prefix.length));

/** Percent-decoded; as it was sent where the escapes are no UTF-8. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
