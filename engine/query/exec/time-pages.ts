// Pages of reports in the order of a time: times are kept side by side (store/reports/report-moments.ts), and those of the rows that come first, or
// of all where the page lies deep, tell between which two times it lies, so that few reports are put in order.

import { nthInTurns } from '../../nth.ts';
import { type Filter, pageEnd, type QueryTree } from '../tree.ts';
import type { Narrowed } from './narrowing.ts';
import type { Source } from './sources/source.ts';

/** Fewer reports are put in order as they are. */
const REPORTS_MIN = 512;
/** So many reports are read side by side sooner than one is found in the index of times and put in order. */
const REPORTS_EACH = 128;
/** A page has to be so many times shorter than all of them. */
const PAGE_EACH = 4;

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. */
export function* timePage(tree: QueryTree, source: Source): Generator<undefined, Narrowed | null> {
  const { limit, offset, orderBy } = tree;
  const [first] = orderBy;
  const moment = first === undefined ? undefined : source.traits.times[first.field];
  if (moment === undefined || limit === null || limit === 0 || source.isWithinReports) return null;
  const { reports, ctx } = source;
  const { all } = reports;
  if (all < REPORTS_MIN || limit * PAGE_EACH > all) return null;
  const { field, descending } = first!;
  const end = pageEnd(tree);
  const areFew = reports.areFoundInOrder && end * REPORTS_EACH < all;
  const found = yield* reports.times({ moment, descending, rows: end, areFew });
  if (found === null) return null;
  const { times, areAll } = found;
  const count = times.length;
  const giveBack = (): void => ctx.hold(-times.buffer.byteLength, 'order');
  if (count <= offset) {
    giveBack();
    return { source: source.within(NOTHING, null), total: count, rest: tree, isDecided: false };
  }
  const last = Math.min(end, count) - 1;
  const [from, to] = descending ? [count - 1 - last, count - 1 - offset] : [offset, last];
  const least = yield* nthInTurns(times, from, () => ctx.tick());
  const greatest = yield* nthInTurns(times, to, () => ctx.tick());
  let before = 0;
  for (const time of times) if (descending ? time > greatest : time < least) before++;
  giveBack();
  const within: Filter = {
    kind: 'and',
    args: [
      { kind: 'order', field, op: '>=', value: least },
      { kind: 'order', field, op: '<=', value: greatest },
    ],
  };
  const rest = { ...tree, offset: offset - before };
  return {
    source: source.within(within, null, null),
    total: areAll ? count : null,
    rest,
    isDecided: false,
  };
}

const NOTHING: Filter = { kind: 'const', value: false };
