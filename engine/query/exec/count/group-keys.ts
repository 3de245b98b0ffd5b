// What rows are grouped by, as numbers: equal values have equal ones, each new value the next.

import { ByteNumbers } from '../../../byte-numbers.ts';
import { QUOTE } from '../../../json/ascii.ts';
import { identityText } from '../../../json/compare.ts';
import type { JsonValue } from '../../../json/value.ts';
import { PairNumbers } from '../../../pair-numbers.ts';
import type { StoredEvents } from '../../../store/records/event-record.ts';
import type { Column, GroupKey } from '../../tree.ts';
import { CodedNumbers } from '../filter/coded.ts';
import { type CompileScope, typeOf } from '../filter/filter.ts';
import { memberOf, shownAccess, shownRef } from '../plan/columns.ts';
import { type Access, type StoredPlace, textOf, type Value } from '../row/access.ts';
import type { Hold } from '../row/room.ts';
import type { Row } from '../row/row.ts';

/** The one group of all rows. */
const ONLY = 0;

export const pairNumbersFor = (keys: readonly Key[]): readonly PairNumbers[] =>
  keys.slice(1).map(() => new PairNumbers());

/** The number of what the keys of a row are together. `combined`: for each key but the first. */
export function numberOfKeys(keys: readonly Key[], combined: readonly PairNumbers[], row: Row): number {
  let number = keys.length === 0 ? ONLY : keys[0]!.of(row);
  for (let i = 1; i < keys.length; i++) number = combined[i - 1]!.of(number, keys[i]!.of(row));
  return number;
}

/** Bytes that a text takes beside its characters, with the map that finds it. */
export const TEXT_BYTES = 60;

/** What a row is grouped by. What a key keeps takes room. */
export interface Key {
  readonly access: Access;
  /** Equal for rows of one group; each new one is the next, from 0 on. */
  of(row: Row): number;
  /** What that was for the row that was asked for last. */
  readonly last: number;
  /** Whether equal ones have equal texts. */
  readonly isExact: boolean;
  /** A number of the text that it has, which no other text has; -1: texts are not numbered. */
  readonly lastText: number;
}

/** A key that is a value: numbered by its text. */
class ValueKey implements Key {
  readonly access: Access;
  readonly isExact = false;
  last = -1;
  readonly lastText = -1;
  readonly #identity: (row: Row) => string;
  readonly #hold: Hold;
  readonly #numbers = new Map<string, number>();

  constructor(access: Access, hold: Hold, identity: (row: Row) => string) {
    this.access = access;
    this.#hold = hold;
    this.#identity = identity;
  }

  of(row: Row): number {
    const text = this.#identity(row);
    let number = this.#numbers.get(text);
    if (number === undefined) {
      this.#hold(TEXT_BYTES + text.length);
      this.#numbers.set(text, (number = this.#numbers.size));
    }
    this.last = number;
    return number;
  }
}

/** A key that is a stored text: no value is made. */
class TextKey implements Key {
  readonly access: Access;
  readonly isExact = true;
  last = -1;
  readonly #stored: StoredPlace;
  readonly #hold: Hold;
  readonly #numbers = new ByteNumbers();
  #count = 0;

  constructor(access: Access, hold: Hold, stored: StoredPlace) {
    this.access = access;
    this.#hold = hold;
    this.#stored = stored;
  }

  of(row: Row): number {
    const { place } = this.#stored;
    const record = this.#stored.of(row);
    const start = record.startOf(place);
    const end = record.endOf(place);
    this.last = this.#numbers.of(record.bytes, start, end, this.last);
    if (this.last === this.#count) {
      this.#count++;
      this.#hold(TEXT_BYTES + end - start);
    }
    return this.last;
  }

  get lastText(): number {
    return this.last;
  }
}

