// Times through a mask, like PostgreSQL's to_char in the zone UTC with English names.

import {
  civilFromDays,
  DAY_MS,
  daysFromCivil,
  HOUR_MS,
  isoWeekday,
  isoYearStart,
  MONTHS,
  WEEKDAYS,
} from '../../time.ts';
import { type MaskNode, ordinalEnding, parseMask } from './mask.ts';

/** Julian day number of 1970-01-01. */
const JULIAN_EPOCH = 2_440_588;
const NAME_WIDTH = 9;

const ROMAN_MONTHS = 'I II III IV V VI VII VIII IX X XI XII'.split(' ');

/** What the patterns ask about a time. */
interface Parts {
  readonly day: number;
  /** Astronomical. */
  readonly year: number;
  readonly month: number;
  readonly dayOfMonth: number;
  /** From 1. */
  readonly dayOfYear: number;
  /** 1 Monday to 7 Sunday. */
  readonly weekday: number;
  readonly isoYear: number;
  /** From 1, counted from the first Monday of the ISO year. */
  readonly dayOfIsoYear: number;
  readonly msOfDay: number;
}

function partsOf(ms: number): Parts {
  const day = Math.floor(ms / DAY_MS);
  const { year, month, dayOfMonth } = civilFromDays(day);
  const weekday = isoWeekday(day);
  // The Thursday of a week lies in its ISO year.
  const isoYear = civilFromDays(day - weekday + 4).year;
  return {
    day,
    year,
    month,
    dayOfMonth,
    dayOfYear: day - daysFromCivil(year, 1, 1) + 1,
    weekday,
    isoYear,
    dayOfIsoYear: day - isoYearStart(isoYear) + 1,
    msOfDay: ms - day * DAY_MS,
  };
}

type Pattern =
  /** A number; an ordinal ending may follow. `width`: zero-padded to it, unless FM is set. */
  | { readonly width: number; readonly alwaysPadded?: boolean; readonly number: (parts: Parts) => number }
  /** A text, blank-padded on the right to `width`, unless FM is set, or TM where it is a name that languages differ in. */
  | { readonly width: number; readonly isName?: boolean; readonly text: (parts: Parts) => string };

const number = (width: number, get: (parts: Parts) => number): Pattern => ({ width, number: get });
const text = (get: (parts: Parts) => string, width = 0): Pattern => ({ width, text: get });
const name = (get: (parts: Parts) => string, width = 0): Pattern => ({ width, isName: true, text: get });

/** Years before 1 are counted backwards, for use with BC. */
const yearOfEra = (year: number): number => (year <= 0 ? 1 - year : year);
const hourOf = ({ msOfDay }: Parts): number => Math.floor(msOfDay / HOUR_MS);
const hour12 = (parts: Parts): number => hourOf(parts) % 12 || 12;
const millisOf = ({ msOfDay }: Parts): number => msOfDay % 1000;
const secondOfDay = ({ msOfDay }: Parts): number => Math.floor(msOfDay / 1000);
const monthName = ({ month }: Parts): string => MONTHS[month - 1] as string;
const weekdayName = ({ weekday }: Parts): string => WEEKDAYS[weekday - 1] as string;
const century = ({ year }: Parts): number => (year > 0 ? Math.floor((year - 1) / 100) + 1 : Math.trunc(year / 100) - 1);

/** Fraction of a second with as many digits, padded even with FM. */
const fraction = (digits: number): Pattern => ({
  width: digits,
  alwaysPadded: true,
  number: (parts) => Math.floor(millisOf(parts) * 10 ** (digits - 3)),
});

/** By upper-case spelling. Names that exist in mixed case as well are in NAMES. */
const UPPER: Readonly<Record<string, Pattern>> = {
  'A.D.': text(({ year }) => (year <= 0 ? 'B.C.' : 'A.D.')),
  'A.M.': text((parts) => (hourOf(parts) >= 12 ? 'P.M.' : 'A.M.')),
  AD: text(({ year }) => (year <= 0 ? 'BC' : 'AD')),
  AM: text((parts) => (hourOf(parts) >= 12 ? 'PM' : 'AM')),
  CC: number(2, century),
  D: number(1, ({ weekday }) => (weekday % 7) + 1),
  DD: number(2, ({ dayOfMonth }) => dayOfMonth),
  DDD: number(3, ({ dayOfYear }) => dayOfYear),
  FF1: fraction(1),
  FF2: fraction(2),
  FF3: fraction(3),
  FF4: fraction(4),
  FF5: fraction(5),
  FF6: fraction(6),
  FX: text(() => ''),
  HH: number(2, hour12),
  HH12: number(2, hour12),
  HH24: number(2, hourOf),
  I: number(1, ({ isoYear }) => yearOfEra(isoYear) % 10),
  ID: number(1, ({ weekday }) => weekday),
  IDDD: number(3, ({ dayOfIsoYear }) => dayOfIsoYear),
  IW: number(2, ({ dayOfIsoYear }) => Math.floor((dayOfIsoYear - 1) / 7) + 1),
  IY: number(2, ({ isoYear }) => yearOfEra(isoYear) % 100),
  IYY: number(3, ({ isoYear }) => yearOfEra(isoYear) % 1000),
  IYYY: number(4, ({ isoYear }) => yearOfEra(isoYear)),
  J: number(1, ({ day }) => day + JULIAN_EPOCH),
  MI: number(2, ({ msOfDay }) => Math.floor(msOfDay / 60_000) % 60),
  MM: number(2, ({ month }) => month),
  MS: fraction(3),
  Q: number(1, ({ month }) => Math.floor((month - 1) / 3) + 1),
  RM: text(({ month }) => ROMAN_MONTHS[month - 1] as string, 4),
  SS: number(2, ({ msOfDay }) => Math.floor(msOfDay / 1000) % 60),
  SSSS: number(1, secondOfDay),
  SSSSS: number(1, secondOfDay),
  TZ: text(() => 'UTC'),
  TZM: text(() => '00'),
  US: fraction(6),
  W: number(1, ({ dayOfMonth }) => Math.floor((dayOfMonth - 1) / 7) + 1),
  WW: number(2, ({ dayOfYear }) => Math.floor((dayOfYear - 1) / 7) + 1),
  Y: number(1, ({ year }) => yearOfEra(year) % 10),
  YY: number(2, ({ year }) => yearOfEra(year) % 100),
  YYY: number(3, ({ year }) => yearOfEra(year) % 1000),
  YYYY: number(4, ({ year }) => yearOfEra(year)),
};

