// Paths below /pdb/admin: which method of which path is answered by what. Everything else there is an unknown path.

import type { MetricsRegistry } from '../../workers/metrics.ts';
import type { Exchange, Mount } from '../http/exchange.ts';
import { pathBelow } from '../http/paths.ts';
import { NOT_FOUND, prettyReply } from '../http/replies.ts';
import { answerAdminCommand } from './admin.ts';
import { answerExport, type ExportDeps } from './archive/export.ts';
import { answerImport, type ImportDeps } from './archive/import.ts';
import type { MaintenanceScheduler } from './maintenance.ts';
import { answerSummaryStats, type SummaryDeps } from './summary-stats.ts';

export interface AdminDeps extends ExportDeps, ImportDeps, SummaryDeps {
  readonly maintenance: MaintenanceScheduler;
  readonly registry: MetricsRegistry;
}

type AdminHandler = (exchange: Exchange, deps: AdminDeps) => void | Promise<void>;

/** By path below the mount, then by method; `ANY`: it looks at the method itself. */
export const adminRoutes: Readonly<Record<string, Readonly<Record<string, AdminHandler>>>> = {
  '/v1/cmd': { POST: (exchange, { maintenance }) => answerAdminCommand(exchange, maintenance) },
  '/v1/archive': { GET: answerExport, POST: answerImport },
  '/v1/queue': { GET: (exchange, { registry }) => answerQueue(exchange, registry) },
  '/v1/summary-stats': { ANY: answerSummaryStats },
};

export function createAdminMounts(deps: AdminDeps): Mount[] {
  const prefix = '/pdb/admin';

  function handler(exchange: Exchange): void | Promise<void> {
    const methods = adminRoutes[pathBelow(exchange, prefix)];
    const route = methods?.[exchange.method] ?? methods?.['ANY'];
    return route === undefined ? exchange.reply(NOT_FOUND) : route(exchange, deps);
  }

  return [{ prefix, handler }];
}

/** What `muster import` waits by, for whoever may import: metrics may be for fewer. The names are those of the metrics, below `mq`. */
function answerQueue(exchange: Exchange, registry: MetricsRegistry): void {
  const figures = {
    depth: registry.counter('mq', 'global.depth').count,
    'awaiting-retry': registry.counter('mq', 'global.awaiting-retry').count,
    size: registry.histogram('mq', 'global.size').count,
    discarded: registry.meter('mq', 'global.discarded').count,
  };
  exchange.reply(prettyReply(200, figures));
}
