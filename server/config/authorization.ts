// The rule list of auth.conf as it is written: who may ask /status and /metrics (access/rules.ts). /pdb has the allowlist instead.

import { javaPattern } from '../../engine/java-pattern.ts';
import type { ExtensionSubject, Rule, Rules, Subject } from '../access/rules.ts';
import { ALTERNATIVE_NAMES, alternativeKinds, extensionIds } from '../tls/certificate-extensions.ts';
import type { Notice } from './sources.ts';
import { suggestion } from './suggest.ts';
import { type ConfigObject, type ConfigValue, type Place, type Problem, placeText, plainValue } from './tree.ts';

/**
 * Reads the `authorization` section. Null when there is none; what is wrong with it goes to `problems`, what means nothing and
 * keeps nothing from working to `notices`.
 */
export function readRules(tree: ConfigObject, problems: Problem[], notices: Notice[] = []): Rules | null {
  const section = tree.members.get('authorization');
  if (section === undefined) return null;
  const report = (place: Place, message: string) => problems.push({ where: placeText(place), message });
  if (section.kind !== 'object') {
    report(section.place, 'authorization: an object is needed');
    return null;
  }
  const warn = (place: Place, message: string) =>
    notices.push({ level: 'warn', message: `${placeText(place)}: authorization: ${message}` });
  tellUnknown(section, KNOWN.section, 'section', warn);
  const version = section.members.get('version');
  if (version === undefined) report(section.place, 'authorization: `version: 1` is missing');
  else if (String(plainValue(version)) !== '1') {
    report(version.place, `authorization: only version 1 is known, not ${JSON.stringify(plainValue(version))}`);
  }
  const header = section.members.get('allow-header-cert-info');
  const fromHeaders = header === undefined ? false : plainValue(header);
  if (typeof fromHeaders !== 'boolean') {
    const shown = JSON.stringify(fromHeaders);
    report(header!.place, `authorization: allow-header-cert-info is true or false, not ${shown}`);
  }
  const list = section.members.get('rules');
  if (list?.kind !== 'list') {
    report(list?.place ?? section.place, 'authorization: `rules` needs to be a list');
    return null;
  }
  const rules: Rule[] = [];
  for (const item of list.items) {
    try {
      const rule = readRule(item, warn);
      const other = rules.find(({ name }) => name === rule.name);
      if (other !== undefined) throw new Error(`there are two rules named '${rule.name}'`);
      rules.push(rule);
    } catch (error) {
      report(item.place, `authorization: ${(error as Error).message}`);
    }
  }
  rules.sort((a, b) => a.sortOrder - b.sortOrder || (a.name < b.name ? -1 : 1));
  return { rules, allowHeaderCertInfo: fromHeaders === true };
}

type Warn = (place: Place, message: string) => void;

/** What the parts of an `authorization` section may say. */
const KNOWN = {
  section: ['version', 'allow-header-cert-info', 'rules'],
  rule: ['name', 'sort-order', 'match-request', 'allow', 'deny', 'allow-unauthenticated'],
  'match-request': ['path', 'type', 'method', 'query-params'],
} as const;

/** PuppetDB takes other keys, and does nothing with them. */
function tellUnknown(object: ConfigObject, known: readonly string[], what: string, warn: Warn): void {
  for (const [key, value] of object.members) {
    if (!known.includes(key)) warn(value.place, `nothing reads \`${key}\` in a ${what}${suggestion(key, known)}`);
  }
}

function readRule(value: ConfigValue, warn: Warn): Rule {
  if (value.kind !== 'object') throw new Error('each rule is an object');
  tellUnknown(value, KNOWN.rule, 'rule', warn);
  const request = value.members.get('match-request');
  if (request?.kind === 'object') tellUnknown(request, KNOWN['match-request'], 'match-request', warn);
  const plain = plainValue(value) as Record<string, unknown>;
  const name = plain['name'];
  if (typeof name !== 'string') throw new Error('a rule needs a name');
  const order = Number(plain['sort-order']);
  if (!Number.isInteger(order) || order < 1 || order > 999) {
    throw new Error(`rule '${name}': sort-order is a whole number from 1 to 999`);
  }
  const match = plain['match-request'];
  if (typeof match !== 'object' || match === null) throw new Error(`rule '${name}': match-request is missing`);
  const decisions = ['allow', 'deny', 'allow-unauthenticated'].filter((key) => plain[key] !== undefined);
  if (decisions.length === 0) throw new Error(`rule '${name}': needs allow, deny or allow-unauthenticated`);
  if (decisions.length > 1 && plain['allow-unauthenticated'] === true) {
    throw new Error(`rule '${name}': allow-unauthenticated cannot stand beside allow or deny`);
  }
  return {
    name,
    sortOrder: order,
    ...readMatch(name, match as Record<string, unknown>),
    allowUnauthenticated: plain['allow-unauthenticated'] === true,
    allow: readSubjects(name, plain['allow']),
    deny: readSubjects(name, plain['deny']),
  };
}

