// Reports and their events, counted and grouped by what is known of many of them together.

import type { OwnMoment } from '../../../store/reports/report-kinds.ts';
import type { Access } from '../row/access.ts';
import type { Row } from '../row/row.ts';
import type { Source } from '../sources/source.ts';
import { foldEvents } from './event-statuses.ts';
import { foldReports } from './report-counts.ts';

/** Gives rows with what `reads` read, and the least and the greatest of `moments`, as `foldReports` does. false, and nothing: they have to be looked at. */
export function* foldTogether(
  source: Source,
  reads: readonly Access[],
  visit: (row: Row, weight: number) => void,
  moments: readonly OwnMoment[] = [],
): Generator<undefined, boolean> {
  if (!source.isWithinReports) return yield* foldReports(source, reads, visit, moments);
  return moments.length === 0 && (yield* foldEvents(source, reads, visit));
}

/** How many rows the selection has; null: they have to be looked at. */
export function* countTogether(source: Source): Generator<undefined, number | null> {
  let total = 0;
  const isCounted = yield* foldTogether(source, [], (_, weight) => {
    total += weight;
  });
  return isCounted ? total : null;
}
