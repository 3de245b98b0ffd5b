// Arguments of the programs here: a table of options with defaults and texts, from which the parser and the help follow.

import { parseArgs } from 'node:util';

export class UsageError extends Error {}

interface OptionRow {
  /** Name of the value in the help; null for a switch. */
  readonly value: string | null;
  readonly default?: string;
  /** Default with --small, if it is another. */
  readonly small?: string;
  readonly multiple?: boolean;
  readonly doc: string;
}

export type OptionTable = Readonly<Record<string, OptionRow>>;

/** What `perf -- <name>` runs. */
export interface Program {
  readonly name: string;
  /** The question it answers, in one line. */
  readonly summary: string;
  readonly options: OptionTable;
  /** Prints what it measured. Throws UsageError for bad arguments. */
  run(given: Given): Promise<void>;
}

/** Options of the programs that measure. */
export const commonOptions = {
  small: { value: null, doc: 'a run of seconds that shows that the program works; its figures mean nothing' },
  out: { value: 'FILE', doc: 'the result as JSON' },
} as const satisfies OptionTable;

export class Given {
  readonly #values: ReadonlyMap<string, string | boolean | readonly string[]>;

  constructor(table: OptionTable, args: readonly string[]) {
    const options: Record<string, { type: 'string' | 'boolean'; multiple?: boolean }> = {};
    for (const [name, row] of Object.entries(table)) {
      options[name] = { type: row.value === null ? 'boolean' : 'string', multiple: row.multiple ?? false };
    }
    const values = new Map<string, string | boolean | readonly string[]>();
    try {
      const parsed = parseArgs({ args: [...args], options, allowPositionals: false }).values;
      for (const [name, value] of Object.entries(parsed)) {
        if (value !== undefined) values.set(name, value as string | boolean | readonly string[]);
      }
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
    const small = values.get('small') === true;
    for (const [name, row] of Object.entries(table)) {
      const fallback = small ? (row.small ?? row.default) : row.default;
      if (!values.has(name) && fallback !== undefined) values.set(name, fallback);
    }
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values.get(name) === true;
  }

  text(name: string): string | null {
    const value = this.#values.get(name);
    return typeof value === 'string' ? value : null;
  }

  list(name: string): readonly string[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value : [];
  }

  number(name: string, min: number, max: number): number {
    return numberOf(name, this.text(name) ?? '', min, max);
  }

  /** A number of things. */
  count(name: string, min: number, max: number): number {
    return countOf(name, this.text(name) ?? '', min, max);
  }

  /** Numbers of things, `A,B,C`. */
  counts(name: string, min: number, max: number): number[] {
    return (this.text(name) ?? '').split(',').map((text) => countOf(name, text, min, max));
  }

  /** `MIN-MAX`. */
  range(name: string): [min: number, max: number] {
    const match = /^(\d+)-(\d+)$/.exec(this.text(name) ?? '');
    if (match === null || Number(match[1]) > Number(match[2])) {
      throw new UsageError(`--${name} takes MIN-MAX, not '${this.text(name)}'`);
    }
    return [Number(match[1]), Number(match[2])];
  }

  /** Everything that was given or is a default, for the result. */
  toJSON(): object {
    return Object.fromEntries(this.#values);
  }
}

function numberOf(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value) || value < min || value > max) {
    throw new UsageError(`--${name} takes a number from ${min} to ${max}, not '${text}'`);
  }
  return value;
}

function countOf(name: string, text: string, min: number, max: number): number {
  const value = numberOf(name, text, min, max);
  if (!Number.isInteger(value)) throw new UsageError(`--${name} takes a whole number, not '${text}'`);
  return value;
}

/** A line for each option. */
export function optionLines(table: OptionTable): string {
  const lines = Object.entries(table).map(([name, row]) => {
    const left = `  --${name}${row.value === null ? '' : ` ${row.value}`}`;
    const small = row.small === undefined || table.small === undefined ? '' : `; ${row.small} with --small`;
    const fallback = row.default === undefined ? '' : ` (${row.default}${small})`;
    return `${left.padEnd(26)} ${row.doc}${fallback}`;
  });
  return lines.join('\n');
}

export const helpOf = ({ name, summary, options }: Program): string =>
  `usage: npm run perf -- ${name} [options]\n\n${summary}\n\n${optionLines(options)}`;
