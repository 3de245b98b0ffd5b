// Pages of reports in the order of a time that lie deep, or whose time no index puts in order: the times of all rows are read side by side
// (store/reports/report-moments.ts), which tells between which of them the page lies, so that few reports are put in order.

import { nthOf } from '../../nth.ts';
import type { Filter, QueryTree } from '../tree.ts';
import { pageEnd } from '../tree.ts';
import { pageOrderOf } from './plan/report-plan.ts';
import type { Narrowed, Source } from './sources/source.ts';

/** Fewer reports are put in order as they are. */
const REPORTS_MIN = 512;
/** So many reports are looked at side by side sooner than one is found in the index of times and put in order. */
const REPORTS_EACH = 128;

/** The rows that may be on the tree's page; null: there is no way to tell that is worth it. */
export function* timePage(tree: QueryTree, source: Source): Generator<undefined, Narrowed | null> {
  const { limit, offset, orderBy } = tree;
  const [first] = orderBy;
  const moment = first === undefined ? undefined : source.traits.times[first.field];
  if (moment === undefined || limit === null || limit === 0 || source.shape !== 'report' || source.isWithinReports)
    return null;
  const reports = source.parts.reduce((sum, part) => sum + source.ctx.view(part).counts.reports, 0);
  const end = pageEnd(tree);
  if (reports < REPORTS_MIN || (source.reports.areFoundInOrder && end * REPORTS_EACH < reports)) return null;
  const times = yield* source.reports.times(moment);
  if (times === null) return null;
  const total = times.length;
  if (total <= offset) return { source: source.within(NOTHING, null), total, rest: tree, isDecided: false };
  const { field, descending } = first!;
  const tick = (): boolean => source.ctx.tick();
  const [from, to] = descending
    ? [total - Math.min(end, total), total - 1 - offset]
    : [offset, Math.min(end, total) - 1];
  const [least, greatest] = [yield* nthOf(times, from, tick), yield* nthOf(times, to, tick)];
  let before = 0;
  for (let i = 0; i < total; i++) if (descending ? times[i]! > greatest : times[i]! < least) before++;
  const rest = { ...tree, offset: offset - before };
  const within: Filter = {
    kind: 'and',
    args: [
      { kind: 'order', field, op: '>=', value: least },
      { kind: 'order', field, op: '<=', value: greatest },
    ],
  };
  return { source: source.within(within, null, pageOrderOf(rest)), total, rest, isDecided: false };
}

const NOTHING: Filter = { kind: 'const', value: false };
