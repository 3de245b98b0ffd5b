// Paths below /pdb/admin: which method of which path is answered by what. Everything else there is an unknown path.

import type { MetricsRegistry } from '../../workers/metrics.ts';
import type { Exchange, Mount } from '../http/exchange.ts';
import { pathBelow } from '../http/paths.ts';
import { archiveErrorReply, NOT_FOUND, prettyReply } from '../http/replies.ts';
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

/** How many of them there may be at the same time: an export has a thread, and an import may hold a command as large as any. */
const mostAtOnce: ReadonlyMap<AdminHandler, number> = new Map<AdminHandler, number>([
  [answerExport, 4],
  [answerImport, 4],
]);
const RETRY_SECONDS = 30;

export function createAdminMounts(deps: AdminDeps): Mount[] {
  const prefix = '/pdb/admin';
  /** Of those that are bounded. */
  const running = new Map<AdminHandler, number>();

  function handler(exchange: Exchange): void | Promise<void> {
    const methods = adminRoutes[pathBelow(exchange, prefix)];
    const route = methods?.[exchange.method] ?? methods?.['ANY'];
    if (route === undefined) return exchange.reply(NOT_FOUND);
    const most = mostAtOnce.get(route);
    return most === undefined ? route(exchange, deps) : bounded(route, exchange, most);
  }

  async function bounded(route: AdminHandler, exchange: Exchange, most: number): Promise<void> {
    const others = running.get(route) ?? 0;
    if (others >= most) {
      const refusal = archiveErrorReply(503, `there are ${most} of these at work, which is as many as may be`);
      return exchange.reply({ ...refusal, headers: [['Retry-After', String(RETRY_SECONDS)]] });
    }
    running.set(route, others + 1);
    try {
      await route(exchange, deps);
    } finally {
      running.set(route, running.get(route)! - 1);
    }
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
