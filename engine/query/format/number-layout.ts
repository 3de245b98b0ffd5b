// What a mask of numbers says before any number comes: the digit positions, where signs stand, and which patterns contradict each other.

import { badQuery } from '../errors.ts';
import type { MaskNode } from './mask.ts';

const KEYS = [
  'EEEE',
  'FM',
  'MI',
  'PL',
  'PR',
  'RN',
  'SG',
  'SP',
  'TH',
  ',',
  '.',
  '0',
  '9',
  'B',
  'C',
  'D',
  'G',
  'L',
  'S',
  'V',
] as const;
export type Key = (typeof KEYS)[number];

export const SYNTAX = {
  keys: [...KEYS, ...KEYS.map((key) => key.toLowerCase()).filter((key) => !(KEYS as readonly string[]).includes(key))],
  prefixes: [],
  suffixes: [],
};

export interface Layout {
  /** Digit positions before and after the point. */
  readonly before: number;
  readonly after: number;
  /** Extra digits of `V`: the number is multiplied by ten for each. */
  readonly shift: number;
  /** First position, from 0, of a forced digit; null: there is none before the point. */
  readonly zeroStart: number | null;
  /** Positions up to the last forced digit. */
  readonly zeroEnd: number;
  readonly hasPoint: boolean;
  readonly isFilled: boolean;
  /** Where the sign of `S` stands, which is anchored to the number. */
  readonly anchored: 'before' | 'after' | null;
  readonly brackets: boolean;
  readonly minus: boolean;
  readonly plus: boolean;
  readonly roman: boolean;
  readonly exponent: boolean;
}

export const masked = (reason: string): Error => badQuery(`ERROR: ${reason}`);

/** What the patterns so far have said. */
class Reading {
  before = 0;
  after = 0;
  shift = 0;
  zeroStart: number | null = null;
  zeroEnd = 0;
  hasPoint = false;
  hasShift = false;
  isFilled = false;
  anchored: { readonly side: 'before' | 'after'; readonly at: number } | null = null;
  brackets = false;
  minus = false;
  plus = false;
  roman = false;
  exponent = false;
  /** `B`, unless a digit is before it: there it says nothing. */
  blank = false;

  get hasOwnSign(): boolean {
    return this.plus || this.minus;
  }
}

type Step = (reading: Reading, key: Key) => void;

const digit: Step = (reading, key) => {
  if (reading.brackets) throw masked(`"${key}" must be ahead of "PR"`);
  if (key === '9' && reading.hasShift) reading.shift++;
  else if (reading.hasPoint) reading.after++;
  else {
    if (key === '0') reading.zeroStart ??= reading.before;
    reading.before++;
  }
  if (key === '0') reading.zeroEnd = reading.before + reading.after;
};

const point: Step = (reading) => {
  if (reading.hasPoint) throw masked('multiple decimal points');
  if (reading.hasShift) throw masked('cannot use "V" and decimal point together');
  reading.hasPoint = true;
};

const anchoredSign: Step = (reading) => {
  const { anchored, hasOwnSign, brackets, hasPoint, before } = reading;
  if (anchored !== null) throw masked('cannot use "S" twice');
  if (hasOwnSign || brackets) throw masked('cannot use "S" and "PL"/"MI"/"SG"/"PR" together');
  reading.anchored = { side: hasPoint ? 'after' : 'before', at: before };
};

const ownSign: Step = (reading, key) => {
  if (reading.anchored !== null) throw masked(`cannot use "S" and "${key}" together`);
  reading.minus ||= key !== 'PL';
  reading.plus ||= key !== 'MI';
};

const brackets: Step = (reading) => {
  if (reading.anchored !== null || reading.hasOwnSign) {
    throw masked('cannot use "PR" and "S"/"PL"/"MI"/"SG" together');
  }
  reading.brackets = true;
};

const shift: Step = (reading) => {
  if (reading.hasPoint) throw masked('cannot use "V" and decimal point together');
  reading.hasShift = true;
};

const exponent: Step = (reading) => {
  const { blank, isFilled, anchored, roman, hasShift } = reading;
  if (blank || isFilled || anchored !== null || reading.brackets || reading.hasOwnSign || roman || hasShift) {
    throw masked('"EEEE" is incompatible with other formats');
  }
  reading.exponent = true;
};

/** What each pattern says; those that are absent concern only how a number is written. */
const steps: Readonly<Partial<Record<Key, Step>>> = {
  '9': digit,
  '0': digit,
  D: point,
  '.': point,
  FM: (reading) => {
    reading.isFilled = true;
  },
  S: anchoredSign,
  MI: ownSign,
  PL: ownSign,
  SG: ownSign,
  PR: brackets,
  RN: (reading) => {
    reading.roman = true;
  },
  V: shift,
  B: (reading) => {
    reading.blank ||= reading.before === 0 && reading.after === 0;
  },
  EEEE: exponent,
};

/** Throws QueryError for patterns that contradict each other. */
export function layoutOf(nodes: readonly MaskNode<string>[]): Layout {
  const reading = new Reading();
  for (const node of nodes) {
    if (node.kind === 'text') continue;
    const key = node.key.toUpperCase() as Key;
    if (reading.exponent) {
      throw masked(key === 'EEEE' ? 'cannot use "EEEE" twice' : '"EEEE" must be the last pattern used');
    }
    steps[key]?.(reading, key);
  }
  return { ...reading, anchored: anchorOf(reading) };
}

/** A sign behind all digits before the point is written after the number. */
function anchorOf({ anchored, before, shift }: Reading): Layout['anchored'] {
  if (anchored === null) return null;
  return anchored.side === 'after' || anchored.at === before + shift ? 'after' : 'before';
}
