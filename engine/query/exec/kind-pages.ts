// Pages of reports whose order begins with fields that take few values, such as their status. How many reports have which of these is known without
// a look at each (count/report-counts.ts), and so is which of them the page reaches: it is put together of a page of each, in the order of the
// other terms.

import { KIND_PLACES } from '../../store/reports/report-kinds.ts';
import { type Filter, type OrderTerm, pageEnd, type QueryTree } from '../tree.ts';
import { foldReports } from './count/report-counts.ts';
import { areShared } from './filter/classed.ts';
import { leadingTerms, reachedBy, Share, Shares } from './order/shares.ts';
import { pageOrderOf } from './plan/report-plan.ts';
import type { Value } from './row/access.ts';
import type { Source } from './sources/source.ts';

/** Fewer reports are put in order as they are. */
const REPORTS_MIN = 512;

/** A page of some of the rows. */
interface Piece {
  readonly tree: QueryTree;
  readonly source: Source;
}

interface KindPages {
  /** Rows of the whole selection. */
  readonly total: number;
  /** One after the other they are the page. */
  readonly pieces: readonly Piece[];
}

/** null: the order does not begin with such fields, or something is asked for that takes a look at each report. */
export function* kindPages(tree: QueryTree, source: Source): Generator<undefined, KindPages | null> {
  const { limit, offset, orderBy } = tree;
  if (limit === null || limit === 0) return null;
  if (source.shape !== 'report' || source.isWithinReports) return null;
  const access = leadingTerms(orderBy, source.scope, (one) => areShared([one], KIND_PLACES));
  if (access.length === 0 || source.reports.all < REPORTS_MIN) return null;
  const terms = orderBy.slice(0, access.length);
  const found: Share[] = [];
  const isCounted = yield* foldReports(source, access, (row, weight) => {
    const keys = access.map((a) => a.value(row));
    found.push(new Share(keys, weight, null));
  });
  source.trace.rewind();
  if (!isCounted) return null;
  const shares = new Shares(terms, source.scope, pageEnd(tree), () => source.ctx.tick());
  let total = 0;
  for (const share of found) {
    total += share.weight;
    if (shares.needs(share.keys)) yield* shares.add(share) ?? [];
  }
  const { before, reached } = reachedBy(yield* shares.inOrder(), offset);
  const pieces: Piece[] = [];
  let from = offset - before;
  let left = limit;
  for (const { keys, weight } of reached) {
    const rows = Math.min(left, weight - from);
    const piece = { ...tree, orderBy: orderBy.slice(terms.length), offset: from, limit: rows };
    pieces.push({ tree: piece, source: source.within(equalTo(terms, keys), null, pageOrderOf(piece)) });
    from = 0;
    left -= rows;
    if (left === 0) break;
  }
  return { total, pieces };
}

/** The condition that rows have these values in the terms. */
const equalTo = (terms: readonly OrderTerm[], keys: readonly Value[]): Filter => ({
  kind: 'and',
  args: terms.map(({ field }, i): Filter => {
    const value = keys[i]!;
    return value === null
      ? { kind: 'null', field }
      : { kind: 'eq', field, value: value as string | boolean, nullSafe: false };
  }),
});
