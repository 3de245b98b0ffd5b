// Conditions on parameters of resources, decided in the stored text: the parameters of a resource are many and long, and a condition
// asks for one. Only values that a condition has to see as values are parsed.

import { canonicalOfStored } from '../../json/canonical-of-stored.ts';
import { parseJson } from '../../json/parse.ts';
import { endOfString, endOfValue, keyAt, keyOf, memberAt } from '../../json/scan.ts';
import { storedText } from '../../json/stored.ts';
import { RESOURCE, type StoredResource } from '../../store/bodies.ts';
import { isUtf8, wantedText } from '../../store/fields.ts';
import type { CompileRegex } from '../regex/regex.ts';
import type { Filter } from '../tree.ts';
import { documentTest, firstKeyTest, type JsonFilter } from './json-filter.ts';
import type { Row } from './row.ts';
import { FALSE, TRUE, type Truth, truthOf } from './truth.ts';

type ParameterFilter = Extract<Filter, { kind: 'parameter' }>;
type RowTest = (row: Row) => Truth;

const QUOTE = 0x22;
const OPEN = 0x7b;

const resourceOf = (row: Row): StoredResource => row.body as StoredResource;

/** Where the value of the parameter of that name begins in the resource's bytes; -1: it has none. */
function finderOf(name: string): (resource: StoredResource) => number {
  // No other text is a name in stored bytes.
  if (!isUtf8(name)) return () => -1;
  const key = keyOf(name);
  return ({ record }) =>
    memberAt(record.bytes, record.startOf(RESOURCE.parameters), record.endOf(RESOURCE.parameters), key);
}

/** `["=" | "~", ["parameter", name], value]`. */
export const parameterTest = (filter: ParameterFilter, regex: CompileRegex): RowTest =>
  filter.op === '=' ? parameterEquals(filter) : parameterMatches(filter, regex);

function parameterEquals({ name, text, others = [] }: ParameterFilter): RowTest {
  const wanted = new Set<string>();
  for (const one of [text, ...others]) {
    wanted.add(one);
    // Stored texts spell large integral doubles out: 1.0E10 is 10000000000 there.
    if (/^-?\d\.\d+E\d+$/.test(one)) wanted.add(storedText(parseJson(one)));
  }
  const find = finderOf(name);
  const isWanted = textTest(wanted);
  return (row) => {
    const { record } = resourceOf(row);
    const start = find(resourceOf(row));
    return start < 0 ? FALSE : truthOf(isWanted(record.bytes, start, record.endOf(RESOURCE.parameters)));
  };
}

/** Whether the canonical text of the value that is stored at `start` is one of these. Of a single string the bytes are compared. */
function textTest(wanted: ReadonlySet<string>): (bytes: Buffer, start: number, end: number) => boolean {
  const [only] = wanted;
  const plain = wanted.size === 1 ? plainBytes(only!) : null;
  if (plain === null)
    return (bytes, start, end) => wanted.has(canonicalAt(bytes, start, endOfValue(bytes, start, end)));
  return (bytes, start, end) => {
    if (start + plain.length > end) return false;
    for (let i = 0; i < plain.length; i++) if (bytes[start + i] !== plain[i]) return false;
    return true;
  };
}

/** Bytes of a string's JSON text that no other value begins with; null: there are none, or some of it may be written otherwise. */
function plainBytes(text: string): Uint8Array | null {
  if (text.charCodeAt(0) !== QUOTE) return null;
  const { plain } = wantedText(text.slice(1, -1));
  return plain === null ? null : Buffer.from(text, 'utf8');
}

const canonicalAt = (bytes: Buffer, start: number, end: number): string =>
  canonicalOfStored(bytes.toString('utf8', start, end));

/** The name is a regular expression here, as the value is. */
function parameterMatches({ name, text }: ParameterFilter, regex: CompileRegex): RowTest {
  const names = regex(name);
  const texts = regex(text);
  /** Names come again and again. */
  const verdicts = new Map<string, boolean>();
  const isNamed = (key: string): boolean => {
    let verdict = verdicts.get(key);
    if (verdict === undefined) {
      verdict = names.test(key);
      if (verdicts.size < NAMES_MAX) verdicts.set(key, verdict);
    }
    return verdict;
  };
  return (row) => {
    const { record } = resourceOf(row);
    const { bytes } = record;
    const end = record.endOf(RESOURCE.parameters);
    let at = record.startOf(RESOURCE.parameters);
    if (bytes[at] !== OPEN) return FALSE;
    for (at++; bytes[at] === QUOTE; at++) {
      const from = endOfString(bytes, at, end) + 1;
      const to = endOfValue(bytes, from, end);
      if (isNamed(keyAt(bytes, at, from - 1)) && texts.test(canonicalAt(bytes, from, to))) return TRUE;
      at = to;
    }
    return FALSE;
  };
}

/** Names whose verdict is kept. */
const NAMES_MAX = 10_000;

/** Dotted: `parameters.ensure`, and all of them. */
export function dottedParameterTest(filter: JsonFilter, regex: CompileRegex): RowTest {
  if (filter.parts.length === 0) {
    const test = documentTest(filter, regex);
    return (row) => test(resourceOf(row).parameters);
  }
  const { first, missing, path, judge } = firstKeyTest(filter, regex);
  const find = finderOf(first);
  return (row) => {
    const { record } = resourceOf(row);
    const start = find(resourceOf(row));
    return start < 0 ? missing : judge(path.findInText(record.bytes, start, record.endOf(RESOURCE.parameters)));
  };
}
