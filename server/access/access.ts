// Who may ask what, before a handler sees the request: the certificate allowlist for /pdb, the rules of auth.conf for
// /status and /metrics. Cleartext requests to /pdb are trusted, as the listener is on localhost unless someone decides
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

  /** The mount as it is, or, below /status and /metrics, behind the rules. */
  guard(mount: Mount): Mount {
    const { prefix, handler } = mount;
    if (!isBelow(prefix, '/status') && !isBelow(prefix, '/metrics')) return mount;
    const guarded: Handler = (exchange) => (this.#refuseByRules(exchange) ? undefined : handler(exchange));
    return { ...mount, handler: guarded };
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
