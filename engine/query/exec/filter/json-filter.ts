// Operators on dotted fields (`facts.os.family`, `parameters.ensure`): spec/query.md 3.3, 3.4, 3.9. The first
// key of a path is special there (a comparison on a missing first key is false, on a missing deeper part unknown), so the
// test is split in two: what a missing first key gives, and what the first key's value gives.

import { compareJson, containsJson, equalJson, textForm } from '../../../json/compare.ts';
import type { JsonValue } from '../../../json/value.ts';
import { DIGITS } from '../../paths.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { CompareOp, Filter, PathPart } from '../../tree.ts';
import { ValuePath } from '../row/value-path.ts';
import { FALSE, HOLDS, type Truth, truthOf, UNKNOWN } from './truth.ts';

export type JsonFilter = Extract<Filter, { kind: 'json' }>;

export interface FirstKeyTest {
  /** Name of the first key: a fact's or a parameter's name. */
  readonly first: string;
  /** Truth when the first key is not there. */
  readonly missing: Truth;
  /** The rest of the path, below the first key's value. */
  readonly path: ValuePath;
  /** Truth for what is found there; undefined: nothing is. */
  judge(found: JsonValue | undefined): Truth;
  /** Set when the test is true exactly for this text value: an index can answer it. */
  readonly equals: string | null;
}

const nameOf = (part: PathPart): string => (part.kind === 'match' ? '' : part.name);

/** The test of a dotted filter without `match` parts. */
export function firstKeyTest(filter: JsonFilter, regex: CompileRegex): FirstKeyTest {
  const { parts } = filter;
  const [head, ...rest] = parts;
  if (head === undefined) throw new Error('a dotted filter needs a part');
  const first = nameOf(head);
  if (filter.op === 'null?') {
    const wantsNull = filter.value === true;
    return {
      first,
      missing: UNKNOWN,
      equals: null,
      path: new ValuePath(rest, false),
      judge: (at) => (at === undefined ? UNKNOWN : truthOf((at === null) === wantsNull)),
    };
  }
  const indexed = parts.some((p) => p.kind === 'indexed');
  if (filter.op === '=' && !indexed && !parts.some(isDigits)) return containment(first, rest, filter.value);
  const judge = comparison(filter, regex);
  if (filter.op === '=' && !indexed) {
    return { first, missing: UNKNOWN, equals: null, path: new ValuePath(rest, true), judge };
  }
  const steps: readonly PathPart[] = head.kind === 'indexed' ? [{ ...head, name: '' }, ...rest] : rest;
  return { first, missing: FALSE, equals: null, path: new ValuePath(steps, false), judge };
}

const isDigits = (part: PathPart): boolean => part.kind === 'name' && DIGITS.test(part.name);

/** `=` without numbers in the path: the document contains {first: {…: value}}. Never unknown. */
function containment(first: string, rest: readonly PathPart[], value: JsonValue): FirstKeyTest {
  return {
    first,
    missing: FALSE,
    equals: rest.length === 0 && typeof value === 'string' ? value : null,
    path: new ValuePath(rest, false),
    judge: (at) => truthOf(at !== undefined && containsJson(at, value)),
  };
}

/** Truth of the comparison for what was found at the path (undefined: nothing). */
function comparison(filter: JsonFilter, regex: CompileRegex): (found: JsonValue | undefined) => Truth {
  const { op, value } = filter;
  if (op === '~') {
    const matcher = regex(textForm(value) ?? '');
    return (found) => {
      if (found === undefined) return UNKNOWN;
      const text = textForm(found);
      return text === null ? UNKNOWN : truthOf(matcher.test(text));
    };
  }
  if (op === '=') return (found) => (found === undefined ? UNKNOWN : truthOf(equalJson(found, value)));
  const holds = HOLDS[op as CompareOp];
  return (found) => (found === undefined ? UNKNOWN : truthOf(holds(compareJson(found, value), 0)));
}

/** Undotted `facts`, `trusted`, `parameters`: the whole document; a node without one leaves every answer open. */
export function documentTest(filter: JsonFilter, regex: CompileRegex): (document: JsonValue) => Truth {
  if (filter.op === 'null?') {
    const wantsNull = filter.value === true;
    return (document) => (document === null ? UNKNOWN : truthOf(!wantsNull));
  }
  if (filter.op === '=')
    return (document) => (document === null ? UNKNOWN : truthOf(containsJson(document, filter.value)));
  const compare = comparison(filter, regex);
  return (document) => compare(document);
}