/** The same where equal values may be other texts: each text's value is made once, unless it is a string. */
class StoredKey implements Key {
  readonly access: Access;
  readonly isExact = false;
  last = -1;
  readonly #stored: StoredPlace;
  readonly #texts: TextKey;
  /** Of values that are no strings, by what is equal of them. */
  readonly #numbers = new Map<string, number>();
  #count = 0;
  /** By the number of the text, the number of the value. */
  readonly #byText: number[] = [];

  constructor(access: Access, hold: Hold, stored: StoredPlace) {
    this.access = access;
    this.#stored = stored;
    this.#texts = new TextKey(access, hold, stored);
  }

  of(row: Row): number {
    const text = this.#texts.of(row);
    this.last = this.#byText[text] ??= this.#find(row);
    return this.last;
  }

  /** Of a text that was not met before. */
  #find(row: Row): number {
    const { place } = this.#stored;
    const record = this.#stored.of(row);
    // Strings are spelled in one way.
    if (record.bytes[record.startOf(place)] === QUOTE) return this.#count++;
    const identity = identityText(this.access.value(row) as JsonValue);
    let number = this.#numbers.get(identity);
    if (number === undefined) this.#numbers.set(identity, (number = this.#count++));
    return number;
  }

  get lastText(): number {
    return this.#texts.last;
  }
}

/** A coded column of events. */
class CodedKey implements Key {
  readonly access: Access;
  readonly isExact = true;
  last = -1;
  readonly #column: number;
  readonly #hold: Hold;
  readonly #numbers = new CodedNumbers();
  #count = 0;

  constructor(access: Access, hold: Hold, column: number) {
    this.access = access;
    this.#hold = hold;
    this.#column = column;
  }

  of({ sub }: Row): number {
    const events = sub as StoredEvents;
    this.last = this.#numbers.of(events, events.code(this.#column));
    if (this.last === this.#count) {
      this.#count++;
      // Its characters count with the column that shows it.
      this.#hold(TEXT_BYTES);
    }
    return this.last;
  }

  get lastText(): number {
    return this.last;
  }
}

/** A number, or none: times, of which there may be as many as rows. */
class NumberKey implements Key {
  readonly access: Access;
  readonly isExact = true;
  last = -1;
  readonly #hold: Hold;
  readonly #numbers = new Map<Value, number>();

  constructor(access: Access, hold: Hold) {
    this.access = access;
    this.#hold = hold;
  }

  of(row: Row): number {
    const value = this.access.value(row);
    let number = this.#numbers.get(value);
    if (number === undefined) {
      this.#hold(TEXT_BYTES);
      this.#numbers.set(value, (number = this.#numbers.size));
    }
    this.last = number;
    return number;
  }

  /** One time is one text. */
  get lastText(): number {
    return this.last;
  }
}

/** Where a path leads nowhere: another group than null. */
const NOWHERE = '';

export function keyOf(key: GroupKey, columns: readonly Column[], scope: CompileScope, hold: Hold): Key {
  const access = key.kind === 'ref' ? shownRef(key.ref, scope) : shownAccess(columns[key.column]!, scope);
  if (key.kind === 'ref' && key.ref.kind === 'path' && key.ref.parts.length > 0) {
    const { find } = memberOf(key.ref, scope);
    return new ValueKey(access, hold, (row) => {
      const found = find(row);
      return found === undefined ? NOWHERE : identityText(found);
    });
  }
  const { column, stored, isPlain } = access;
  if (column !== undefined) return new CodedKey(access, hold, column);
  if (stored !== undefined)
    return isPlain === true ? new TextKey(access, hold, stored) : new StoredKey(access, hold, stored);
  if (key.kind === 'ref' && key.ref.kind === 'field' && typeOf(scope.entity, key.ref.field) === 'T')
    return new NumberKey(access, hold);
  return new ValueKey(access, hold, (row) => identityText(access.value(row) as JsonValue));
}

/** Numbers of what a function reads: by its text, as functions see 1 and 1.0 apart. */
export const argumentOf = (access: Access, hold: Hold): Key =>
  access.stored === undefined
    ? new ValueKey(access, hold, (row) => textOf(access, row))
    : new TextKey(access, hold, access.stored);
