// What a list of each report takes in the store, for the statistics of the server itself: nothing of it is unpacked.

import type { ReportListName } from '../../store/records/report-lists.ts';
import { type Answer, type AnswerInput, listed, type Work } from './answer-input.ts';
import type { ListBody } from './body.ts';

/** Its bytes in all reports of all nodes; null where it is null. */
export const reportSizes = (input: AnswerInput, list: ReportListName): Answer =>
  listed(input, 'objects', (body) => sizes(input, list, body));

function* sizes({ ctx }: AnswerInput, list: ReportListName, body: ListBody): Work<void> {
  for (const view of ctx.views) {
    for (const report of view.reports.ids()) {
      body.row(String(view.reports.listSize(report, list)));
      if (body.full || ctx.tickRow()) yield;
    }
  }
}
