// The dashboard: a page, and the figures it polls.

import type { Exchange, Mount, Reply } from '../http/exchange.ts';
import { pathBelow } from '../http/paths.ts';
import { HTML_TYPE, isRead, NOT_FOUND, prettyReply } from '../http/replies.ts';
import { dashboardData } from './dashboard-data.ts';
import { dashboardPage } from './dashboard-page.ts';
import type { BeanServer } from './metrics/bean-server.ts';

/** The page needs nothing from outside, and may stand in a frame. */
const PAGE_HEADERS = [
  ['Cache-Control', 'no-cache'],
  [
    'Content-Security-Policy',
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'",
  ],
  ['X-Content-Type-Options', 'nosniff'],
] as const;

export function createDashboardMounts(beans: BeanServer): Mount[] {
  const prefix = '/pdb/dashboard';
  const pagePath = `${prefix}/index.html`;

  async function handler(exchange: Exchange): Promise<void> {
    if (!isRead(exchange) || pathBelow(exchange, prefix) !== '/data') return exchange.reply(NOT_FOUND);
    const meters = await dashboardData(beans);
    exchange.reply(
      prettyReply(
        200,
        meters.map((meter) => ({ ...meter })),
      ),
    );
  }

  function page(exchange: Exchange): void {
    const isPage = isRead(exchange) && exchange.path === pagePath;
    const found: Reply = { status: 200, contentType: HTML_TYPE, headers: PAGE_HEADERS, body: dashboardPage };
    exchange.reply(isPage ? found : NOT_FOUND);
  }

  return [
    { prefix, handler },
    { prefix: pagePath, handler: page, whileStarting: true },
  ];
}
