// Who may ask what, before a handler sees the request: the certificate allowlist for /pdb, the rules of auth.conf for
// /status and /metrics, and no page of another server for what changes data. Cleartext requests to /pdb are trusted, as the listener is on localhost unless someone decides
// otherwise. Without an auth.conf cleartext may read status and metrics too, and HTTPS needs a certificate for metrics.

import { X509Certificate } from 'node:crypto';
import { BoundedLines } from '../bounded-lines.ts';
import type { Exchange, Handler, Mount } from '../http/exchange.ts';
import { decodedPath, isBelow } from '../http/paths.ts';
import type { Logger } from '../log.ts';
import { readExtensions } from '../tls/certificate-extensions.ts';
import { commonNameOf } from '../tls/distinguished-name.ts';
import type { Allowlist } from './allowlist.ts';
import { authorize, type RuleRequest, type Rules } from './rules.ts';

export interface AccessOptions {
  readonly allowlist: Allowlist | null;
  /** From auth.conf; null: none given. */
  readonly rules: Rules | null;
  readonly log: Logger;
}

/** What is allowed. Can be replaced while requests are served. */
export class Access {
  #options: AccessOptions;
  readonly #rejections = new BoundedLines();
  readonly #forbidden = new BoundedLines();
  readonly #foreign = new BoundedLines();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  replace(options: AccessOptions): void {
    this.#options = options;
  }

  /** For requests below /pdb that came over HTTPS: the text of the 403, or null to let the client in. */
  readonly refuseClient = ({ clientName, remoteAddress }: Exchange): string | null => {
    const { allowlist, log } = this.#options;
    if (allowlist === null || (clientName !== null && allowlist.names.has(clientName))) return null;
    const name = clientName ?? 'null';
    this.#rejections.tell((untold) =>
      log.warn({ address: remoteAddress, ...untold }, `${name} rejected by certificate allowlist ${allowlist.from}`),
    );
    return (
      `Permission denied: The client certificate name ${name} doesnt appear in the certificate allowlist. ` +
      "Is your master's (or other PuppetDB client's) certname listed in PuppetDB's certificate-allowlist file?"
    );
  };

  /** The mount as it is, or behind what `guards` has for it. */
  guard(mount: Mount): Mount {
    const { prefix, handler } = mount;
    const found = this.#guards.find(([guarded]) => isBelow(prefix, guarded));
    if (found === undefined) return mount;
    const [, refuses] = found;
    const guarded: Handler = (exchange) => (refuses(exchange) ? undefined : handler(exchange));
    return { ...mount, handler: guarded };
  }

  /** What is refused below which prefix: true, and it has been answered. */
  readonly #guards: readonly (readonly [prefix: string, refuses: (exchange: Exchange) => boolean])[] = [
    ['/status', (exchange) => this.#refuseByRules(exchange)],
    ['/metrics', (exchange) => this.#refuseByRules(exchange)],
    ['/pdb/cmd', (exchange) => this.#refuseForeignPage(exchange)],
    ['/pdb/admin', (exchange) => this.#refuseForeignPage(exchange)],
  ];

  /**
   * A browser sends what a page wants sent, with the rights of whoever sits before it: to the cleartext port of its machine, for example. Of
   * some requests it does not ask the server before, and a command needs no answer.
   */
  #refuseForeignPage(exchange: Exchange): boolean {
    if (!isOfForeignPage(exchange)) return false;
    const { remoteAddress: address, path } = exchange;
    const page = (exchange.header('origin') || exchange.header('referer')).slice(0, PAGE_MAX);
    this.#foreign.tell((untold) =>
      this.#options.log.warn({ address, page, ...untold }, `refused for a page of another server: ${path}`),
    );
    exchange.reply({ status: 403, contentType: null, body: 'Pages of other servers may not ask for this.' });
    return true;
  }

  #refuseByRules(exchange: Exchange): boolean {
    const { rules, log } = this.#options;
    const request = ruleRequest(exchange, rules?.allowHeaderCertInfo ?? false);
    const verdict = rules === null ? byDefault(exchange) : byRules(rules, request);
    if (verdict === null) return false;
    const { clientName, path } = request;
    const { remoteAddress } = exchange;
    const what = `${path} (method :${exchange.method.toLowerCase()})`;
    const who = clientName === null ? remoteAddress : `${clientName}(${remoteAddress})`;
    const text = `Forbidden request: ${who} access to ${what} (authenticated: ${clientName !== null}) ${verdict}`;
    this.#forbidden.tell((untold) => log.warn(untold, text));
    const body = `Forbidden request: ${what}. Please see the server logs for details.`;
    exchange.reply({ status: 403, contentType: null, body });
    return true;
  }
}

/** Characters of its address in the log: enough to find it by. */
const PAGE_MAX = 200;
/** What a browser says of requests that its user, or a page of this server, wants. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none']);

/** Whether a browser says so. It does not tell the site where that is not safe from others, and programs tell neither. */
function isOfForeignPage(exchange: Exchange): boolean {
  const site = exchange.header('sec-fetch-site');
  if (site !== '') return !OWN_SITES.has(site);
  const origin = exchange.header('origin');
  return origin !== '' && origin.replace(/^https?:\/\//, '') !== exchange.header('host').toLowerCase();
}

/** null: allowed; else why not, for the log. */
function byRules(rules: Rules, request: RuleRequest): string | null {
  const decision = authorize(rules, request);
  if (decision.allowed) return null;
  return decision.rule === null ? 'denied, as no rule matches' : `denied by rule '${decision.rule.name}'.`;
}

/** Without rules: over HTTPS the metrics need a certificate. */
function byDefault(exchange: Exchange): string | null {
  const isOpen = exchange.listener === 'http' || exchange.clientName !== null || isBelow(exchange.path, '/status');
  return isOpen ? null : 'denied, as metrics need a client certificate';
}

function ruleRequest(exchange: Exchange, fromHeaders: boolean): RuleRequest {
  return {
    method: exchange.method,
    path: decodedPath(exchange.path),
    query: new URLSearchParams(exchange.queryString),
    ...(exchange.clientName === null && fromHeaders ? headerClient(exchange) : connectionClient(exchange)),
  };
}

type RuleClient = Pick<RuleRequest, 'clientName' | 'extensions'>;

const connectionClient = (exchange: Exchange): RuleClient => ({
  clientName: exchange.clientName,
  extensions: () => exchange.clientExtensions(),
});

/** Identity that a proxy in front vouches for, and its certificate as `X-Client-Cert` (PEM, percent-encoded). */
const headerClient = (exchange: Exchange): RuleClient => ({
  clientName: headerName(exchange),
  extensions: () => {
    try {
      const pem = decodeURIComponent(exchange.header('x-client-cert'));
      return pem === '' ? null : readExtensions(new X509Certificate(pem).raw);
    } catch {
      return null;
    }
  },
});

/** Identity that a proxy in front vouches for: `X-Client-Verify: SUCCESS` and the CN of `X-Client-DN`. */
const headerName = (exchange: Exchange): string | null =>
  exchange.header('x-client-verify') === 'SUCCESS' ? commonNameOf(exchange.header('x-client-dn')) : null;
