// Rules about who may ask what (those of auth.conf: config/authorization.ts reads them). Rules are tried in order of
// `sort-order`, ties by name; the first that matches decides, and a request that none matches is refused.

import type { CertificateExtensions } from '../tls/certificate-extensions.ts';

/** Who a rule speaks of. `any`: every authenticated client. */
export type Subject =
  | { readonly kind: 'any' }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'pattern'; readonly finds: (text: string) => boolean }
  | ExtensionSubject;

/** Clients whose certificates say so: each extension with one of its values, and, if given, one of the alternative names. */
export interface ExtensionSubject {
  readonly kind: 'extensions';
  /** Values by object identifier. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Alternative names by kind; null: any. */
  readonly alternativeNames: ReadonlyMap<string, readonly string[]> | null;
}

export interface Rule {
  readonly name: string;
  readonly sortOrder: number;
  readonly path:
    | { readonly kind: 'prefix'; readonly text: string }
    | { readonly kind: 'regex'; readonly finds: (text: string) => boolean };
  /** Lower-case names; null: all. */
  readonly methods: readonly string[] | null;
  readonly queryParams: ReadonlyMap<string, readonly string[]>;
  readonly allowUnauthenticated: boolean;
  readonly allow: readonly Subject[];
  readonly deny: readonly Subject[];
}

export interface Rules {
  /** Sorted: the first match decides. */
  readonly rules: readonly Rule[];
  /** Identity may come from the headers of a proxy that terminates TLS. */
  readonly allowHeaderCertInfo: boolean;
}

export interface RuleRequest {
  /** Upper-case, as sent. */
  readonly method: string;
  /** Decoded path. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Common name of the verified client certificate, or null. */
  readonly clientName: string | null;
  /** What that certificate says beside the name; null when it is not known. */
  readonly extensions: () => CertificateExtensions | null;
}

export type Decision =
  | { readonly allowed: true; readonly rule: Rule }
  | { readonly allowed: false; readonly rule: Rule | null };

/** Decides one request. `rule: null` in a refusal: no rule matched. */
export function authorize(rules: Rules, request: RuleRequest): Decision {
  for (const rule of rules.rules) {
    if (matches(rule, request)) return { allowed: isAllowed(rule, request), rule };
  }
  return { allowed: false, rule: null };
}

function matches(rule: Rule, request: RuleRequest): boolean {
  if (rule.methods !== null && !isOneOf(rule.methods, request.method.toLowerCase())) return false;
  const isOnPath =
    rule.path.kind === 'prefix' ? request.path.startsWith(rule.path.text) : rule.path.finds(request.path);
  if (!isOnPath) return false;
  for (const [name, values] of rule.queryParams) {
    const sent = request.query.getAll(name);
    if (!sent.some((value) => values.includes(value))) return false;
  }
  return true;
}

/** Who may read an answer may also ask for its head, as load balancers do: a rule for `get` is one for `head`. */
const isOneOf = (methods: readonly string[], method: string): boolean =>
  methods.includes(method) || (method === 'head' && methods.includes('get'));

function isAllowed(rule: Rule, { clientName, extensions }: RuleRequest): boolean {
  if (rule.allowUnauthenticated) return true;
  if (clientName === null) return false;
  if (rule.deny.some((subject) => isSubject(subject, clientName, extensions))) return false;
  return rule.allow.some((subject) => isSubject(subject, clientName, extensions));
}

/** Whether the rule speaks of this client. Names are the certificate's own and its alternative DNS names. */
function isSubject(subject: Subject, name: string, extensions: RuleRequest['extensions']): boolean {
  if (subject.kind === 'any') return true;
  if (subject.kind === 'extensions') return hasExtensions(subject, extensions());
  const names = [name, ...(extensions()?.alternativeNames.get('dns-name') ?? [])];
  return subject.kind === 'name' ? names.some((one) => subject.name === one.toLowerCase()) : names.some(subject.finds);
}

function hasExtensions(
  { texts: wanted, alternativeNames }: ExtensionSubject,
  found: CertificateExtensions | null,
): boolean {
  if (found === null) return false;
  for (const [id, values] of wanted) {
    const value = found.texts.get(id);
    if (value === undefined || !values.includes(value)) return false;
  }
  if (alternativeNames === null) return true;
  for (const [kind, names] of alternativeNames) {
    if (found.alternativeNames.get(kind)?.some((name) => names.includes(name)) === true) return true;
  }
  return false;
}
