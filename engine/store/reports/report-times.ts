// How far the times of a report lie from its producer's time, by which reports are indexed. Mostly that is minutes, so that what asks for one of
// these times finds the reports through that index. Reports of which one lies far away are in a set of their own, so that a clock that is
// wrong, or a queue that stood still, widens nothing. Two clocks are told apart:
//
//   run       the node's: start and end of the run, times of its events
//   receipt   this server's: when the report came

import { HOUR_MS } from '../../time.ts';
import type { ReportId, ReportRecord } from '../records/records.ts';
import { REPORTS_FAR, REPORTS_FAR_RECEIPT } from '../records/tables.ts';
import type { Moment } from './report-moments.ts';

/** Further away is far: milliseconds. Runs do not take as long. */
const FAR_MS = HOUR_MS;

export type Clock = 'run' | 'receipt';
export const CLOCKS: readonly Clock[] = ['run', 'receipt'];

/** Whose clock tells it; null: the producer's. */
export const CLOCK_OF: Readonly<Record<Moment, Clock | null>> = {
  producer: null,
  receive: 'receipt',
  start: 'run',
  end: 'run',
  event: 'run',
};

/** The sets of reports that are far. */
export const FAR_SETS: Readonly<Record<Clock, number>> = { run: REPORTS_FAR, receipt: REPORTS_FAR_RECEIPT };

/** Of the reports of a partition that are not far: milliseconds that are to be added to the producer's time. */
export interface TimeSpan {
  /** At most 0. */
  readonly earliest: number;
  /** At least 0. */
  readonly latest: number;
}

/** Kept by the writer. */
export interface KnownTimes {
  /** Nothing is known of reports with smaller ids: they came before this was kept. */
  readonly since: ReportId;
  readonly run: TimeSpan;
  readonly receipt: TimeSpan;
}

const NOWHERE: TimeSpan = { earliest: 0, latest: 0 };
export const noTimes = (since: ReportId): KnownTimes => ({ since, run: NOWHERE, receipt: NOWHERE });

/** The same where as much may be as is not far for the node's clock. */
export const widest = (known: KnownTimes): KnownTimes => ({ ...known, run: { earliest: -FAR_MS, latest: FAR_MS } });

type Times = Pick<
  ReportRecord,
  'producerTimestamp' | 'startTime' | 'endTime' | 'receiveTime' | 'eventCount' | 'eventTimeMin' | 'eventTimeMax'
>;

const SPAN_OF: Readonly<Record<Clock, (report: Times) => TimeSpan>> = {
  run({ producerTimestamp, startTime, endTime, eventCount, eventTimeMin, eventTimeMax }) {
    let earliest = Math.min(startTime, endTime);
    let latest = Math.max(startTime, endTime);
    if (eventCount > 0) {
      earliest = Math.min(earliest, eventTimeMin);
      latest = Math.max(latest, eventTimeMax);
    }
    return { earliest: Math.min(0, earliest - producerTimestamp), latest: Math.max(0, latest - producerTimestamp) };
  },
  receipt({ producerTimestamp, receiveTime }) {
    const after = receiveTime - producerTimestamp;
    return { earliest: Math.min(0, after), latest: Math.max(0, after) };
  },
};

const isFarSpan = ({ earliest, latest }: TimeSpan): boolean => earliest < -FAR_MS || latest > FAR_MS;

/** Whether a time of that clock lies far from the producer's. */
export const isFar = (clock: Clock, report: Times): boolean => isFarSpan(SPAN_OF[clock](report));

/** What is known with a report that has come; null: it is far. */
export function withTimesOf(known: KnownTimes, clock: Clock, report: Times): KnownTimes | null {
  const span = SPAN_OF[clock](report);
  if (isFarSpan(span)) return null;
  const { earliest, latest } = known[clock];
  if (span.earliest >= earliest && span.latest <= latest) return known;
  const wider = { earliest: Math.min(earliest, span.earliest), latest: Math.max(latest, span.latest) };
  return { ...known, [clock]: wider };
}
