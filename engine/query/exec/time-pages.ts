// Pages of reports in the order of a time that lie deep, or whose time no index puts in order: the times of all rows are read side by side
// (store/reports/report-moments.ts), which tells between which of them the page lies, so that few reports are put in order.

import { nthOf } from '../../nth.ts';
import { type Filter, pageEnd, type QueryTree } from '../tree.ts';
import { pageOrderOf } from './plan/report-plan.ts';
import type { Narrowed, Source } from './sources/source.ts';

/** Fewer reports are put in order as they are, and so are more: their times take too much memory. */
const REPORTS_MIN = 512;
const REPORTS_MAX = 1 << 23;
/** A page has to be so many times shorter than all of them. */
const PAGE_EACH = 4;
/** So many reports are looked at side by side sooner than one is found in the index of times and put in order. */
const REPORTS_EACH = 128;

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. */
export function* timePage(tree: QueryTree, source: Source): Generator<undefined, Narrowed | null> {
  const { limit, offset, orderBy } = tree;
  const [first] = orderBy;
  const moment = first === undefined ? undefined : source.traits.times[first.field];
  if (moment === undefined || limit === null || limit === 0 || source.isWithinReports) return null;
  const { reports, ctx } = source;
  const { all } = reports;
  if (all < REPORTS_MIN || all > REPORTS_MAX || limit * PAGE_EACH > all) return null;
  const end = pageEnd(tree);
  if (reports.areFoundInOrder && end * REPORTS_EACH < all) return null;
  const bytes = all * Float64Array.BYTES_PER_ELEMENT;
  ctx.hold(bytes, 'order');
  const room = new Float64Array(all);
  const total = yield* reports.times(moment, room);
  if (total === null || total <= offset) {
    ctx.hold(-bytes, 'order');
    return total === null ? null : { source: source.within(NOTHING, null), total, rest: tree, isDecided: false };
  }
  const times = room.subarray(0, total);
  const { field, descending } = first!;
  const last = Math.min(end, total) - 1;
  const [from, to] = descending ? [total - 1 - last, total - 1 - offset] : [offset, last];
  const least = yield* nthOf(times, from, () => ctx.tick());
  const greatest = yield* nthOf(times, to, () => ctx.tick());
  let before = 0;
  for (const time of times) if (descending ? time > greatest : time < least) before++;
  ctx.hold(-bytes, 'order');
  const within: Filter = {
    kind: 'and',
    args: [
      { kind: 'order', field, op: '>=', value: least },
      { kind: 'order', field, op: '<=', value: greatest },
    ],
  };
  const rest = { ...tree, offset: offset - before };
  return { source: source.within(within, null, pageOrderOf(rest)), total, rest, isDecided: false };
}

const NOTHING: Filter = { kind: 'const', value: false };
