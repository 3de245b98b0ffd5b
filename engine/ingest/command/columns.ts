// What the columns of the store take: texts without NUL, 32-bit lines, 16-bit formats of reports, UUIDs. A value that does not fit fails its command
// when it is carried out, not when it is checked (spec/commands.md 3.0.4, trap 35).

import { Float, type JsonValue } from '../../json/value.ts';

/** Why a text with a NUL character cannot be stored. */
export const nulIn = (name: string): string => `${name} contains a NUL character, which cannot be stored.`;

/** Collects the first reason why a command cannot be stored. */
export class Columns {
  refusal: string | null = null;
  #describe: (item: never) => string = () => '';
  #item: object | null = null;

  /** What follows is about this item, one of many: a refusal names it. */
  about<T extends object>(item: T, describe: (item: T) => string): void {
    this.#item = item;
    this.#describe = describe;
  }

  /** What follows is about the command as a whole. */
  aboutAll(): void {
    this.#item = null;
  }

  refuse(reason: string): void {
    this.refusal ??= this.#item === null ? reason : `${this.#describe(this.#item as never)}: ${reason}`;
  }

  /** A text column: anything but NUL. */
  text(value: string, name: string): string {
    if (value.includes('\u0000')) this.refuse(nulIn(name));
    return value;
  }

  textOrNull(value: string | null, name: string): string | null {
    return value === null ? null : this.text(value, name);
  }

  /** Canonical lower-case `8-4-4-4-12`. Hyphens are optional after any group of four digits, as are braces around all. */
  uuid(value: string | null, name: string): string | null {
    if (value === null) return null;
    const digits = UUID.test(value) ? value.replace(/[{}-]/g, '').toLowerCase() : null;
    if (digits === null) {
      this.refuse(`${name} is not a UUID: "${value.slice(0, 60)}"`);
      return null;
    }
    return [0, 8, 12, 16, 20].map((start, group) => digits.slice(start, GROUP_ENDS[group])).join('-');
  }

  /** An integer column of so many bits; doubles are rounded, halves to even. */
  integer(value: JsonValue, name: string, bits: 16 | 32 = 32): number | null {
    if (value === null) return null;
    let number: number;
    if (typeof value === 'number') number = Number.isInteger(value) ? value : roundHalfEven(value);
    else if (value instanceof Float) number = value.value;
    else if (typeof value === 'bigint') number = Number(value);
    else {
      this.refuse(`${name} is not an integer.`);
      return null;
    }
    const bound = 2 ** (bits - 1);
    if (!(number >= -bound && number < bound)) {
      this.refuse(`${name} is out of range for a ${bits}-bit integer.`);
      return null;
    }
    return number + 0;
  }
}

const UUID = /^(?:\{(?:[\da-f]{4}-?){7}[\da-f]{4}\}|(?:[\da-f]{4}-?){7}[\da-f]{4})$/i;
const GROUP_ENDS = [8, 12, 16, 20, 32];

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
