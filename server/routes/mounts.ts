// The routes of the data interfaces, ready for `startListener`:
//
//   startListener({ ..., mounts: [...createMounts(deps), ...theOperationalOnes] })
//
// Mounts: '' (redirect of `/`, the web server's 404), '/pdb' (its redirect, the application's 404), '/pdb/cmd', '/pdb/query',
// '/pdb/ext', '/pdb/meta'. Others add longer prefixes; two mounts with the same prefix are an error at start.

import type { CommandRing, QueryPool } from '../../workers/types.ts';
import type { Handler, Mount } from '../http/exchange.ts';
import { isRead, NOT_FOUND, redirect, unknownPath } from '../http/replies.ts';
import { type CommandSettings, createCommandHandler } from './commands.ts';
import { createMetaHandler } from './meta.ts';
import { createExtHandler, createQueryHandler, type QueryRouteDeps } from './query.ts';

interface MountDeps {
  readonly ring: CommandRing;
  readonly pool: QueryPool;
  readonly querySettings: QueryRouteDeps['settings'];
  /** Largest query text in a body, bytes. */
  readonly queryBodyMax: number;
  readonly commands: CommandSettings;
  /** What `/pdb/meta/v1/version` says: a PuppetDB version. */
  readonly version: string;
  /** true until the server can serve. */
  readonly isStarting: () => boolean;
  /** Epoch ms. */
  readonly now: () => number;
  /** A new random UUID, lower case. */
  readonly uuid: () => string;
}

export function createMounts(deps: MountDeps): Mount[] {
  const { ring, pool, now, uuid, version } = deps;
  const query: QueryRouteDeps = { pool, settings: deps.querySettings, bodyMax: deps.queryBodyMax, now };
  return [
    { prefix: '', handler: createRootHandler(deps.isStarting) },
    { prefix: '/pdb', handler: applicationRoot },
    { prefix: '/pdb/cmd', handler: createCommandHandler({ ring, settings: deps.commands, now, uuid }) },
    { prefix: '/pdb/query', handler: createQueryHandler(query) },
    { prefix: '/pdb/ext', handler: createExtHandler(query) },
    { prefix: '/pdb/meta', handler: createMetaHandler({ version, now }) },
  ];
}

const DASHBOARD = '/dashboard/index.html';

/** `/` leads to the dashboard once there is one to show; any other path outside `/pdb` is nobody's. */
const createRootHandler =
  (isStarting: () => boolean): Handler =>
  (exchange) => {
    const leadsOn = exchange.path === '/' && isRead(exchange) && !isStarting();
    exchange.reply(leadsOn ? redirect(`/pdb${DASHBOARD}`) : unknownPath(exchange));
  };

/** `/pdb` leads to the dashboard of the host as the client called it; the rest is unknown. */
const applicationRoot: Handler = (exchange) => {
  const leadsOn = (exchange.path === '/pdb' || exchange.path === '/pdb/') && isRead(exchange);
  exchange.reply(leadsOn ? redirect(`${exchange.base}/pdb${DASHBOARD}`) : NOT_FOUND);
};
