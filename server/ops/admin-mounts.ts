// Paths below /pdb/admin: which method of which path is answered by what. Everything else there is an unknown path.

import type { Exchange, Handler, Mount } from '../http/exchange.ts';
import { NOT_FOUND } from '../http/replies.ts';
import { answerAdminCommand } from './admin.ts';
import type { MaintenanceScheduler } from './maintenance.ts';
import { pathBelow } from './paths.ts';

export interface AdminDeps {
  readonly maintenance: MaintenanceScheduler;
}

export function createAdminMounts(deps: AdminDeps): Mount[] {
  const prefix = '/pdb/admin';
  const routes: Readonly<Record<string, Handler>> = {
    'POST /v1/cmd': (exchange) => answerAdminCommand(exchange, deps.maintenance),
  };

  function handler(exchange: Exchange): void | Promise<void> {
    const path = pathBelow(exchange, prefix);
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const route = routes[`${method} ${path}`] ?? routes[`* ${path}`];
    if (route === undefined) return exchange.reply(NOT_FOUND);
    return route(exchange);
  }

  return [{ prefix, handler }];
}
