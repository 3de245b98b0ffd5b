// The text of a time of reports that tells nothing below the hour, as charts ask for: mostly all reports of a quarter of an hour of their
// producers' times (store/reports/report-periods.ts) have the same, so that they are counted together.

import type { EntityName } from '../../../../schemas/entities.ts';
import { type ReportTimes, TIME_NAMES } from '../../../store/reports/report-kinds.ts';
import { PERIOD_MS } from '../../../store/reports/report-periods.ts';
import type { Clock, TimeSpan } from '../../../store/reports/report-times.ts';
import { HOUR_MS } from '../../../time.ts';
import { type NearTime, nearTimeOf } from '../plan/report-plan.ts';
import type { Hourly } from '../row/access.ts';
import { traitsOf } from '../row/entities.ts';
import type { Row } from '../row/row.ts';

/** What reports have in common whose texts are equal. */
export interface SameHours {
  readonly text: string | null;
  /** A time that has this text. */
  readonly times: Partial<ReportTimes>;
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

/** What is asked of the reports of one partition. */
export class ReportHours {
  readonly near: NearTime;
  readonly #hourly: Hourly;
  readonly #field: keyof ReportTimes;
  /** By hour, as far as they were asked for. */
  readonly #texts = new Map<number, string | null>();

  private constructor(hourly: Hourly, field: keyof ReportTimes, near: NearTime) {
    this.#hourly = hourly;
    this.#field = field;
    this.near = near;
  }

  /** null: it is no time that lies near the producer's. */
  static of(hourly: Hourly, entity: EntityName, spanOf: (clock: Clock) => TimeSpan | null): ReportHours | null {
    const moment = traitsOf(entity).times[hourly.field];
    const near = nearTimeOf(entity, hourly.field, spanOf);
    if (near === null || moment === undefined || moment === 'event') return null;
    return new ReportHours(hourly, TIME_NAMES[moment], near);
  }

  /** What all reports have whose producers' times are in the period that begins there, but for those that are far; null: they differ. */
  ofPeriod(start: number): SameHours | null {
    const { span } = this.near;
    const earliest = start + span.earliest;
    const last = hourOf(start + PERIOD_MS - 1 + span.latest);
    const same = this.#of(earliest);
    for (let hour = hourOf(earliest) + 1; hour <= last; hour++) if (this.#textOf(hour) !== same.text) return null;
    return same;
  }

  /** That of the row's report. */
  ofReport(row: Row): SameHours {
    return this.#of(this.#hourly.time(row) as number);
  }

  #of(time: number): SameHours {
    return { text: this.#textOf(hourOf(time)), times: { [this.#field]: time } };
  }

  #textOf(hour: number): string | null {
    let text = this.#texts.get(hour);
    if (text === undefined) this.#texts.set(hour, (text = this.#hourly.text(hour * HOUR_MS)));
    return text;
  }
}
