// Interprets the wire tables of schemas/commands: one cheap pass says whether a payload conforms, a second one (only for
// payloads that do not) says why, in the style of the original's dead letters (spec/commands.md 3.0.2).

import type { WireField, WireTable, WireType } from '../../../schemas/commands/format.ts';
import { ownText } from '../../bytes.ts';
import { POINT } from '../../json/ascii.ts';
import { quote } from '../../json/canonical.ts';
import { printJson } from '../../json/print.ts';
import { isInteger, isNumber, isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { parseLenient, parseStrict } from '../../time.ts';

/** Whether a payload has the form of the table. */
export function conforms(table: WireTable, value: JsonValue): value is JsonObject {
  return isObject(value) && objectConforms(table, value);
}

function objectConforms(table: WireTable, object: JsonObject): boolean {
  const { fields } = table;
  let present = 0;
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as WireField;
    const value = object[field.name];
    if (value === undefined) {
      if (field.required) return false;
      continue;
    }
    present++;
    if (value === null ? !field.nullable : !valueConforms(field.type, value)) return false;
  }
  if (!table.closed) return true;
  let keys = 0;
  for (const _ in object) keys++;
  return keys === present;
}

function valueConforms(type: WireType, value: JsonValue): boolean {
  switch (type.kind) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return isInteger(value);
    case 'number':
      return isNumber(value);
    case 'any':
      return true;
    case 'map':
      return isObject(value);
    case 'time':
      return typeof value === 'string' && strictTime(value) !== null;
    case 'lenient-time':
      return parseLenient(value) !== null;
    case 'choice':
      return typeof value === 'string' && type.values.includes(value);
    case 'texts':
      return Array.isArray(value) && value.length === type.length && value.every((text) => typeof text === 'string');
    case 'list': {
      if (!Array.isArray(value)) return false;
      for (let index = 0; index < value.length; index++) {
        const element = value[index] as JsonValue;
        if (element === null ? type.of.kind !== 'any' : !valueConforms(type.of, element)) return false;
      }
      return true;
    }
    case 'object':
      return isObject(value) && objectConforms(type.table, value);
  }
}

const TIMES_MAX = 4096;
/** Longer texts are no times that anybody sends. */
const TIME_SIZE_MAX = 40;
const times = new Map<string, number | null>();

/** parseStrict with a memory: a report names the same instants again and again, and each is read twice. */
export function strictTime(text: string): number | null {
  if (text.length > TIME_SIZE_MAX) return parseStrict(text);
  let time = times.get(text);
  if (time === undefined) {
    time = parseStrict(text);
    if (times.size >= TIMES_MAX) times.clear();
    times.set(ownText(text), time);
  }
  return time;
}

/** Up to the seconds: `2026-11-20T10:00:` */
const MINUTE_SIZE = 17;
/** Of a text that begins with a minute: years of more digits put other things there, and of hour 24 there is a single instant. */
const HAS_MINUTE = /^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:/i;
const UPPER_Z = 0x5a;
const DIGIT_ZERO = 0x30;
/** The minute that was read last, and when it begins. */
const minute = new Uint8Array(MINUTE_SIZE);
let minuteTime = Number.NaN;

/** strictTime of the text from `start` to `end`, of which nothing is made when it is of the same minute as the one before. */
export function strictTimeAt(bytes: Buffer, start: number, end: number): number | null {
  const time = inLastMinute(bytes, start, end);
  if (time >= 0) return time;
  const text = bytes.toString('latin1', start, end);
  const parsed = strictTime(text);
  if (parsed !== null && HAS_MINUTE.test(text)) {
    const begin = parseStrict(`${text.slice(0, MINUTE_SIZE)}00Z`);
    if (begin !== null && begin >= 0) {
      minuteTime = begin;
      for (let i = 0; i < MINUTE_SIZE; i++) minute[i] = bytes[start + i]!;
    }
  }
  return parsed;
}

/** When the minute begins that was read last, of which each second is a time, if the text is of it; epoch ms. */
export const minuteAt = (bytes: Buffer, start: number, end: number): number | null =>
  inLastMinute(bytes, start, end) >= 0 ? minuteTime : null;

