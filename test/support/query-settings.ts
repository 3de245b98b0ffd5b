// Settings that queries are run with.

import type { QuerySettings } from '../../engine/query/request.ts';

/** As a server without configuration has them, but for retention: nodes are shown however old they are. */
export const querySettings: QuerySettings = {
  now: 0,
  nodePurgeTtl: 0,
  addAgentReportFilter: true,
  edition: 'community',
  vocabulary: 'puppetdb',
  prettyPrint: false,
  timeoutDefault: 600_000,
  timeoutMax: 0,
  queryDepthMax: 1000,
  regexBudget: 30_000,
  planAfter: 0,
};
