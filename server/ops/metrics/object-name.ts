// Bean names as management clients write them: `domain:key=value,key=value`, with `*` and `?` patterns in the domain and in
// values and a trailing `,*` for further properties. Only names: what stands behind one is bean-server.ts.
//
// The order of properties never matters; the canonical form has them sorted. Refusals carry the texts that clients of the
// JVM know (spec/operations.md 7.6).

/** What the domains of PuppetDB's metrics begin with. */
export const PUPPETDB_DOMAIN = 'puppetlabs.puppetdb';

export class MalformedName extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedName';
  }
}

interface Property {
  readonly key: string;
  readonly value: string;
  readonly pattern: boolean;
}

export interface ObjectName {
  /** As written by the client. */
  readonly text: string;
  readonly domain: string;
  readonly domainPattern: boolean;
  readonly properties: readonly Property[];
  /** `,*`: further properties may follow. */
  readonly open: boolean;
  /** Matches more than one name. */
  readonly pattern: boolean;
  /** Properties sorted by key, with `,*` last. */
  readonly canonicalProperties: string;
  readonly canonical: string;
}

const ESCAPABLE = '\\"?*n';
/** Characters of a name: clients choose it, and a pattern is compared with the name of every bean. */
const LENGTH_MAX = 8192;

/** Parses a name or pattern; throws MalformedName. The empty text stands for every name. */
export function parseObjectName(text: string): ObjectName {
  if (text === '') return parseObjectName('*:*');
  const length = text.length;
  if (length > LENGTH_MAX) throw new MalformedName(`A name may have ${LENGTH_MAX} characters at most`);
  const colon = domainEnd(text);
  if (colon + 1 >= length) throw new MalformedName('Key properties cannot be empty');
  const domain = text.slice(0, colon);
  const properties: Property[] = [];
  const keys = new Set<string>();
  let open = false;
  let index = colon + 1;
  while (index < length) {
    if (text[index] === '*') {
      if (open) throw new MalformedName("Cannot have several '*' characters in pattern property list");
      open = true;
      index++;
      if (index === length) break;
      if (text[index] !== ',') {
        throw new MalformedName("Invalid character found after '*': end of name or ',' expected");
      }
      index++;
      continue;
    }
    const keyEnd = propertyKeyEnd(text, index);
    const key = text.slice(index, keyEnd);
    const quoted = text[keyEnd + 1] === '"';
    const value = quoted ? quotedValue(text, keyEnd + 1) : plainValue(text, keyEnd + 1);
    if (value.end === length - 1) {
      throw new MalformedName(quoted ? `Invalid ending character \`${text[value.end]}'` : 'Invalid ending comma');
    }
    if (keys.has(key)) throw new MalformedName(`key \`${key}' already defined`);
    keys.add(key);
    properties.push({ key, value: text.slice(keyEnd + 1, value.end), pattern: value.pattern });
    index = value.end + 1;
  }
  const sorted = [...properties].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const listed = sorted.map((property) => `${property.key}=${property.value}`);
  if (open) listed.push('*');
  const canonicalProperties = listed.join(',');
  const domainPattern = /[*?]/.test(domain);
  return {
    text,
    domain,
    domainPattern,
    properties: sorted,
    open,
    pattern: domainPattern || open || properties.some((property) => property.pattern),
    canonicalProperties,
    canonical: `${domain}:${canonicalProperties}`,
  };
}

/** Whether the concrete `name` is one of those that `pattern` stands for. */
export function matchesName(pattern: ObjectName, name: ObjectName): boolean {
  if (pattern.domainPattern ? !matchesGlob(pattern.domain, name.domain) : pattern.domain !== name.domain) return false;
  if (!pattern.open && pattern.properties.length !== name.properties.length) return false;
  for (const wanted of pattern.properties) {
    const found = name.properties.find((property) => property.key === wanted.key);
    if (found === undefined) return false;
    if (wanted.pattern ? !matchesGlob(wanted.value, found.value) : wanted.value !== found.value) return false;
  }
  return true;
}

function domainEnd(text: string): number {
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === ':') return index;
    if (char === '\n') throw new MalformedName("Invalid character '\\n' in domain name");
    if (char === '=' && text.indexOf(':', index + 1) < 0) throw new MalformedName('Domain part must be specified');
  }
  return text.length;
}

function propertyKeyEnd(text: string, start: number): number {
  if (text[start] === '=') throw new MalformedName('Invalid key (empty)');
  for (let index = start; index < text.length; index++) {
    const char = text[index]!;
    if (char === '=') return index;
    if ('*?,:\n'.includes(char)) {
      throw new MalformedName(`Invalid character '${char === '\n' ? '\\n' : char}' in key part of property`);
    }
  }
  throw new MalformedName('Unterminated key property part');
}

function plainValue(text: string, start: number): { end: number; pattern: boolean } {
  let pattern = false;
  let index = start;
  for (; index < text.length && text[index] !== ','; index++) {
    const char = text[index]!;
    if (char === '*' || char === '?') pattern = true;
    else if ('=:"\n'.includes(char)) {
      throw new MalformedName(`Invalid character '${char === '\n' ? '\\n' : char}' in value part of property`);
    }
  }
  return { end: index, pattern };
}

function quotedValue(text: string, start: number): { end: number; pattern: boolean } {
  let pattern = false;
  for (let index = start + 1; index < text.length; index++) {
    const char = text[index]!;
    if (char === '"') return { end: index + 1, pattern };
    if (char === '\\') {
      index++;
      if (index === text.length) break;
      if (!ESCAPABLE.includes(text[index]!)) {
        throw new MalformedName(`Invalid escape sequence '\\${text[index]}' in quoted value`);
      }
    } else if (char === '\n') throw new MalformedName('Newline in quoted value');
    else if (char === '*' || char === '?') pattern = true;
  }
  throw new MalformedName('Unterminated quoted value');
}

/**
 * Whether the text is what the pattern says: `*` stands for any characters, `?` for one. Only the last `*` is ever tried
 * again, so that no pattern costs more than its length times that of the text: clients choose it.
 */
function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let index = 0;
  let star = -1;
  let tried = 0;
  while (index < text.length) {
    const char = pattern[at];
    if (char === '*') {
      star = at++;
      tried = index;
    } else if (char === '?' || char === text[index]) {
      at++;
      index++;
    } else if (star >= 0) {
      at = star + 1;
      index = ++tried;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
