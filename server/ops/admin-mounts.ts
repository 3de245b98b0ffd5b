// Paths below /pdb/admin: which method of which path is answered by what. Everything else there is an unknown path.

import type { MetricsRegistry } from '../../workers/metrics.ts';
import type { Exchange, Handler, Mount } from '../http/exchange.ts';
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

export function createAdminMounts(deps: AdminDeps): Mount[] {
  const prefix = '/pdb/admin';
  const summary: Handler = (exchange) => answerSummaryStats(exchange, deps);
  const routes: Readonly<Record<string, Handler>> = {
    'POST /v1/cmd': (exchange) => answerAdminCommand(exchange, deps.maintenance),
    'GET /v1/archive': (exchange) => answerExport(exchange, deps),
    'POST /v1/archive': (exchange) => answerImport(exchange, deps),
    'GET /v1/queue': (exchange) => answerQueue(exchange, deps.registry),
  };

  function handler(exchange: Exchange): void | Promise<void> {
    const path = pathBelow(exchange, prefix);
    const route = path === '/v1/summary-stats' ? summary : routes[`${exchange.method} ${path}`];
    return route === undefined ? exchange.reply(NOT_FOUND) : route(exchange);
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
