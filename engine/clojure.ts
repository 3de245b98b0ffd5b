// How PuppetDB's Clojure prints values inside messages (with Java's number formats), and in which order it goes through sets. Clients
// see these texts in errors, so they are matched; nothing else may depend on the notation.

import { SHORT_ESCAPES } from './json/compare.ts';
import { printJson } from './json/print.ts';
import { Float, isArray, isNumber, isObject, type JsonValue } from './json/value.ts';

/** The value inside a structure: strings quoted, null as `nil`, maps with keyword keys. */
export const printClojure = (value: JsonValue): string => printed(value, (key) => `:${key}`);

/** The same of what was read as JSON alone: maps have texts as their keys. */
export const printRead = (value: JsonValue): string => printed(value, quoted);

function printed(value: JsonValue, keyText: (key: string) => string): string {
  if (value === null) return 'nil';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return String(value);
  if (isNumber(value)) return printJson(value);
  if (isArray(value)) return `[${value.map((item) => printed(item, keyText)).join(' ')}]`;
  if (!isObject(value)) return '';
  return `{${Object.entries(value)
    .map(([key, item]) => `${keyText(key)} ${printed(item, keyText)}`)
    .join(', ')}}`;
}

const quoted = (text: string): string =>
  `"${text.replace(/["\\\b\f\n\r\t]/g, (char) => SHORT_ESCAPES[char] as string)}"`;

/** The value standing alone in a message: strings raw, null as `null`, numbers with thousands separators. */
export function printAlone(value: JsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value.toLocaleString('en-US');
  if (isNumber(value)) {
    const plain = value instanceof Float ? value.value : value;
    return plain.toLocaleString('en-US', { maximumFractionDigits: 3, roundingMode: 'halfEven' });
  }
  return printClojure(value);
}

/** The value turned into a text, as Clojure's `str` does: strings raw, null empty. Not grouped. */
export function textOf(value: JsonValue): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : printClojure(value);
}

/** Whether the text is nothing but what Java calls white space: the separators of ASCII are that, spaces that do not break are not. */
export const isBlank = (text: string): boolean => !/[^\t-\r\u001c-\u001f\p{Z}]|[\u00a0\u2007\u202f]/u.test(text);

const INT_MIN = -(2n ** 31n);
const INT_MAX = 2n ** 31n - 1n;
/** Integers of more digits are read as big ones, also those that would fit. */
const LONG_DIGITS = 18;
/** Entries up to which Clojure keeps a map as an array. */
const ARRAY_MAP_MAX = 8;

/** Java's name of the class that a value has once it has been read. Texts and null have none that messages name. */
export function javaClass(value: JsonValue): string {
  if (typeof value === 'boolean') return 'java.lang.Boolean';
  if (isArray(value)) return 'clojure.lang.PersistentVector';
  if (isObject(value)) {
    const kind = Object.keys(value).length > ARRAY_MAP_MAX ? 'Hash' : 'Array';
    return `clojure.lang.Persistent${kind}Map`;
  }
  if (value instanceof Float || (typeof value === 'number' && !Number.isInteger(value))) return 'java.lang.Double';
  const integer = BigInt(value as number | bigint);
  if (integer >= INT_MIN && integer <= INT_MAX) return 'java.lang.Integer';
  return String(integer).replace('-', '').length <= LONG_DIGITS ? 'java.lang.Long' : 'java.math.BigInteger';
}

/** Numbers and Booleans: what cannot be taken for a list. Texts can, and null is an empty one. */
export const isAtom = (value: JsonValue | undefined): value is number | bigint | Float | boolean =>
  value !== undefined && (isNumber(value) || typeof value === 'boolean');

// ---- sets ----

/**
 * Where a text stands in PuppetDB's set order (spec/commands.md 4.2), that of a 32-way hash trie: its position there as one number, the
 * 5-bit groups, lowest first, as digits of a number in base 32.
 */
export function setRank(text: string): number {
  let mixed = murmur3Int(javaHash(text));
  let rank = 0;
  for (let group = 0; group < 7; group++) {
    rank = rank * 32 + (mixed & 31);
    mixed >>>= 5;
  }
  return rank;
}

/** Of several texts, of which there is one at least, the one that PuppetDB meets first when it goes through a set of them. */
export const firstOfSet = (texts: readonly string[]): string =>
  texts.reduce((first, text) => (setRank(text) < setRank(first) ? text : first));

function javaHash(text: string): number {
  let code = 0;
  for (let index = 0; index < text.length; index++) code = (Math.imul(31, code) + text.charCodeAt(index)) | 0;
  return code;
}

function murmur3Int(input: number): number {
  if (input === 0) return 0;
  let k = Math.imul(input, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  let h = Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  h ^= 4;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h >>> 0;
}
