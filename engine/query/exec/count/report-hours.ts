// Texts of reports' times that tell nothing below the hour, as charts ask for: mostly all reports of a quarter of an hour of their producers'
// times (store/reports/report-periods.ts) have the same, so that they are counted together.

import type { EntityName } from '../../../../schemas/entities.ts';
import type { ReportTimes } from '../../../store/reports/report-kinds.ts';
import { PERIOD_MS } from '../../../store/reports/report-periods.ts';
import type { Clock, TimeSpan } from '../../../store/reports/report-times.ts';
import { HOUR_MS } from '../../../time.ts';
import { type NearTime, nearTimeOf } from '../plan/report-plan.ts';
import type { Hourly } from '../row/access.ts';
import type { Row } from '../row/row.ts';

const FIELDS: Readonly<Record<string, keyof ReportTimes>> = {
  start_time: 'startTime',
  end_time: 'endTime',
  producer_timestamp: 'producerTimestamp',
  receive_time: 'receiveTime',
};

/** What reports have in common whose texts are equal. */
export interface SameHours {
  /** Equal for these, and for no others. */
  readonly key: string;
  /** Times that have these texts. */
  readonly times: Partial<ReportTimes>;
}

/** The same for all that ask for no such texts. */
const NO_HOURS: SameHours = { key: '', times: {} };

interface HourlyTime {
  readonly hourly: Hourly;
  readonly field: keyof ReportTimes;
  readonly near: NearTime;
  /** By hour, as far as they were asked for. */
  readonly texts: Map<number, string | null>;
}

/** What is asked of the reports of one partition. */
export class ReportHours {
  readonly #asked: readonly HourlyTime[];

  private constructor(asked: readonly HourlyTime[]) {
    this.#asked = asked;
  }

  /** What is told apart by these texts. null: one of them is of no time that lies near the producer's. */
  static of(
    hourly: readonly Hourly[],
    entity: EntityName,
    spanOf: (clock: Clock) => TimeSpan | null,
  ): ReportHours | null {
    const asked: HourlyTime[] = [];
    for (const one of hourly) {
      const field = FIELDS[one.field];
      const near = nearTimeOf(entity, one.field, spanOf);
      if (field === undefined || near === null) return null;
      asked.push({ hourly: one, field, near, texts: new Map() });
    }
    return new ReportHours(asked);
  }

  get areAsked(): boolean {
    return this.#asked.length > 0;
  }

  get nears(): readonly NearTime[] {
    return this.#asked.map(({ near }) => near);
  }

  /** What all reports have whose producers' times are in the period that begins there, but for those that are far; null: they differ. */
  ofPeriod(start: number): SameHours | null {
    if (this.#asked.length === 0) return NO_HOURS;
    const texts: (string | null)[] = [];
    const times: Partial<ReportTimes> = {};
    for (const asked of this.#asked) {
      const { span } = asked.near;
      const earliest = start + span.earliest;
      const first = hourOf(earliest);
      const last = hourOf(start + PERIOD_MS - 1 + span.latest);
      const text = textOf(asked, first);
      for (let hour = first + 1; hour <= last; hour++) if (textOf(asked, hour) !== text) return null;
      texts.push(text);
      times[asked.field] = earliest;
    }
    return { key: JSON.stringify(texts), times };
  }

  /** Those of the row's report. */
  ofReport(row: Row): SameHours {
    if (this.#asked.length === 0) return NO_HOURS;
    const texts: (string | null)[] = [];
    const times: Partial<ReportTimes> = {};
    for (const asked of this.#asked) {
      const time = asked.hourly.time(row) as number;
      texts.push(textOf(asked, hourOf(time)));
      times[asked.field] = time;
    }
    return { key: JSON.stringify(texts), times };
  }
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

function textOf({ hourly, texts }: HourlyTime, hour: number): string | null {
  let text = texts.get(hour);
  if (text === undefined) texts.set(hour, (text = hourly.text(hour * HOUR_MS)));
  return text;
}
