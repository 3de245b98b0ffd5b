// Medians, spreads and tables: how every program here says what it measured.

export function median(list: readonly number[]): number {
  if (list.length === 0) return Number.NaN;
  const sorted = [...list].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The smallest value that at least the fraction `p` of the list does not exceed. */
export function quantile(list: readonly number[], p: number): number {
  if (list.length === 0) return Number.NaN;
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))]!;
}

/** How long something took, several times: milliseconds. */
export interface Waits {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly worst: number;
}

export function waitsOf(times: readonly number[]): Waits {
  return {
    count: times.length,
    p50: median(times),
    p95: quantile(times, 0.95),
    p99: quantile(times, 0.99),
    worst: quantile(times, 1),
  };
}

export const geometricMean = (list: readonly number[]): number => Math.exp(sum(list.map(Math.log)) / list.length);

export function sum(list: readonly number[]): number {
  let total = 0;
  for (const value of list) total += value;
  return total;
}

/** Digits that mean something: three or so. */
export function show(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** Median, and smallest to largest where there is more than one value. */
export function spread(list: readonly number[]): string {
  if (list.length < 2) return show(median(list));
  return `${show(median(list))} (${show(Math.min(...list))}-${show(Math.max(...list))})`;
}

/** A table that reads well both in a terminal and as Markdown. Cells after the first column are right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(3, cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, i) => (i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}
