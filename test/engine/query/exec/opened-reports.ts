// How many reports are read as rows.

import { Row } from '../../../../engine/query/exec/row/row.ts';

/** How many reports are opened meanwhile. */
export function openedBy(work: () => void): number {
  const { openReport } = Row.prototype;
  let opened = 0;
  Row.prototype.openReport = function (id) {
    opened++;
    return openReport.call(this, id);
  };
  try {
    work();
  } finally {
    Row.prototype.openReport = openReport;
  }
  return opened;
}
