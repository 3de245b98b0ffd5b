// Times as text and back. Inside the program a time is a number: milliseconds since 1970-01-01T00:00:00Z, always UTC.
// Two readers of texts: a narrow one, the wire's strict ISO-8601 with a zone (reports), and a wide one, what the other commands
// and queries take (any ISO-8601 calendar, ordinal or week form, basic or extended, RFC 822, SQL style). Nothing here reads a
// clock. Every result lies within the range of a JavaScript Date; what does not is not a time.

import type { JsonValue } from './json/value.ts';

export const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
/** A JavaScript Date's range: 100,000,000 days on either side of 1970. */
const TIME_MAX_MS = 8_640_000_000_000_000;

// Four table lookups make a text: date, minute of the day, second, millisecond.
const pad = (n: number, width: number): string => String(n).padStart(width, '0');
const MINUTES: readonly string[] = Array.from({ length: 1440 }, (_, n) => `${pad((n / 60) | 0, 2)}:${pad(n % 60, 2)}:`);
const SECONDS: readonly string[] = Array.from({ length: 60 }, (_, n) => pad(n, 2));
const MILLIS: readonly string[] = Array.from({ length: 1000 }, (_, n) => `.${pad(n, 3)}Z`);
const EVENT_MILLIS: readonly string[] = Array.from({ length: 1000 }, (_, n) =>
  n === 0 ? '+00:00' : `.${pad(n, 3).replace(/0+$/, '')}+00:00`,
);

// ---- printing ----

/** The answers of one server speak of few days: eleven years of dates fit. */
const DATES_MAX = 4096;
const dates = new Map<number, string>();

/** What the text of a time of that day since 1970 begins with: `YYYY-MM-DDT`. */
export function datePrefix(day: number): string {
  let text = dates.get(day);
  if (text === undefined) {
    const { year, month, dayOfMonth } = civilFromDays(day);
    text = `${year < 0 ? '-' : ''}${pad(Math.abs(year), 4)}-${pad(month, 2)}-${pad(dayOfMonth, 2)}T`;
    if (dates.size >= DATES_MAX) dates.clear();
    dates.set(day, text);
  }
  return text;
}

function print(ms: number, fractions: readonly string[]): string {
  const day = Math.floor(ms / DAY_MS);
  const msOfDay = ms - day * DAY_MS;
  const minute = (msOfDay / 60_000) | 0;
  const msOfMinute = msOfDay - minute * 60_000;
  const second = (msOfMinute / 1000) | 0;
  return `${datePrefix(day)}${MINUTES[minute]}${SECONDS[second]}${fractions[msOfMinute - second * 1000]}`;
}

/**
 * `YYYY-MM-DDTHH:MM:SS.mmmZ`, what every time of an answer looks like (with the exception of `formatEventTime`). Years
 * after 9999 have more digits, years before 0 a minus sign. `ms` must be an integer.
 */
export const formatTime = (ms: number): string => print(ms, MILLIS);

/**
 * `YYYY-MM-DDTHH:MM:SS[.f]+00:00` with the shortest fraction, none if it is zero: the form of `timestamp` inside the
 * expanded `resource_events` of a report, where PostgreSQL and not the JSON writer prints the time.
 */
export const formatEventTime = (ms: number): string => print(ms, EVENT_MILLIS);

// ---- calendar ----

interface CivilDate {
  /** Astronomical: the year before 1 is 0. */
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  /** 1 to 31. */
  readonly dayOfMonth: number;
}

/** Date of the proleptic Gregorian calendar; `day` counts from 1970-01-01. */
export function civilFromDays(day: number): CivilDate {
  // Years are counted from March so that the leap day comes last, in eras of 400 years.
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    dayOfMonth: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
  };
}