/** -1: another minute, or another form. */
function inLastMinute(bytes: Buffer, start: number, end: number): number {
  const last = end - 1;
  const second = start + MINUTE_SIZE;
  if (!(minuteTime >= 0) || last < second + 2 || bytes[last] !== UPPER_Z) return -1;
  for (let i = MINUTE_SIZE - 1; i >= 0; i--) if (bytes[start + i] !== minute[i]) return -1;
  const tens = bytes[second]! - DIGIT_ZERO;
  const ones = bytes[second + 1]! - DIGIT_ZERO;
  if (!(tens >= 0 && tens <= 5 && ones >= 0 && ones <= 9)) return -1;
  const time = minuteTime + (tens * 10 + ones) * 1000;
  if (last === second + 2) return time;
  if (bytes[second + 2] !== POINT || last > second + 12) return -1;
  let millis = 0;
  let place = 100;
  for (let at = second + 3; at < last; at++) {
    const digit = bytes[at]! - DIGIT_ZERO;
    if (!(digit >= 0 && digit <= 9)) return -1;
    millis += digit * place;
    place = (place / 10) | 0;
  }
  return time + millis;
}

/** What is wrong with a payload that does not conform, as one line. */
export function problems(table: WireTable, value: JsonValue): string {
  return isObject(value) ? (objectProblems(table, value) ?? 'nil') : `(not (map? ${excerpt(value)}))`;
}

function objectProblems(table: WireTable, object: JsonObject): string | null {
  const found: string[] = [];
  const names = new Set<string>();
  for (const field of table.fields) {
    names.add(field.name);
    const value = object[field.name];
    if (value === undefined) {
      if (field.required) found.push(`:${field.name} missing-required-key`);
      continue;
    }
    const problem = value === null && field.nullable ? null : valueProblem(field.type, value);
    if (problem !== null) found.push(`:${field.name} ${problem}`);
  }
  if (table.closed) {
    for (const key of Object.keys(object)) if (!names.has(key)) found.push(`:${excerptText(key)} disallowed-key`);
  }
  return found.length === 0 ? null : `{${found.join(', ')}}`;
}

function valueProblem(type: WireType, value: JsonValue): string | null {
  if (value !== null && valueConforms(type, value)) return null;
  const shown = excerpt(value);
  switch (type.kind) {
    case 'string':
      return `(not (instance? java.lang.String ${shown}))`;
    case 'boolean':
      return `(not (instance? java.lang.Boolean ${shown}))`;
    case 'integer':
      return `(not (integer? ${shown}))`;
    case 'number':
      return `(not (instance? java.lang.Number ${shown}))`;
    case 'map':
      return `(not (map? ${shown}))`;
    case 'any':
      return `(not (some? ${shown}))`;
    case 'time':
    case 'lenient-time':
      return `(not (matches-some-precondition? ${shown}))`;
    case 'choice':
      return `(not (#{${type.values.map(quote).join(' ')}} ${shown}))`;
    case 'texts':
      return `(not (${type.length}-strings? ${shown}))`;
    case 'list': {
      if (!Array.isArray(value)) return `(not (sequential? ${shown}))`;
      const elements = value as readonly JsonValue[];
      const found = elements.map((element) =>
        element === null && type.of.kind === 'any' ? null : valueProblem(type.of, element),
      );
      return excerptText(`[${found.map((problem) => problem ?? 'nil').join(' ')}]`, PROBLEM_MAX);
    }
    case 'object':
      return isObject(value) ? objectProblems(type.table, value) : `(not (map? ${shown}))`;
  }
}

const EXCERPT_MAX = 200;
/** A list with one bad element among thousands: the rest is `nil`. */
const PROBLEM_MAX = 4000;

/** A value in a message: never longer than a line, which each level of its nesting takes a character of. */
export function excerpt(value: JsonValue): string {
  return value === null ? 'nil' : excerptText(printJson(value, EXCERPT_MAX));
}

function excerptText(text: string, max = EXCERPT_MAX): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}
