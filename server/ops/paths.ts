// Paths below a mount, as handlers of operational routes want them.

import type { Exchange } from '../http/exchange.ts';

/** Path below a mount's prefix, percent-decoded: empty, or beginning with a slash. null: the path only looks alike. */
export function pathBelow(exchange: Exchange, prefix: string): string | null {
  const rest = exchange.path.slice(prefix.length);
  if (rest !== '' && !rest.startsWith('/')) return null;
  try {
    return decodeURIComponent(rest);
  } catch {
    return rest;
  }
}