function readMatch(name: string, match: Record<string, unknown>): Pick<Rule, 'path' | 'methods' | 'queryParams'> {
  const { path, type, method } = match;
  if (typeof path !== 'string') throw new Error(`rule '${name}': match-request needs a path`);
  const kind = typeof type === 'string' ? type.toLowerCase() : '';
  if (kind !== 'path' && kind !== 'regex') throw new Error(`rule '${name}': the type of a path is path or regex`);
  const methods = method === undefined || method === 'any' ? null : readMethods(name, method);
  const queryParams = new Map<string, readonly string[]>();
  for (const [key, values] of Object.entries((match['query-params'] as object | undefined) ?? {})) {
    queryParams.set(key, texts(name, 'query-params', values));
  }
  return {
    path: kind === 'path' ? { kind: 'prefix', text: path } : { kind: 'regex', finds: finder(name, path) },
    methods,
    queryParams,
  };
}

const METHODS = ['get', 'post', 'put', 'delete', 'head'];

function readMethods(rule: string, value: unknown): string[] {
  const methods = texts(rule, 'method', value).map((text) => text.toLowerCase());
  const unknown = methods.find((method) => !METHODS.includes(method));
  if (unknown === undefined) return methods;
  throw new Error(`rule '${rule}': method \`${unknown}\` is none of ${METHODS.join(', ')}`);
}

function readSubjects(rule: string, value: unknown): Subject[] {
  if (value === undefined) return [];
  const items = Array.isArray(value) ? value : [value];
  return items.map((item) => {
    if (typeof item !== 'object' || item === null) return subject(rule, String(item));
    const [[key, what] = [], ...others] = Object.entries(item);
    if (others.length === 0 && key === 'certname' && typeof what === 'string') return subject(rule, what);
    if (others.length === 0 && key === 'extensions' && isMap(what)) return extensionSubject(rule, what);
    throw new Error(`rule '${rule}': a client is a name, { certname: NAME } or { extensions: { ... } }`);
  });
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `{ pp_role: [db, web], "1.3.6.1.4.1.34380.1.2.1": x, subject-alt-name: { dns-name: y } }`. */
function extensionSubject(rule: string, wanted: Record<string, unknown>): ExtensionSubject {
  const values = new Map<string, readonly string[]>();
  let alternativeNames: Map<string, readonly string[]> | null = null;
  for (const [key, value] of Object.entries(wanted)) {
    if (key === 'subject-alt-name' || key === ALTERNATIVE_NAMES) {
      if (!isMap(value)) throw new Error(`rule '${rule}': ${key} needs an object, { dns-name: NAME } for instance`);
      alternativeNames = new Map();
      for (const [kind, names] of Object.entries(value)) {
        if (!alternativeKinds.has(kind)) {
          throw new Error(`rule '${rule}': ${key} knows ${[...alternativeKinds].join(', ')}, not ${kind}`);
        }
        alternativeNames.set(kind, extensionValues(rule, kind, names));
      }
      continue;
    }
    const id = extensionIds.get(key) ?? (/^\d+(\.\d+)+$/.test(key) ? key : null);
    if (id === null) {
      throw new Error(
        `rule '${rule}': no extension is called ${key}; others than Puppet's go by their number, in quotes`,
      );
    }
    values.set(id, extensionValues(rule, key, value));
  }
  if (values.size === 0 && alternativeNames === null) throw new Error(`rule '${rule}': extensions is empty`);
  return { kind: 'extensions', texts: values, alternativeNames };
}

/** `pp_cli_auth: true` means the text, as certificates have it. */
const extensionValues = (rule: string, key: string, value: unknown): string[] =>
  texts(rule, key, typeof value === 'boolean' ? String(value) : value);

/** A name, `*`, a glob (`*.example.com`) or `/regex/`. */
function subject(rule: string, text: string): Subject {
  if (text === '*') return { kind: 'any' };
  // Puppet's rules may mean a part of the path by it.
  if (/\$\d/.test(text)) throw new Error(`rule '${rule}': \`${text}\`: clients cannot be named by parts of the path`);
  if (text.length > 2 && text.startsWith('/') && text.endsWith('/')) {
    return { kind: 'pattern', finds: finder(rule, text.slice(1, -1)) };
  }
  if (text.includes('*')) {
    const escaped = text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^.]*');
    // A leading star stands for any number of parts of a name, as in Puppet Server's rules.
    const pattern = text.startsWith('*.') ? `.+${escaped.slice('[^.]*'.length)}` : escaped;
    const whole = new RegExp(`^${pattern}$`, 'i');
    return { kind: 'pattern', finds: (name) => whole.test(name) };
  }
  return { kind: 'name', name: text.toLowerCase() };
}

function finder(rule: string, source: string): (text: string) => boolean {
  try {
    return javaPattern(source).finds;
  } catch (error) {
    throw new Error(`rule '${rule}': ${(error as Error).message}`);
  }
}

function texts(rule: string, key: string, value: unknown): string[] {
  const items = Array.isArray(value) ? value : [value];
  if (items.every((item) => typeof item === 'string' || typeof item === 'number')) return items.map(String);
  throw new Error(`rule '${rule}': ${key} is text or a list of texts`);
}
