// Rows of a query as a table for people: a column for each field, cut to the width of the terminal.

import { printable } from '../printable.ts';

export type Row = Readonly<Record<string, unknown>>;

const columnMin = 6;
const gap = '  ';

/** Lines of the table, the heading first. Fields are in the order of their first appearance. */
export function tableLines(rows: readonly Row[], columns: number): string[] {
  const names: string[] = [];
  for (const row of rows) for (const name of Object.keys(row)) if (!names.includes(name)) names.push(name);
  if (names.length === 0) return [];
  const cells = rows.map((row) => names.map((name) => cellText(row[name])));
  const wanted = names.map((name, index) => Math.max(width(name), ...cells.map((line) => width(line[index]!))));
  const widths = fit(wanted, columns - gap.length * (names.length - 1));
  const isNumeric = names.map((_, index) => rows.every((row) => isNumberOrNone(row[names[index]!])));
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => padded(cut(text, widths[index]!), widths[index]!, isNumeric[index]!))
      .join(gap)
      .trimEnd();
  return [line(names), line(widths.map((size) => '-'.repeat(size))), ...cells.map(line)];
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

function isNumberOrNone(value: unknown): boolean {
  return typeof value === 'number' || value === null || value === undefined;
}

/** The widest columns give way until all fit; none gets narrower than `columnMin`. */
function fit(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, size) => sum + size, 0) - room;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= columnMin) break;
    const index = widths.indexOf(widest);
    const next = Math.max(columnMin, ...widths.filter((size) => size < widest));
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
