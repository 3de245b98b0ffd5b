// What a list of each report takes in the store, for the statistics of the server itself: nothing of it is unpacked.

import type { ReportListName } from '../../store/records/report-lists.ts';
import { type Answer, type AnswerInput, openList } from './answer-input.ts';

/** Its bytes in all reports of all nodes; null where it is null. */
export function* reportSizes(input: AnswerInput, list: ReportListName): Answer {
  const { ctx } = input;
  const body = openList(input, 'objects');
  for (const view of ctx.views) {
    for (const report of view.reports.ids()) {
      body.row(String(view.reports.listSize(report, list)));
      if (body.full || ctx.tickRow()) yield;
    }
  }
  body.end();
  return null;
}
