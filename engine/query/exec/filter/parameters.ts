// Conditions on parameters of resources, decided in the stored text: the parameters of a resource are many and long, and a condition
// asks for one. Only values that a condition has to see as values are parsed.

import { QUOTE } from '../../../json/ascii.ts';
import { canonicalK, quote } from '../../../json/canonical.ts';
import { canonicalOfStored } from '../../../json/canonical-of-stored.ts';
import { JsonError, parseJson } from '../../../json/parse.ts';
import { endOfValue, keyAt, keyOf, memberAt, someMember } from '../../../json/scan.ts';
import { storedText } from '../../../json/stored.ts';
import type { Mark } from '../../../store/items/item-signatures.ts';
import { markOfName, markOfParameter } from '../../../store/items/parameter-marks.ts';
import { RESOURCE, type StoredResource } from '../../../store/records/bodies.ts';
import { isUtf8, wantedText } from '../../../store/records/fields.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import type { Row } from '../row/row.ts';
import { documentTest, firstKeyTest, type JsonFilter } from './json-filter.ts';
import { FALSE, type Truth, truthOf } from './truth.ts';

type ParameterFilter = Extract<Filter, { kind: 'parameter' }>;
type RowTest = (row: Row) => Truth;
type TextTest = (bytes: Buffer, start: number, end: number) => boolean;

const LITERAL = /^(?:true|false|null)$/;

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

function parameterEquals(filter: ParameterFilter): RowTest {
  const find = finderOf(filter.name);
  // Many large numbers take long to be spelled out: not before there is a parameter to compare.
  let isWanted: TextTest | null = null;
  return (row) => {
    const { record } = resourceOf(row);
    const start = find(resourceOf(row));
    if (start < 0) return FALSE;
    isWanted ??= textTest(wantedBy(filter));
    return truthOf(isWanted(record.bytes, start, record.endOf(RESOURCE.parameters)));
  };
}

/** Canonical texts of what is stored of the values that are asked for, and those that were sent. */
function wantedBy({ text, others = [] }: ParameterFilter): ReadonlySet<string> {
  const wanted = new Set<string>();
  for (const one of [text, ...others]) {
    wanted.add(one);
    // Stored texts spell large integral doubles out, and have no negative zero: 1.0E10 is 10000000000 there, also in a list.
    const stored = plainBytes(one) === null ? onceStored(one) : null;
    if (stored !== null) wanted.add(stored);
  }
  return wanted;
}

/** The canonical text of what is stored of the value with that one; null: it is too deep, or too long, to be stored. */
function onceStored(text: string): string | null {
  try {
    return canonicalK(parseJson(storedText(parseJson(text))));
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

/** Whether the canonical text of the value that is stored at `start` is one of these. Of a single string the bytes are compared. */
function textTest(wanted: ReadonlySet<string>): TextTest {
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

/** Bytes of the JSON text of a string or literal, which no other value begins with; null: it is neither, or has escapes. */
function plainBytes(text: string): Uint8Array | null {
  if (LITERAL.test(text)) return Buffer.from(text, 'utf8');
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
    const isWanted = (key: number, value: number, valueEnd: number): boolean =>
      isNamed(keyAt(bytes, key, value - 1)) && texts.test(canonicalAt(bytes, value, valueEnd));
    return truthOf(someMember(bytes, record.startOf(RESOURCE.parameters), record.endOf(RESOURCE.parameters), isWanted));
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

/** More values are not looked for by signature: hardly an item would be left out. */
const MARKS_MAX = 8;

/** Every resource for which the condition is true has all bits of one of these marks in its signature. null: that cannot be told. */
export function marksOf(filter: Filter, regex: CompileRegex): readonly Mark[] | null {
  switch (filter.kind) {
    case 'parameter':
      return filter.op === '=' ? marksOfTexts(filter.name, [filter.text, ...(filter.others ?? [])]) : null;
    case 'json':
      return marksOfDotted(filter, regex);
    case 'or': {
      const all = filter.args.map((arg) => marksOf(arg, regex));
      return all.every((marks) => marks !== null) ? all.flat() : null;
    }
    case 'and': {
      for (const arg of filter.args) {
        const marks = marksOf(arg, regex);
        if (marks !== null) return marks;
      }
      return null;
    }
    default:
      return null;
  }
}

/** `texts`: what the parameter's value may be; null: anything. */
function marksOfTexts(name: string, texts: readonly string[] | null): readonly Mark[] | null {
  if (!isUtf8(name)) return null;
  if (texts === null || texts.length > MARKS_MAX) return [markOfName(name)];
  const marks: Mark[] = [];
  for (const text of texts) {
    const plain = plainBytes(text);
    marks.push(plain === null ? markOfName(name) : markOfParameter(name, plain));
  }
  return marks;
}

/** A dotted condition is never true where the first key is missing. */
function marksOfDotted(filter: JsonFilter, regex: CompileRegex): readonly Mark[] | null {
  if (filter.root !== 'parameters' || filter.parts.length === 0) return null;
  const { first, equals } = firstKeyTest(filter, regex);
  return marksOfTexts(first, equals === null ? null : [quote(equals)]);
}
