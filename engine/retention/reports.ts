// Reports and events that are past their time (spec/commands.md 8.2): whole UTC days, one day a sweep, the oldest first. A
// node's latest report stays, however old, and so do its events. Which day is dropped is decided over all partitions: each
// tells its oldest expired day, and the smallest of them is dropped everywhere.

import { isAmong } from '../store/items/ids.ts';
import type { Partition } from '../store/partition.ts';
import type { ReportId, ReportRecord } from '../store/records/records.ts';
import { REPORTS_LATEST, REPORTS_WITH_EVENTS } from '../store/records/tables.ts';
import { DAY_MS } from '../time.ts';
import { dayOf, LOOKED_AT_MAX, REPORTS_MAX, type StepResult, type Sweep } from './sweep.ts';

/** Finds the oldest day before `firstKeptDay` that has a report to drop, by producer time: the `day` of its last step. */
export function oldestReportDay(partition: Partition, firstKeptDay: number): Sweep {
  let start: Partial<ReportPlace> = {};
  return {
    step(): StepResult {
      const { found, next } = reportsToDrop(partition, { ...start, to: firstKeptDay * DAY_MS - 1 }, 1);
      const [first] = found;
      if (first !== undefined) return { changed: 0, done: true, day: dayOf(first.from) };
      if (next !== null) start = next;
      return { changed: 0, done: next === null, day: null };
    },
  };
}

/** Drops the reports of one day, by producer time. Each step goes on where the last one stopped: latest reports are passed once. */
export function purgeReportDay(partition: Partition, day: number): Sweep {
  let start: ReportPlace = { from: day * DAY_MS, fromId: 0 };
  return {
    step(): StepResult {
      const { found, next } = reportsToDrop(partition, { ...start, to: (day + 1) * DAY_MS - 1 }, REPORTS_MAX);
      if (found.length > 0) {
        partition.write((batch) => {
          for (const { fromId } of found) batch.reports.delete(fromId);
        });
      }
      if (next !== null) start = next;
      return { changed: found.length, done: next === null };
    },
  };
}

/** A place in the order of producer times. */
interface ReportPlace {
  readonly from: number;
  readonly fromId: ReportId;
}

/** Which reports of a range are to go, `max` of them at most; `next` is where to go on, null at the range's end. */
function reportsToDrop(
  partition: Partition,
  range: Partial<ReportPlace> & { readonly to: number },
  max: number,
): { found: readonly ReportPlace[]; next: ReportPlace | null } {
  const view = partition.snapshot();
  try {
    const latest = view.reports.set(REPORTS_LATEST);
    const found: ReportPlace[] = [];
    let lookedAt = 0;
    for (const { time, id } of view.reports.byTime(range)) {
      const place = { from: time, fromId: id };
      if (lookedAt++ === LOOKED_AT_MAX || found.length === max) return { found, next: place };
      if (!isAmong(latest, id)) found.push(place);
    }
    return { found, next: null };
  } finally {
    view.close();
  }
}

/** Finds the oldest day before `firstKeptDay` with events to drop: the `day` of its last step. */
export function oldestEventDay(partition: Partition, firstKeptDay: number): Sweep {
  let day: number | null = null;
  const walk = eventWalk(partition, (report) => {
    // The smallest event time says enough: whatever lies before it has been dropped.
    const first = dayOf(report.eventTimeMin);
    if (first < firstKeptDay && (day === null || first < day)) day = first;
    return false;
  });
  return {
    step(): StepResult {
      const { done } = walk();
      return { changed: 0, done, day };
    },
  };
}

/** Drops the events of one day, by their own time. `changed` counts events. */
export function purgeEventDay(partition: Partition, day: number): Sweep {
  const start = day * DAY_MS;
  const end = start + DAY_MS;
  const walk = eventWalk(partition, (report) => report.eventTimeMin < end && report.eventTimeMax >= start);
  return {
    step(): StepResult {
      const { ids, done } = walk();
      if (ids.length === 0) return { changed: 0, done };
      const changed = partition.write((batch) => {
        let dropped = 0;
        for (const id of ids) {
          const events = batch.view.reports.events(id);
          const kept = events.filter(({ timestamp }) => timestamp < start || timestamp >= end);
          if (kept.length === events.length) continue;
          dropped += events.length - kept.length;
          batch.reports.setEvents(id, kept);
        }
        return dropped;
      });
      return { changed, done };
    },
  };
}

/**
 * Walks the reports that had events when it began, but for nodes' latest ones, in order of arrival, a bounded number a call; gives back
 * those that `takes` wants.
 */
function eventWalk(
  partition: Partition,
  takes: (report: ReportRecord) => boolean,
): () => { ids: ReportId[]; done: boolean } {
  let having: Uint32Array | null = null;
  let at = 0;
  return () => {
    const view = partition.snapshot();
    try {
      having ??= view.reports.set(REPORTS_WITH_EVENTS);
      const latest = view.reports.set(REPORTS_LATEST);
      const ids: ReportId[] = [];
      for (const end = at + LOOKED_AT_MAX; at < having.length; at++) {
        if (at === end || ids.length === REPORTS_MAX) return { ids, done: false };
        const id = having[at]!;
        if (isAmong(latest, id)) continue;
        const report = view.reports.get(id);
        if (report !== undefined && report.eventCount > 0 && takes(report)) ids.push(id);
      }
      return { ids, done: true };
    } finally {
      view.close();
    }
  };
}
