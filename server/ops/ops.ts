// The operational side of the server put together: metrics, status, dashboard, administration, retention. Everything it
// needs is given to it; it owns its timers and nothing else.
//
//   const ops = createOps(deps);   listener gets ops.mounts
//   ops.start();                   timers run
//   await ops.stop();              no step of maintenance is running any more

import { statfs } from 'node:fs/promises';
import type { QuerySettings } from '../../engine/query/request.ts';
import type { Settings } from '../../schemas/config.ts';
import type { MetricsRegistry } from '../../workers/metrics.ts';
import { monotonicMs, TIMER_MAX } from '../../workers/system/clock.ts';
import type { CommandRing, QueryPool } from '../../workers/types.ts';
import type { Mount } from '../http/exchange.ts';
import type { Logger } from '../log.ts';
import { createAdminMounts } from './admin-mounts.ts';
import { createDashboardMounts } from './dashboard.ts';
import { MaintenanceScheduler } from './maintenance.ts';
import { BeanServer } from './metrics/bean-server.ts';
import { createCatalogue } from './metrics/catalogue.ts';
import { registerGauges } from './metrics/gauges.ts';
import { createMetricsMounts } from './metrics/mounts.ts';
import { ProcessBeans } from './metrics/process-beans.ts';
import { ProcessFigures } from './metrics/process-figures.ts';
import type { ServerState } from './metrics/prometheus.ts';
import { RegistryBeans } from './metrics/registry-beans.ts';
import { ownVersion } from './own-version.ts';
import type { Asker } from './questions/internal-query.ts';
import { ReadCheck } from './read-check.ts';
import { createStatusMounts, fullStatus, type Phase, type StatusDeps } from './status.ts';

interface OpsDeps {
  readonly ring: CommandRing;
  readonly pool: QueryPool;
  /** The same for questions that tell how the server is doing: they do not wait behind clients. */
  readonly ownPool: QueryPool;
  /** Queries that are at work or wait for a place. */
  readonly busyQueries: () => number;
  readonly registry: MetricsRegistry;
  readonly settings: Settings;
  /** Settings of a query that begins now. */
  readonly querySettings: () => QuerySettings;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly log: Logger;
  /** For what is to be said of the store. */
  readonly storeLog: Logger;
  /** Version as clients of PuppetDB expect it: `8.8.1`. */
  readonly version: string;
  /** Where the process stands; the status and nothing else depends on it. */
  readonly phase: () => Phase;
}

export interface Ops {
  readonly mounts: readonly Mount[];
  start(): void;
  /** Writes the full status to the log. */
  tellStatus(): void;
  stop(): Promise<void>;
}

export function createOps(deps: OpsDeps): Ops {
  const { ring, phase, registry, settings, clock } = deps;
  const asker: Asker = { pool: deps.pool, querySettings: deps.querySettings };
  const ownAsker: Asker = { ...asker, pool: deps.ownPool };
  const figures = new ProcessFigures(settings.cpuInterval);
  createCatalogue(registry);
  registerGauges({ ...deps, asker: ownAsker, clock: monotonicMs });
  const maintenance = new MaintenanceScheduler({ ...deps });
  const beans = new BeanServer([new RegistryBeans(registry), new ProcessBeans(figures)], clock);
  const check = new ReadCheck({ asker: ownAsker, phase, log: deps.storeLog });
  const status: StatusDeps = {
    version: deps.version,
    figures,
    health: async () => ({
      starting: phase() === 'starting',
      stopping: phase() === 'stopping',
      queueDepth: ring.depth,
      readable: await check.isReadable(),
      writable: ring.healthy,
    }),
    maintenance: () => maintenance.state(),
  };
  let statusLog: NodeJS.Timeout | null = null;

  const tellStatus = (): void => {
    // Failures are states of the services, so this never rejects.
    void fullStatus(status).then((full) => deps.log.info({ status: full }, 'status'));
  };

  return {
    tellStatus,
    mounts: [
      ...createMetricsMounts({
        beans,
        registry,
        figures,
        clock,
        settings,
        state: () => serverState(settings.data, status),
        version: versionValue(deps.version),
      }),
      ...createStatusMounts(status),
      ...createDashboardMounts(beans),
      ...createAdminMounts({ ...deps, asker, maintenance }),
    ],
    start: () => {
      figures.start();
      maintenance.start();
      if (settings.statusLogInterval === null) return;
      statusLog = setInterval(tellStatus, Math.min(settings.statusLogInterval, TIMER_MAX));
      statusLog.unref();
    },
    stop: async () => {
      if (statusLog !== null) clearInterval(statusLog);
      figures.stop();
      await maintenance.stop();
    },
  };
}

async function serverState(data: string, { health }: StatusDeps): Promise<ServerState> {
  const disk = await statfs(data).catch(() => null);
  return {
    version: ownVersion(),
    health: await health(),
    freeBytes: disk === null ? null : disk.bavail * disk.bsize,
  };
}

function versionValue(version: string) {
  return {
    agent: '1.7.1',
    protocol: '7.2',
    config: {
      agentType: 'servlet',
      mimeType: 'application/json',
      canonicalNaming: 'true',
      allowErrorDetails: 'false',
      includeStackTrace: 'false',
      serializeException: 'false',
      debug: 'false',
    },
    info: { product: 'muster', vendor: 'Muster', version },
  };
}
