// The dashboard: a page, and the figures it polls.

import type { Exchange, Mount } from '../http/exchange.ts';
import { NOT_FOUND, prettyReply } from '../http/replies.ts';
import { dashboardData } from './dashboard-data.ts';
import type { BeanServer } from './metrics/bean-server.ts';
import { pathBelow } from './paths.ts';

export interface DashboardDeps {
  readonly beans: BeanServer;
  readonly refresh: () => void;
  readonly version: string;
}

export function createDashboardMounts(deps: DashboardDeps): Mount[] {
  const prefix = '/pdb/dashboard';

  async function handler(exchange: Exchange): Promise<void> {
    const path = pathBelow(exchange, prefix);
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return exchange.reply(NOT_FOUND);
    if (path === '/data') {
      deps.refresh();
      return exchange.reply(
        prettyReply(
          200,
          (await dashboardData(deps.beans)).map((meter) => ({ ...meter })),
        ),
      );
    }
    exchange.reply(NOT_FOUND);
  }

  return [{ prefix, handler }];
}
