// Rows for people: a table with a column for each field, cut to the width of the terminal, or, where that would be cut beyond recognition, a
// block of lines for each row.

import { printJson } from '../../engine/json/print.ts';
import { isNumber, type JsonValue } from '../../engine/json/value.ts';
import { printable } from '../printable.ts';
import type { ParsedArguments } from './arguments.ts';
import type { Terminal } from './command.ts';

export type Row = Readonly<Record<string, JsonValue | undefined>>;

/** Whether rows are to be a table: on a terminal, unless --json or --table says otherwise. Else they are JSON, for programs. */
export const wantsTable = ({ options }: ParsedArguments, { outIsTerminal }: Terminal): boolean =>
  options['table'] === 'true' || (outIsTerminal && options['json'] !== 'true');

const COLUMN_MIN = 6;
const GAP = '  ';
/** A column that is cut below this tells nobody anything. */
const LEGIBLE_MIN = 12;

/** Lines of the table, the heading first, or of the blocks. Fields are in the order of their first appearance. */
export function rowLines(rows: readonly Row[], columns: number): string[] {
  const layout = layoutOf(rows, columns);
  const { names, wanted, widths } = layout;
  const isLegible = widths.every((size, index) => size >= Math.min(wanted[index]!, LEGIBLE_MIN));
  return isLegible ? drawn(rows, layout) : blockLines(rows, names);
}

/** A line for each field, with all of its value; an empty one between rows. */
function blockLines(rows: readonly Row[], names: readonly string[]): string[] {
  const nameWidth = Math.max(...names.map(width));
  const block = (row: Row): string[] =>
    names
      .filter((name) => Object.hasOwn(row, name))
      .map((name) => `${padded(name, nameWidth, false)}${GAP}${cellText(row[name])}`.trimEnd());
  return rows.flatMap((row, index) => (index === 0 ? block(row) : ['', ...block(row)]));
}

/** Lines of the table, the heading first. Fields are in the order of their first appearance. */
export const tableLines = (rows: readonly Row[], columns: number): string[] => drawn(rows, layoutOf(rows, columns));

function drawn(rows: readonly Row[], { names, cells, widths }: Layout): string[] {
  if (names.length === 0) return [];
  const isNumeric = names.map((_, index) => rows.every((row) => isNumberOrNone(row[names[index]!])));
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => padded(cut(text, widths[index]!), widths[index]!, isNumeric[index]!))
      .join(GAP)
      .trimEnd();
  return [line(names), line(widths.map((size) => '-'.repeat(size))), ...cells.map(line)];
}

type Layout = ReturnType<typeof layoutOf>;

function layoutOf(rows: readonly Row[], columns: number) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => names.map((name) => cellText(row[name])));
  const wanted = names.map((name, index) =>
    cells.reduce((most, line) => Math.max(most, width(line[index]!)), width(name)),
  );
  return { names, cells, wanted, widths: fit(wanted, columns - GAP.length * (names.length - 1)) };
}

function cellText(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return '';
  return printable(typeof value === 'string' ? value : printJson(value));
}

function isNumberOrNone(value: JsonValue | undefined): boolean {
  return value === null || value === undefined || isNumber(value);
}

/** The widest columns give way until all fit; none gets narrower than COLUMN_MIN. */
function fit(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, size) => sum + size, 0) - room;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= COLUMN_MIN) break;
    const index = widths.indexOf(widest);
    const next = Math.max(COLUMN_MIN, ...widths.filter((size) => size < widest));
    const cutBy = Math.max(1, Math.min(excess, widest - next));
    widths[index] = widest - cutBy;
    excess -= cutBy;
  }
  return widths;
}

function width(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function cut(text: string, size: number): string {
  if (width(text) <= size) return text;
  return `${[...text].slice(0, size - 1).join('')}…`;
}

function padded(text: string, size: number, right: boolean): string {
  const fill = ' '.repeat(Math.max(0, size - width(text)));
  return right ? fill + text : text + fill;
}