/** Inverse of `civilFromDays`; the month and day must exist. */
export function daysFromCivil(year: number, month: number, dayOfMonth: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + dayOfMonth - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const monthLength = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : (MONTH_LENGTHS[month - 1] as number);

export const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
export const WEEKDAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');

/** 1 Monday to 7 Sunday. */
export const isoWeekday = (day: number): number => ((((day + 3) % 7) + 7) % 7) + 1;

/** Day number of the Monday of week 1 of an ISO week year (the week that holds January 4th). */
export function isoYearStart(weekYear: number): number {
  const fourth = daysFromCivil(weekYear, 1, 4);
  return fourth - isoWeekday(fourth) + 1;
}

const calendarDay = (year: number, month: number, dayOfMonth: number): number | null =>
  month < 1 || month > 12 || dayOfMonth < 1 || dayOfMonth > monthLength(year, month)
    ? null
    : daysFromCivil(year, month, dayOfMonth);

const ordinalDay = (year: number, dayOfYear: number): number | null =>
  dayOfYear < 1 || dayOfYear > (isLeapYear(year) ? 366 : 365) ? null : daysFromCivil(year, 1, 1) + dayOfYear - 1;

function weekDay(weekYear: number, week: number, weekday: number): number | null {
  if (weekday < 1 || weekday > 7 || week < 1) return null;
  const monday = isoYearStart(weekYear) + (week - 1) * 7;
  return monday < isoYearStart(weekYear + 1) ? monday + weekday - 1 : null;
}

const inRange = (ms: number): number | null => (ms >= -TIME_MAX_MS && ms <= TIME_MAX_MS ? ms : null);

// ---- strict ----

const STRICT =
  /^(-?\d{4}|-\d{5,10}|\+\d{5,10})-(\d\d)-(\d\d)t(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?(?:z|([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?)$/i;

/**
 * The time formats of the wire documentation: ISO-8601 date and time with seconds optional and a zone (`Z` or `+hh[:mm]`)
 * required. Digits after the millisecond are cut. Any other text: null.
 */
export function parseStrict(text: string): number | null {
  return parseUsual(text) ?? parseAnyStrict(text);
}

/** Value of the two digits at an index; NaN if they are none. */
function twoDigits(text: string, index: number): number {
  const high = text.charCodeAt(index) - 48;
  const low = text.charCodeAt(index + 1) - 48;
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? high * 10 + low : Number.NaN;
}

/**
 * What nearly all texts look like: `YYYY-MM-DDTHH:MM:SS`, up to nine digits of a fraction, then `Z` or `+HH:MM`. Null also
 * for valid texts of other forms. A report has hundreds of times, so no regular expression here.
 */
function parseUsual(text: string): number | null {
  const { length } = text;
  // A part that is not two digits is NaN, which fails its comparison below.
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const dayOfMonth = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return null;
  if (!(year >= 0 && hour <= 23 && minute <= 59 && second <= 59 && month >= 1 && month <= 12)) return null;
  if (!(dayOfMonth >= 1 && dayOfMonth <= monthLength(year, month))) return null;
  let millis = 0;
  let index = 19;
  if (text[index] === '.') {
    let place = 100;
    for (index = 20; index < 29; index++) {
      const digit = text.charCodeAt(index) - 48;
      if (!(digit >= 0 && digit <= 9)) break;
      millis += digit * place;
      place = (place / 10) | 0;
    }
  }
  let offset = 0;
  const zone = text[index];
  if (zone === '+' || zone === '-') {
    offset = twoDigits(text, index + 1) * 60 + twoDigits(text, index + 4);
    const isOffset = length === index + 6 && text[index + 3] === ':' && twoDigits(text, index + 4) <= 59;
    if (!isOffset || !(offset <= 18 * 60)) return null;
    if (zone === '-') offset = -offset;
  } else if (zone !== 'Z' || length !== index + 1) return null;
  return (
    daysFromCivil(year, month, dayOfMonth) * DAY_MS + ((hour * 60 + minute - offset) * 60 + second) * 1000 + millis
  );
}

function parseAnyStrict(text: string): number | null {
  const match = STRICT.exec(text);
  if (match === null) return null;
  const [, yearText, month, dayOfMonth, hourText, minuteText, secondText, fraction, sign, hours, minutes, seconds] =
    match;
  if (yearText === '-0000') return null;
  const day = calendarDay(Number(yearText), Number(month), Number(dayOfMonth));
  if (day === null) return null;
  const hour = Number(hourText);
  const minute = Number(minuteText);
  let second = Number(secondText ?? 0);
  // The end of a day may be written as its hour 24, and a leap second stands for the second before it.
  const isDayEnd =
    hour === 24 && minute === 0 && second === 0 && secondText !== undefined && Number(fraction ?? 0) === 0;
  if (second === 60 && hour === 23 && minute === 59) second = 59;
  if ((hour > 23 && !isDayEnd) || minute > 59 || second > 59) return null;
  let offset = 0;
  if (sign !== undefined) {
    const offsetMinute = Number(minutes ?? 0);
    const offsetSecond = Number(seconds ?? 0);
    if (offsetMinute > 59 || offsetSecond > 59) return null;
    offset = Number(hours) * 3600 + offsetMinute * 60 + offsetSecond;
    if (offset > 18 * 3600) return null;
    if (sign === '-') offset = -offset;
  }
  const millis = fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
  return inRange(day * DAY_MS + (hour * 3600 + minute * 60 + second - offset) * 1000 + millis);
}

// ---- lenient ----

// The accepted texts are those of Joda's ISO formatters, of RFC 822 and of the SQL style; when a text fits several of
// them, the first in PuppetDB's order counts. Digits may be fewer than the format asks for, as there, except in basic forms.
const CALENDAR = /^([+-]?\d{1,9})(?:-(\d{1,2})(?:-(\d{1,2}))?)?$/;
const ORDINAL = /^([+-]?\d{1,9})-(\d{1,3})$/;
const WEEK = /^([+-]?\d{1,9})-w(\d{1,2})(?:-(\d))?$/i;
const BASIC_CALENDAR = /^([+-]?\d{4})(\d\d)(\d\d)$/;
const BASIC_ORDINAL = /^([+-]?\d{4})(\d{3})$/;
const BASIC_WEEK = /^([+-]?\d{4})w(\d\d)(\d)$/i;

const OFFSET = String.raw`(z|[+-]\d\d(?::\d\d(?::\d\d(?:[.,]\d{1,3})?)?|\d\d(?:\d\d(?:\d{1,3})?)?)?)`;
const CLOCK = new RegExp(
  String.raw`^(?:(\d{1,2})(?:[.,](\d{1,9})|:(\d{1,2})(?:[.,](\d{1,9})|:(\d{1,2})(?:[.,](\d{1,9}))?)?)?)?${OFFSET}?$`,
  'i',
);
const FULL_CLOCK = new RegExp(String.raw`^\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{1,9})?${OFFSET}$`, 'i');
const BASIC_CLOCK = new RegExp(String.raw`^(\d\d)(\d\d)(\d\d)(?:\.(\d{1,9}))?${OFFSET}$`, 'i');
const SQL_STYLE = /^([+-]?\d{1,9}-\d{1,2}-\d{1,2}) (\d{1,2}:\d{1,2}:\d{1,2})$/;
const RFC_822 = /^([a-z]+), (\d{1,2}) ([a-z]+) ([+-]?\d{1,9}) (\d{1,2}:\d{1,2}:\d{1,2}) ([+-]\d\d(?::?\d\d)?|z)$/i;

/** Index of a full or three-letter English name, any case, counted from 1; 0 if there is none. */
function nameIndex(names: readonly string[], name: string): number {
  const wanted = name.toLowerCase();
  return names.findIndex((known) => [known, known.slice(0, 3)].some((text) => text.toLowerCase() === wanted)) + 1;
}

/** Milliseconds of a decimal fraction of a unit; what is finer than a millisecond is cut. */
function fractionMillis(digits: string | undefined, unitMs: number): number {
  if (digits === undefined) return 0;
  let place = unitMs * 10;
  let tenths = 0;
  for (let i = 0; i < digits.length; i++) {
    place = Math.floor(place / 10);
    tenths += (digits.charCodeAt(i) - 48) * place;
  }
  return Math.floor(tenths / 10);
}

/** Milliseconds east of UTC of a text that matched OFFSET; null when a part is out of range. */
function parseOffset(text: string | undefined): number | null {
  if (text === undefined || text === 'z' || text === 'Z') return 0;
  const digits = text.slice(1).replace(/[:.,]/g, '');
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2, 4));
  const seconds = Number(digits.slice(4, 6));
  if (hours > 23 || minutes > 59 || seconds > 59) return null;
  const millis = fractionMillis(digits.length > 6 ? digits.slice(6) : undefined, 1000);
  const offset = ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis;
  return text.charCodeAt(0) === 45 ? -offset : offset;
}

/** Time of day less its offset, in ms. Empty text: midnight. */
function parseClock(text: string): number | null {
  const match = CLOCK.exec(text);
  if (match === null) return null;
  const [, hour = '0', ofHour, minute = '0', ofMinute, second = '0', ofSecond, offset] = match;
  const fraction = fractionMillis(ofHour, HOUR_MS) + fractionMillis(ofMinute, 60_000) + fractionMillis(ofSecond, 1000);
  return clockMillis([hour, minute, second], fraction, offset);
}

/** The same written without colons, and with a zone. */
function parseBasicClock(text: string): number | null {
  const match = BASIC_CLOCK.exec(text);
  if (match === null) return null;
  const [, hour = '', minute = '', second = '', ofSecond, offset] = match;
  return clockMillis([hour, minute, second], fractionMillis(ofSecond, 1000), offset);
}

function clockMillis(parts: readonly string[], millis: number, offsetText: string | undefined): number | null {
  const [hour, minute, second] = parts.map(Number) as [number, number, number];
  const offset = parseOffset(offsetText);
  if (hour > 23 || minute > 59 || second > 59 || offset === null) return null;
  return ((hour * 60 + minute) * 60 + second) * 1000 + millis - offset;
}

/** `clock`: what follows behind a T; null: nothing does. */
function parseDate(text: string, clock: string | null): number | null {
  let match = CALENDAR.exec(text);
  if (match !== null) {
    const day = calendarDay(Number(match[1]), Number(match[2] ?? 1), Number(match[3] ?? 1));
    if (day !== null) return day;
  }
  // A text like 2026-32 fits a month by its shape only, and is a day of the year: where no clock follows, or one with seconds
  // and a zone. Of the format that takes any other clock, two digits are a month, whatever their value.
  match = ORDINAL.exec(text);
  if (match !== null) {
    const [, year, dayOfYear = ''] = match;
    const mayBeShort = clock === null || FULL_CLOCK.test(clock);
    return dayOfYear.length === 3 || mayBeShort ? ordinalDay(Number(year), Number(dayOfYear)) : null;
  }
  match = WEEK.exec(text);
  return match === null ? null : weekDay(Number(match[1]), Number(match[2]), Number(match[3] ?? 1));
}

/** A date without hyphens. A day of the year needs a clock behind it: alone its digits are those of a year. */
function parseBasicDate(text: string, hasClock: boolean): number | null {
  let match = BASIC_CALENDAR.exec(text);
  if (match !== null) return calendarDay(Number(match[1]), Number(match[2]), Number(match[3]));
  match = BASIC_WEEK.exec(text);
  if (match !== null) return weekDay(Number(match[1]), Number(match[2]), Number(match[3]));
  match = hasClock ? BASIC_ORDINAL.exec(text) : null;
  return match === null ? null : ordinalDay(Number(match[1]), Number(match[2]));
}

function parseRfc822(text: string): number | null {
  const match = RFC_822.exec(text);
  if (match === null) return null;
  const weekday = nameIndex(WEEKDAYS, match[1] as string);
  const month = nameIndex(MONTHS, match[3] as string);
  if (weekday === 0 || month === 0) return null;
  const day = calendarDay(Number(match[4]), month, Number(match[2]));
  const clock = parseClock(`${match[5]}${match[6]}`);
  // A weekday that contradicts the date moves the date within its week, as PuppetDB's date library does.
  return day === null || clock === null ? null : (day - isoWeekday(day) + weekday) * DAY_MS + clock;
}

function parseLenientText(text: string): number | null {
  const sql = SQL_STYLE.exec(text);
  if (sql !== null) return combine(parseDate(sql[1] as string, null), parseClock(sql[2] as string));
  const separator = text.search(/t/i);
  // RFC 822 texts may hold a `t` of their own (Tue, Oct), and only they hold a comma followed by a blank.
  if (text.includes(', ')) return parseRfc822(text);
  if (separator > 0) {
    // Either both parts have their separators, or none has.
    const date = text.slice(0, separator);
    const clock = text.slice(separator + 1);
    return BASIC_CLOCK.test(clock)
      ? combine(parseBasicDate(date, true), parseBasicClock(clock))
      : combine(parseDate(date, clock), parseClock(clock));
  }
  if (separator === 0) return parseClockAlone(text.slice(1));
  if (text === '') return null;
  return combine(parseBasicDate(text, false) ?? parseDate(text, null), 0) ?? parseClockAlone(text);
}

/** Without a date before it there is an hour at least. */
const parseClockAlone = (text: string): number | null =>
  /^\d/.test(text) ? (parseBasicClock(text) ?? parseClock(text)) : null;

const combine = (day: number | null, clock: number | null): number | null =>
  day === null || clock === null ? null : day * DAY_MS + clock;

/**
 * The times that facts, catalogs, deactivations, expiration settings and catalog inputs may carry, and queries: a text in any ISO-8601,
 * RFC 822 or SQL form (no zone: UTC; no date: 1970-01-01), or an integer, milliseconds since the epoch. Anything else: null.
 */
export function parseLenient(value: JsonValue): number | null {
  if (typeof value === 'number') return Number.isInteger(value) ? inRange(value) : null;
  if (typeof value !== 'string') return null;
  const ms = parseLenientText(value);
  return ms === null ? null : inRange(ms);
}
