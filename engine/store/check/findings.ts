// What a check found, in the words in which it is told.

import { messageOf } from '../../reason.ts';

const PROBLEMS_MAX = 50;
/** Characters of a problem, and of a certname in it: both may come out of damaged pages. */
const PROBLEM_SIZE_MAX = 600;
const CERTNAME_SIZE_MAX = 260;

export class Findings {
  /** What does not fit together; no more than are shown. */
  readonly problems: string[] = [];

  get #isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  readonly say = (problem: string): void => {
    if (!this.#isFull) this.problems.push(printable(problem, PROBLEM_SIZE_MAX));
  };

  equal(what: string, is: number, should: number): void {
    if (is !== should) this.say(`${what}: ${is}, should be ${should}`);
  }

  /** What goes through a table: where LMDB ends that, other tables are looked at all the same. */
  walk(what: string, walk: () => void): void {
    try {
      walk();
    } catch (error) {
      this.say(`${what} cannot be read to the end: ${messageOf(error)}`);
    }
  }

  /** What `look` makes of a record; undefined where it throws, which is told. `whose`: the certname, if that is known. */
  read<T>(table: string, key: number | string, whose: () => string | null, look: () => T): T | undefined {
    try {
      return look();
    } catch (error) {
      // It may have to be looked for.
      const certname = this.#isFull ? null : whose();
      const of = certname === null ? '' : ` of ${shown(certname)}`;
      this.say(`${table} ${key}${of} cannot be read: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** Whose a record is, where that cannot be known. */
export const NOBODY = (): null => null;

/** Of damaged pages anything may come: what cannot be shown in a line is escaped, and what is too long ends early. */
function printable(text: string, sizeMax: number): string {
  const cut = text.length > sizeMax ? `${text.slice(0, sizeMax)}...` : text;
  return cut.replace(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\ufffd]/gu;

/** A certname in a problem. */
export const shown = (certname: string): string => printable(certname, CERTNAME_SIZE_MAX);

/** Not for tables with values one wants: only keys are walked. */
export function count(keys: Iterable<unknown>): number {
  let n = 0;
  for (const _ of keys) n++;
  return n;
}
