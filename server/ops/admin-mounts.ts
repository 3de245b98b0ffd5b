// Paths below /pdb/admin: which method of which path is answered by what. Everything else there is an unknown path.

import type { Exchange, Handler, Mount } from '../http/exchange.ts';
import { NOT_FOUND } from '../http/replies.ts';
import { answerAdminCommand } from './admin.ts';
import { answerExport, type ExportDeps } from './archive/export.ts';
import { answerImport, type ImportDeps } from './archive/import.ts';
import type { MaintenanceScheduler } from './maintenance.ts';
import { pathBelow } from './paths.ts';
import { answerSummaryStats, type SummaryDeps } from './summary-stats.ts';

export interface AdminDeps extends ExportDeps, ImportDeps, SummaryDeps {
  readonly maintenance: MaintenanceScheduler;
}

export function createAdminMounts(deps: AdminDeps): Mount[] {
  const prefix = '/pdb/admin';
  const summary: Handler = (exchange) => answerSummaryStats(exchange, deps);
  const routes: Readonly<Record<string, Handler>> = {
    'POST /v1/cmd': (exchange) => answerAdminCommand(exchange, deps.maintenance),
    'GET /v1/archive': (exchange) => answerExport(exchange, deps),
    'POST /v1/archive': (exchange) => answerImport(exchange, deps),
  };

  function handler(exchange: Exchange): void | Promise<void> {
    const path = pathBelow(exchange, prefix);
    const route = path === '/v1/summary-stats' ? summary : routes[`${exchange.method} ${path}`];
    return route === undefined ? exchange.reply(NOT_FOUND) : route(exchange);
  }

  return [{ prefix, handler }];
}
