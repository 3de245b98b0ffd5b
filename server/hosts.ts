// The addresses of listeners, as they are bound and as they are shown.

/** `localhost` is bound as 127.0.0.1, whatever the resolver puts first: clients that want IPv6 try IPv4 too. */
export function boundHost(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** As it stands in a URL. */
export function shownHost(host: string): string {
  const bound = boundHost(host);
  return bound.includes(':') ? `[${bound}]` : bound;
}
