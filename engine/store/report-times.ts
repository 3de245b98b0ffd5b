// How far the times of a report (start and end of the run, times of events) lie from its producer's time, by which reports are indexed.
// Mostly that is minutes, so that what asks for one of these times finds the reports through that index. Reports of which one lies far
// away are in a set of their own (REPORTS_FAR), so that a clock that is wrong widens nothing.

import type { ReportId, ReportRecord } from './records.ts';

/** Further away is far: milliseconds. Runs do not take as long. */
const FAR_MS = 3_600_000;

/** Of the reports of a partition that are not far: milliseconds that are to be added to the producer's time. */
export interface TimeSpan {
  /** At most 0. */
  readonly earliest: number;
  /** At least 0. */
  readonly latest: number;
}

/** Kept by the writer. */
export interface KnownTimes extends TimeSpan {
  /** Nothing is known of reports with smaller ids: they came before this was kept. */
  readonly since: ReportId;
}

export const noTimes = (since: ReportId): KnownTimes => ({ since, earliest: 0, latest: 0 });

type Times = Pick<
  ReportRecord,
  'producerTimestamp' | 'startTime' | 'endTime' | 'eventCount' | 'eventTimeMin' | 'eventTimeMax'
>;

function spanOf({ producerTimestamp, startTime, endTime, eventCount, eventTimeMin, eventTimeMax }: Times): TimeSpan {
  let earliest = Math.min(startTime, endTime);
  let latest = Math.max(startTime, endTime);
  if (eventCount > 0) {
    earliest = Math.min(earliest, eventTimeMin);
    latest = Math.max(latest, eventTimeMax);
  }
  return { earliest: Math.min(0, earliest - producerTimestamp), latest: Math.max(0, latest - producerTimestamp) };
}

const isFarSpan = ({ earliest, latest }: TimeSpan): boolean => earliest < -FAR_MS || latest > FAR_MS;

/** Whether one of the report's times lies far from its producer's. */
export const isFar = (report: Times): boolean => isFarSpan(spanOf(report));

/** The same with a report that has come; null: it is far. */
export function withTimesOf(known: KnownTimes, report: Times): KnownTimes | null {
  const span = spanOf(report);
  if (isFarSpan(span)) return null;
  if (span.earliest >= known.earliest && span.latest <= known.latest) return known;
  return {
    since: known.since,
    earliest: Math.min(known.earliest, span.earliest),
    latest: Math.max(known.latest, span.latest),
  };
}
