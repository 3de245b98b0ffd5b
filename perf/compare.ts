// What became faster, and is the answer still the same? Two results of one program, written with --out: of two revisions,
// or of PuppetDB and Muster. Figures stand side by side with their ratio (more than 1: `after` is better). Figures of
// different machines, or of one machine on different days, are not worth comparing.

import { readFileSync } from 'node:fs';
import { geometricMean, median, show, table } from './lib/figures.ts';
import type { RunResult } from './lib/measured-run.ts';
import { type Given, type Program, UsageError } from './lib/options.ts';
import type { QueryResult, SizeResult } from './lib/timed-query.ts';

interface Result {
  readonly machine?: string;
  readonly fleet?: string;
  /** Of ingest. */
  readonly rounds?: readonly (readonly RunResult[])[];
  /** Of queries. */
  readonly sizes?: readonly SizeResult[];
}

function read(given: Given, name: string): Result {
  const file = given.text(name);
  if (file === null) throw new UsageError(`--${name} takes a file that --out has written`);
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result;
  } catch (error) {
    throw new UsageError(`--${name}: ${(error as Error).message}`);
  }
}

/** JSON has no NaN: what was not taken is null in a result. */
const taken = (figure: number | null): number => figure ?? Number.NaN;

interface Figure {
  readonly name: string;
  readonly pick: (result: RunResult) => number;
  /** Whether less is better. */
  readonly less: boolean;
}

const FIGURES: readonly Figure[] = [
  { name: 'processed/s', pick: (r) => r.processedPerSecond, less: false },
  { name: 'CPU ms per command', pick: (r) => taken(r.cpu), less: true },
  { name: 'submit ms, p99', pick: (r) => r.submitP99, less: true },
  { name: 'peak MiB', pick: (r) => taken(r.peakPss), less: true },
  { name: 'disk KB per node', pick: (r) => taken(r.diskPerNode) / 1000, less: true },
];

const ratioOf = (before: number, after: number, less: boolean): number => (less ? before / after : after / before);

function compareRuns(before: NonNullable<Result['rounds']>, after: NonNullable<Result['rounds']>): string {
  const rows: string[][] = [];
  for (const [i, { run }] of (before[0] ?? []).entries()) {
    const now = after[0]?.[i];
    if (now?.run !== run) continue;
    const same = before[0]![i]!.digest === now.digest ? 'yes' : 'NO';
    for (const { name, pick, less } of FIGURES) {
      const was = median(before.map((round) => pick(round[i]!)));
      const is = median(after.map((round) => pick(round[i]!)));
      rows.push([run, name, show(was), show(is), show(ratioOf(was, is, less)), same]);
    }
  }
  return table(['run', 'figure', 'before', 'after', 'better ×', 'same answers'], rows);
}

function compareSize(before: SizeResult, after: SizeResult): string {
  const known = new Map(before.queries.map((q) => [q.name, q]));
  const rows: string[][] = [];
  const ratios: number[] = [];
  for (const q of after.queries) {
    const was = known.get(q.name);
    if (was === undefined) continue;
    const ratio = was.median / q.median;
    ratios.push(ratio);
    rows.push([
      q.name,
      show(was.median),
      show(q.median),
      show(ratio),
      show(taken(was.cpu) / taken(q.cpu)),
      `${show(was.megabytesPerSecond)} / ${show(q.megabytesPerSecond)}`,
      sameAnswer(was, q),
    ]);
  }
  const head = ['query', 'ms before', 'ms after', 'faster ×', 'CPU less ×', 'MB/s before / after', 'same answer'];
  return `${after.nodes} nodes\n\n${table(head, rows)}\n\ngeometric mean: ${show(geometricMean(ratios))} times faster`;
}

/** Answers that were too large for a digest are compared by their number of rows. */
function sameAnswer(before: QueryResult, after: QueryResult): string {
  if (before.digest === null || after.digest === null) return before.rows === after.rows ? 'rows' : 'NO';
  return before.digest === after.digest ? 'yes' : 'NO';
}

function run(given: Given): Promise<void> {
  const [before, after] = [read(given, 'before'), read(given, 'after')];
  console.log(`before: ${before.machine}\nafter:  ${after.machine}\n`);
  if (before.fleet !== after.fleet) throw new UsageError(`the fleets differ: ${before.fleet}; ${after.fleet}`);
  if (before.rounds !== undefined && after.rounds !== undefined) {
    console.log(compareRuns(before.rounds, after.rounds));
  } else if (before.sizes !== undefined && after.sizes !== undefined) {
    const sizes = after.sizes.flatMap((size) => {
      const was = before.sizes?.find(({ nodes }) => nodes === size.nodes);
      return was === undefined ? [] : [compareSize(was, size)];
    });
    if (sizes.length === 0) throw new UsageError('the results have no number of nodes in common');
    console.log(sizes.join('\n\n'));
  } else {
    throw new UsageError('both have to be results of ingest, or both of queries');
  }
  return Promise.resolve();
}

export const program: Program = {
  name: 'compare',
  summary: 'What became better between two results of ingest or queries, and is the answer still the same?',
  options: {
    before: { value: 'FILE', doc: 'a result that --out has written' },
    after: { value: 'FILE', doc: 'another one of the same program and fleet' },
  },
  run,
};