const MIXED: Readonly<Record<string, Pattern>> = {
  Day: name(weekdayName, NAME_WIDTH),
  Dy: name((parts) => weekdayName(parts).slice(0, 3)),
  Month: name(monthName, NAME_WIDTH),
  Mon: name((parts) => monthName(parts).slice(0, 3)),
};

const converted = (pattern: Pattern, convert: (text: string) => string): Pattern =>
  'text' in pattern ? { ...pattern, text: (parts) => convert(pattern.text(parts)) } : pattern;
const lower = (t: string): string => t.toLowerCase();
const upper = (t: string): string => t.toUpperCase();

const PATTERNS = new Map<string, Pattern>(Object.entries(MIXED));
for (const [key, pattern] of Object.entries(MIXED)) {
  PATTERNS.set(upper(key), converted(pattern, upper));
  PATTERNS.set(lower(key), converted(pattern, lower));
}
for (const [key, pattern] of Object.entries(UPPER)) {
  PATTERNS.set(key, pattern);
  PATTERNS.set(lower(key), converted(pattern, lower));
}
for (const [key, like] of [
  ['B.C.', 'A.D.'],
  ['BC', 'AD'],
  ['P.M.', 'A.M.'],
  ['PM', 'AM'],
] as const) {
  PATTERNS.set(key, PATTERNS.get(like) as Pattern);
  PATTERNS.set(lower(key), PATTERNS.get(lower(like)) as Pattern);
}

/** Patterns whose text does not follow the rules of the others. */
const SPECIAL: Readonly<Record<string, (parts: Parts, isFilled: boolean) => string>> = {
  'Y,YYY': ({ year }) => {
    const thousands = Math.floor(yearOfEra(year) / 1000);
    return `${thousands},${String(yearOfEra(year) - thousands * 1000).padStart(3, '0')}`;
  },
  TZH: () => '+00',
  OF: (_, isFilled) => (isFilled ? '+0' : '+00'),
};

const SYNTAX = {
  keys: [...PATTERNS.keys(), ...Object.keys(SPECIAL).flatMap((key) => [key, lower(key)])].sort(
    (a, b) => b.length - a.length,
  ),
  prefixes: ['FM', 'fm', 'TM', 'tm'],
  suffixes: ['TH', 'th', 'SP'],
};

/** Patterns that tell more than the hour. */
const WITHIN_HOURS = new Set('MI SS SSSS SSSSS MS US FF1 FF2 FF3 FF4 FF5 FF6'.split(' '));

/** Whether all times of an hour have the same text. */
export const isHourly = (mask: string): boolean =>
  parseMask(mask, SYNTAX).every((node) => node.kind === 'text' || !WITHIN_HOURS.has(upper(node.key)));

/** What a mask makes of times, in epoch milliseconds. */
export function compileTimeMask(mask: string): (ms: number) => string {
  const nodes = parseMask(mask, SYNTAX);
  return (ms) => {
    const parts = partsOf(ms);
    let out = '';
    for (const node of nodes) out += node.kind === 'text' ? node.text : print(node, parts);
    return out;
  };
}

function print(node: Extract<MaskNode<string>, { kind: 'pattern' }>, parts: Parts): string {
  const isFilled = node.prefix === 'FM' || node.prefix === 'fm';
  const special = SPECIAL[upper(node.key)];
  const pattern = PATTERNS.get(node.key);
  if (pattern !== undefined && 'text' in pattern) {
    const isUnpadded = isFilled || (node.prefix !== '' && pattern.isName === true);
    return pattern.text(parts).padEnd(isUnpadded ? 0 : pattern.width);
  }
  const digits =
    pattern === undefined
      ? (special?.(parts, isFilled) ?? '')
      : padded(pattern.number(parts), isFilled && !pattern.alwaysPadded ? 0 : pattern.width);
  const isOrdinal = (node.suffix === 'TH' || node.suffix === 'th') && /\d$/.test(digits) && !/^[+]/.test(digits);
  return isOrdinal ? digits + ordinalEnding(digits, node.suffix === 'TH') : digits;
}

const padded = (n: number, width: number): string =>
  n < 0 ? `-${String(-n).padStart(width, '0')}` : String(n).padStart(width, '0');
