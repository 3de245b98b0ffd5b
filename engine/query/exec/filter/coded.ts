// Conditions on one coded column of events (store/records/event-record.ts). Equal texts of a report have equal codes there, so such a
// condition is decided once per report and code, and which events pass is told by their codes: reports without one are left at
// once, and of others only those events are looked at. What is only shown of events has no codes: there each text is tested once.

import { ByteNumbers } from '../../../byte-numbers.ts';
import type { StoredEvents } from '../../../store/records/event-record.ts';
import type { WantedText } from '../../../store/records/fields.ts';
import type { StoredPlace, Value } from '../row/access.ts';
import type { Row } from '../row/row.ts';
import { FALSE, negate, TRUE, type Truth } from './truth.ts';

/** What a condition says of the text that a code stands for. */
type Judge = (events: StoredEvents, code: number) => Truth;

/** The first event from `from` on that may pass, as far as codes tell; `to`: none does before it. */
export type Seek = (events: StoredEvents, from: number, to: number) => number;

/** Of what was not judged yet. */
const OPEN = 3;
type Verdict = Truth | typeof OPEN;
const CODES_FIRST = 256;

/** A condition on one coded column. */
export class CodedTest {
  readonly column: number;
  readonly #judge: Judge;
  /** By code, of the report's events that were looked at last. */
  #verdicts = new Uint8Array(CODES_FIRST);
  #events: StoredEvents | null = null;
  #report = 0;

  constructor(column: number, judge: Judge) {
    this.column = column;
    this.#judge = judge;
  }

  /** The opposite condition. */
  negated(): CodedTest {
    const judge = this.#judge;
    return new CodedTest(this.column, (events, code) => negate(judge(events, code)));
  }

  /** Of the present event. */
  of(events: StoredEvents): Truth {
    this.#turnTo(events);
    return this.#verdict(events, events.code(this.column));
  }

  seek(events: StoredEvents, from: number, to: number): number {
    if (from >= to) return to;
    this.#turnTo(events);
    for (let index = from; index < to; index++) {
      if (this.#verdict(events, events.codeAt(this.column, index)) === TRUE) return index;
    }
    return to;
  }

  #verdict(events: StoredEvents, code: number): Truth {
    const known = this.#verdicts[code] as Verdict;
    if (known !== OPEN) return known;
    const verdict = this.#judge(events, code);
    this.#verdicts[code] = verdict;
    return verdict;
  }

  #turnTo(events: StoredEvents): void {
    if (events === this.#events && events.report === this.#report) return;
    this.#events = events;
    this.#report = events.report;
    const { textCount } = events;
    if (textCount > this.#verdicts.length) this.#verdicts = new Uint8Array(textCount * 2);
    this.#verdicts.fill(OPEN, 0, textCount);
  }
}

/** Whether a text is one of few, which its bytes tell. */
export function isOneOf(wanted: readonly WantedText[], onNull: Truth): Judge {
  return (events, code) => {
    for (let i = 0; i < wanted.length; i++) {
      const isEqual = events.equals(code, wanted[i]!);
      if (isEqual === null) return onNull;
      if (isEqual) return TRUE;
    }
    return FALSE;
  };
}

/** Texts whose verdicts are known are forgotten when they are so many, or take so many bytes. */
const TEXTS_MAX = 1 << 16;
const TEXT_BYTES_MAX = 1 << 22;
/** After so many looks no more are numbered where most were at a text that had not come before. */
const LOOKS_TRIED = 1 << 13;

/** Verdicts on texts that lie in the bytes of whatever reports: reports are much alike, so each text is tested once. */
class TextVerdicts {
  readonly #numbers = new ByteNumbers();
  #verdicts: Verdict[] = [];
  #last = -1;
  #looks = 0;
  #texts = 0;

  /** Whether hardly any text comes again. */
  get areOnce(): boolean {
    return this.#looks >= LOOKS_TRIED && this.#texts * 2 > this.#looks;
  }

  /** Numbers the texts that are asked for. */
  get numbers(): ByteNumbers {
    if (this.#verdicts.length === TEXTS_MAX || this.#numbers.byteCount > TEXT_BYTES_MAX) {
      this.#numbers.clear();
      this.#verdicts = [];
      this.#last = -1;
    }
    return this.#numbers;
  }

  /** The number that the next text may well have: texts are mostly met in the order in which they were met first. */
  get guess(): number {
    return this.#last + 1 < this.#verdicts.length ? this.#last + 1 : -1;
  }

  of(number: number): Verdict {
    this.#last = number;
    this.#looks++;
    if (number === this.#verdicts.length) {
      this.#verdicts.push(OPEN);
      this.#texts++;
    }
    return this.#verdicts[number]!;
  }

