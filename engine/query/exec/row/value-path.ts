// The way from a document to a value inside it, as dotted fields spell it: through a parsed value, or through the document's
// stored text, of which only what is found is parsed.

import { OPEN_LIST, OPEN_MAP } from '../../../json/ascii.ts';
import { elementAt, endOfValue, type Key, keyOf, memberAt, parseAt } from '../../../json/scan.ts';
import { isArray, isObject, type JsonValue } from '../../../json/value.ts';
import { FACT, type StoredFact } from '../../../store/records/bodies.ts';
import { isUtf8 } from '../../../store/records/fields.ts';
import { DIGITS } from '../../paths.ts';
import type { PathPart } from '../../tree.ts';

/** One move down: to a member, to an element, or to a member's element. */
interface Step {
  readonly key: Key | null;
  /** The key where it counts as an index into a list; -1: it does not. */
  readonly digits: number;
  /** null: none. */
  readonly index: number | null;
}

export class ValuePath {
  /** null: the path leads nowhere. */
  readonly #steps: readonly Step[] | null;
  /** A key that is no text in UTF-8 can only be compared as a string. */
  readonly #isText: boolean;

  /** An indexed part with an empty name is an index alone. `digitsAreIndexes`: names of digits are indexes of lists. */
  constructor(parts: readonly PathPart[], digitsAreIndexes: boolean) {
    const steps: Step[] = [];
    let leads = true;
    for (const part of parts) {
      if (part.kind === 'match') {
        leads = false;
        break;
      }
      const { name } = part;
      steps.push({
        key: name !== '' || part.kind === 'name' ? keyOf(name) : null,
        digits: digitsAreIndexes && DIGITS.test(name) ? Number(name) : -1,
        index: part.kind === 'indexed' ? part.index : null,
      });
    }
    this.#steps = leads ? steps : null;
    this.#isText = steps.every(({ key }) => key === null || isUtf8(key.text));
  }

  /** What is there in a value; undefined: nothing. */
  find(value: JsonValue): JsonValue | undefined {
    const steps = this.#steps;
    if (steps === null) return undefined;
    let at: JsonValue | undefined = value;
    for (let i = 0; i < steps.length && at !== undefined; i++) {
      const { key, digits, index } = steps[i]!;
      if (key !== null) at = child(at, key.text, digits);
      if (index !== null) at = element(at, index);
    }
    return at;
  }

  /** What is there in a fact's value; undefined: nothing. */
  findInFact({ record }: StoredFact): JsonValue | undefined {
    return this.findInText(record.bytes, record.startOf(FACT.value), record.endOf(FACT.value));
  }

  /** What is there in the value whose stored text begins at `start` and ends before `end`; undefined: nothing. */
  findInText(bytes: Buffer, start: number, end: number): JsonValue | undefined {
    const steps = this.#steps;
    if (steps === null) return undefined;
    if (!this.#isText) return this.find(parseAt(bytes, start, endOfValue(bytes, start, end)));
    let at = start;
    for (let i = 0; i < steps.length; i++) {
      const { key, digits, index } = steps[i]!;
      if (key !== null) {
        at = bytes[at] === OPEN_LIST && digits >= 0 ? elementAt(bytes, at, end, digits) : memberAt(bytes, at, end, key);
        if (at < 0) return undefined;
      }
      if (index !== null) {
        if (bytes[at] === OPEN_LIST) at = elementAt(bytes, at, end, index);
        else if (bytes[at] === OPEN_MAP || index !== 0) return undefined;
        if (at < 0) return undefined;
      }
    }
    return parseAt(bytes, at, endOfValue(bytes, at, end));
  }
}

/** As PostgreSQL sees it, a scalar is a list of itself. */
function element(at: JsonValue | undefined, index: number): JsonValue | undefined {
  if (at === undefined || isObject(at)) return undefined;
  if (isArray(at)) return at[index];
  return index === 0 ? at : undefined;
}

function child(at: JsonValue, name: string, digits: number): JsonValue | undefined {
  if (isObject(at)) return Object.hasOwn(at, name) ? at[name] : undefined;
  return digits >= 0 && isArray(at) ? at[digits] : undefined;
}
