// How many reports a query looks at.

import { Row } from '../../../../engine/query/exec/row/row.ts';
import { ReportView } from '../../../../engine/store/report-view.ts';

/** How often all objects of that class together are asked for that meanwhile. */
function callsOf<K extends string>(of: Record<K, (...args: never[]) => unknown>, name: K, work: () => void): number {
  const method = of[name];
  let calls = 0;
  of[name] = function (this: unknown, ...args: never[]) {
    calls++;
    return method.apply(this, args);
  };
  try {
    work();
  } finally {
    of[name] = method;
  }
  return calls;
}

/** How many reports are opened as rows meanwhile. */
export const openedBy = (work: () => void): number => callsOf(Row.prototype, 'openReport', work);

/** How many records of reports the work reads. */
export const readsOf = (work: () => void): number => callsOf(ReportView.prototype, 'read', work);