  set(number: number, verdict: Truth): void {
    this.#verdicts[number] = verdict;
  }
}

/** Any test of a value. `lasts`: whether a verdict will still be the same later; else the text is tested once a report. */
export function judgeOf(test: (value: Value) => Truth, lasts: (verdict: Truth) => boolean = () => true): Judge {
  let verdicts: TextVerdicts | null = null;
  return (events, code) => {
    verdicts ??= new TextVerdicts();
    const number = events.numberOf(code, verdicts.numbers, verdicts.guess);
    const known = verdicts.of(number);
    if (known !== OPEN) return known;
    const verdict = test(events.valueOf(code));
    if (lasts(verdict)) verdicts.set(number, verdict);
    return verdict;
  };
}

/** Any test of a row that reads nothing but that text of it. */
export function storedTest({ of, place }: StoredPlace, test: (row: Row) => Truth): (row: Row) => Truth {
  let verdicts: TextVerdicts | null = null;
  return (row) => {
    verdicts ??= new TextVerdicts();
    if (verdicts.areOnce) return test(row);
    const record = of(row);
    const number = verdicts.numbers.of(record.bytes, record.startOf(place), record.endOf(place), verdicts.guess);
    const known = verdicts.of(number);
    if (known !== OPEN) return known;
    const verdict = test(row);
    verdicts.set(number, verdict);
    return verdict;
  };
}

/**
 * Numbers for the texts of coded columns: equal for equal texts of whatever reports, which are looked up once per report and code. From 0
 * on, in the order in which they are met.
 */
export class CodedNumbers {
  readonly #numbers = new ByteNumbers();
  /** By code, of the report's events that were looked at last: the number of its text + 1, or 0. */
  #byCode = new Uint32Array(CODES_FIRST);
  /** By the number of a text, the number of the one that came next when it was last met + 1, or 0: reports are much alike. */
  #following: Uint32Array = new Uint32Array(CODES_FIRST);
  #before = 0;
  #events: StoredEvents | null = null;
  #report = 0;

  /** How many there are: the numbers are below it. */
  get size(): number {
    return this.#numbers.size;
  }

  /** Forgets all texts. */
  clear(): void {
    this.#numbers.clear();
    this.#following.fill(0);
    this.#before = 0;
    this.#events = null;
  }

  of(events: StoredEvents, code: number): number {
    if (events !== this.#events || events.report !== this.#report) this.#turnTo(events);
    const known = this.#byCode[code]!;
    if (known !== 0) return known - 1;
    const number = events.numberOf(code, this.#numbers, this.#following[this.#before]! - 1);
    this.#byCode[code] = number + 1;
    this.#following[this.#before] = number + 1;
    if (number >= this.#following.length) this.#following = withRoom(this.#following, number + 1);
    this.#before = number;
    return number;
  }

  #turnTo(events: StoredEvents): void {
    this.#events = events;
    this.#report = events.report;
    const { textCount } = events;
    if (textCount > this.#byCode.length) this.#byCode = new Uint32Array(textCount * 2);
    else this.#byCode.fill(0, 0, textCount);
  }
}

/** The same numbers, with room for so many at least, which is more than there was. */
export function withRoom(numbers: Uint32Array, size: number): Uint32Array<ArrayBuffer> {
  const bigger = new Uint32Array(Math.max(size, numbers.length * 2));
  bigger.set(numbers);
  return bigger;
}

/** Where all of these may find an event. */
export function seekAll(seeks: readonly Seek[]): Seek {
  if (seeks.length === 1) return seeks[0]!;
  return (events, from, to) => {
    let at = from;
    let agreed = 0;
    for (let i = 0; agreed < seeks.length; i = (i + 1) % seeks.length) {
      const next = seeks[i]!(events, at, to);
      agreed = next === at ? agreed + 1 : 1;
      at = next;
      if (at >= to) break;
    }
    return at;
  };
}

/** Where one of these may find an event. Each goes on from where it stopped, when what it found is behind. */
export function seekAny(seeks: readonly Seek[]): Seek {
  /** Where each stopped, and whether it found one there. */
  const stops = new Float64Array(seeks.length);
  const isFound = new Uint8Array(seeks.length);
  let last: StoredEvents | null = null;
  let report = 0;
  let lastFrom = 0;
  return (events, from, to) => {
    if (events !== last || events.report !== report || from < lastFrom) {
      last = events;
      report = events.report;
      stops.fill(from);
      isFound.fill(0);
    }
    lastFrom = from;
    let least = to;
    for (let i = 0; i < seeks.length; i++) {
      const stop = stops[i]!;
      if (stop < from || (isFound[i] === 0 && stop < to)) {
        stops[i] = seeks[i]!(events, Math.max(stop, from), to);
        isFound[i] = stops[i]! < to ? 1 : 0;
      }
      least = Math.min(least, stops[i]!);
    }
    return least;
  };
}
