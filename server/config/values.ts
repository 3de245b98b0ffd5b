// From the text of a setting to its plain value and back. Each type has its spelling, its unit and its complaint; bounds
// are checked on the plain value and told in the units a person would write.

import type { SettingRow, SettingType } from '../../schemas/config.ts';

export type PlainValue = string | number | boolean | readonly string[];
/** What a file, variable or flag holds before it is understood. */
export type RawValue = string | number | boolean | readonly string[];

/** A value that its setting does not take: `message` says what would be taken. */
export class ValueRefused extends Error {}

const durationUnits: Readonly<Record<string, number>> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
};
const byteUnits: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };
/** Milliseconds in the unit that a bare number of this type counts. */
const bareUnit: Readonly<Partial<Record<SettingType, number>>> = { minutes: 60_000, seconds: 1000, milliseconds: 1 };

/** The plain value of `raw`, or throws ValueRefused. `loose`: PuppetDB's files call everything but `true` false. */
export function parseSetting(row: SettingRow, raw: RawValue, loose: boolean): PlainValue {
  const value = parsers[row.type](raw, row, loose);
  if (typeof value === 'number') {
    const isLow = row.min !== undefined && value < row.min;
    const isHigh = row.max !== undefined && value > row.max;
    if (isLow || isHigh) throw new ValueRefused(`${shown(raw)} is out of range; ${rangeText(row)}`);
  }
  return value;
}

type Parser = (raw: RawValue, row: SettingRow, loose: boolean) => PlainValue;

const parsers: Readonly<Record<SettingType, Parser>> = {
  duration: (raw) => {
    const match = /^(\d+)\s*(d|h|ms|m|s)$/i.exec(String(raw).trim());
    if (match === null) {
      throw new ValueRefused(`${shown(raw)} is not a time span: a whole number and a unit (d, h, m, s, ms), like 14d`);
    }
    return Number(match[1]) * durationUnits[match[2]!.toLowerCase()]!;
  },
  minutes: parseCounted,
  seconds: parseCounted,
  milliseconds: parseCounted,
  integer: (raw) => parseWhole(raw),
  bytes: (raw) => {
    const match = /^(\d+)\s*([kmg]?)(?:i?b)?$/i.exec(String(raw).trim());
    if (match === null) throw new ValueRefused(`${shown(raw)} is not a size: a whole number of bytes, or like 64M`);
    return Number(match[1]) * byteUnits[match[2]!.toLowerCase()]!;
  },
  boolean: (raw, _row, loose) => {
    const text = String(raw).trim().toLowerCase();
    if (text === 'true') return true;
    if (text === 'false' || loose) return false;
    throw new ValueRefused(`${shown(raw)} is neither true nor false`);
  },
  text: parseText,
  path: parseText,
  choice: (raw, row) => {
    const text = String(raw).trim().toLowerCase();
    if (row.choices!.includes(text)) return text;
    throw new ValueRefused(`${shown(raw)} is none of ${row.choices!.join(', ')}`);
  },
  list: (raw) => {
    const items = typeof raw === 'object' ? raw : String(raw).split(',');
    return items.map((item) => item.trim()).filter((item) => item !== '');
  },
};

function parseCounted(raw: RawValue, row: SettingRow): number {
  const text = String(raw).trim();
  if (!/^-?(\d+|\d*\.\d+)$/.test(text)) throw new ValueRefused(`${shown(raw)} is not a number of ${row.type}`);
  const value = Number(text) * bareUnit[row.type]!;
  // A fraction of a millisecond may not turn a limit into none.
  return value > 0 ? Math.max(1, Math.round(value)) : value;
}

function parseWhole(raw: RawValue): number {
  const text = String(raw).trim();
  if (!/^[-+]?\d{1,15}$/.test(text)) throw new ValueRefused(`${shown(raw)} is not a whole number`);
  return Number(text);
}

function parseText(raw: RawValue): string {
  if (typeof raw === 'object') throw new ValueRefused('a list is given where one value is needed');
  const text = String(raw).trim();
  if (text === '') throw new ValueRefused('the value is empty');
  return text;
}

function shown(raw: RawValue): string {
  return typeof raw === 'string' ? `"${raw}"` : JSON.stringify(raw);
}

/** `between 1s and 1h`, in the unit the setting is written in. */
export function rangeText(row: SettingRow): string {
  const { min, max } = row;
  const unit = bareUnit[row.type] === undefined || row.type === 'milliseconds' ? '' : ` ${row.type}`;
  if (min !== undefined && max !== undefined) {
    return `valid is ${printSetting(row, min)} to ${printSetting(row, max)}${unit}`;
  }
  return min !== undefined
    ? `valid is ${printSetting(row, min)} or more${unit}`
    : `valid is at most ${printSetting(row, max!)}${unit}`;
}

/** The plain value as it would be written in a file: `parseSetting(row, printSetting(row, value))` gives it back. */
export function printSetting(row: SettingRow, value: PlainValue | null): string {
  if (value === null) return '';
  if (typeof value === 'object') return value.join(',');
  if (typeof value !== 'number') return String(value);
  const unit = bareUnit[row.type];
  if (unit !== undefined) return String(value / unit);
  if (row.type === 'duration') return printDuration(value);
  return row.type === 'bytes' ? printBytes(value) : String(value);
}

/** A time in the largest unit that leaves no fraction. Zero is in seconds. */
export function inLargestUnit(ms: number): readonly [count: number, unit: string] {
  if (ms === 0) return [0, 's'];
  for (const unit of Object.keys(durationUnits)) {
    const size = durationUnits[unit]!;
    if (ms % size === 0) return [ms / size, unit];
  }
  return [ms, 'ms'];
}

/** `14d`, `90m`. */
const printDuration = (ms: number): string => inLargestUnit(ms).join('');

function printBytes(bytes: number): string {
  for (const unit of ['G', 'M', 'K']) {
    const size = byteUnits[unit.toLowerCase()]!;
    if (bytes >= size && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return String(bytes);
}
