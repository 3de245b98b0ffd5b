// Retention and clean-up (spec/operations.md 13, spec/commands.md 8): the one lock under which the steps run, and the timers
// that start them. An administrator's `clean` fails while the lock is held; a scheduled run waits for it. What a
// step does is the ring's business; here is when, in which order, and what is told about it.
//
// A failing step is logged and the rest goes on: "cleaned" means "attempted", as it always did.

import { messageOf } from '../../engine/reason.ts';
import type { MetricsRegistry } from '../../workers/metrics.ts';
import { TIMER_MAX } from '../../workers/system/clock.ts';
import { type CommandRing, MaintenanceStopped } from '../../workers/types.ts';
import type { Json } from '../json.ts';
import type { Logger } from '../log.ts';
import {
  activityOf,
  type CleanRequest,
  type CleanToken,
  type MaintenanceSettings,
  type StepRow,
  stepOf,
  titleOf,
  together,
} from './maintenance-steps.ts';

interface MaintenanceDeps {
  readonly ring: CommandRing;
  readonly registry: MetricsRegistry;
  readonly settings: MaintenanceSettings;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

interface Job {
  readonly name: string;
  readonly interval: number;
  readonly request: CleanRequest;
  timer: NodeJS.Timeout | null;
  nextRun: number | null;
  lastRun: number | null;
  lastMs: number | null;
  runs: number;
}

/** Share of an interval by which runs of several jobs and servers are spread. */
const JITTER_SHARE = 0.1;
const JITTER_MAX = 60_000;

export class MaintenanceScheduler {
  readonly #deps: MaintenanceDeps;
  readonly #jobs: readonly Job[];
  /** Settles when whoever holds the lock lets go; null: free. */
  #holder: Promise<void> | null = null;
  #activity = '';
  #stopping = false;
  #failures = 0;
  #lastFailure: string | null = null;

  constructor(deps: MaintenanceDeps) {
    this.#deps = deps;
    this.#jobs = jobsOf(deps.settings);
    deps.registry.gauge('admin', 'cleaning', () => this.#activity);
  }

  /** Arms the timers: each job first runs after one whole interval, then that long after its end. */
  start(): void {
    for (const job of this.#jobs) this.#arm(job);
  }

  /** No further step begins, and the running one is broken off: the next run goes on with what is left. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#deps.ring.endMaintenance();
    for (const job of this.#jobs) {
      if (job.timer !== null) clearTimeout(job.timer);
      job.timer = null;
      job.nextRun = null;
    }
    while (this.#holder !== null) await this.#holder;
  }

  /**
   * Carries out a request now. Resolves with the steps that failed; null: somebody else is at it, nothing was done. Rejects with
   * MaintenanceStopped when the server stops meanwhile.
   */
  async clean(request: CleanRequest): Promise<readonly CleanToken[] | null> {
    if (this.#holder !== null) return null;
    const failed = await this.#locked(() => this.#run(request));
    if (this.#stopping) throw new MaintenanceStopped();
    return failed;
  }

  /** Deletes all data of a node. Rejects when the ring cannot do it now. */
  async delete(certname: string): Promise<void> {
    this.#deps.log.info(`Starting delete of all data for host ${certname}`);
    await this.#deps.ring.maintain({ kind: 'delete', certname });
    this.#deps.log.info(`Finished delete of all data for host ${certname}`);
  }

  state(): Json {
    const time = (at: number | null): Json => (at === null ? null : new Date(at).toISOString());
    return {
      cleaning: this.#activity,
      failures: this.#failures,
      last_failure: this.#lastFailure,
      jobs: this.#jobs.map(({ name, interval, runs, lastRun, lastMs, nextRun }) => ({
        name,
        interval_ms: interval,
        runs,
        last_run: time(lastRun),
        last_duration_ms: lastMs,
        next_run: time(nextRun),
      })),
    };
  }

  #arm(job: Job): void {
    if (this.#stopping) return;
    const jitter = this.#deps.random() * Math.min(job.interval * JITTER_SHARE, JITTER_MAX);
    job.nextRun = this.#deps.clock() + job.interval + jitter;
    this.#sleep(job, job.interval + jitter);
  }

  /** Timers hold at most some weeks; longer waits take several. */
  #sleep(job: Job, rest: number): void {
    const span = Math.min(rest, TIMER_MAX);
    job.timer = setTimeout(() => {
      if (rest > span) this.#sleep(job, rest - span);
      // Failures of steps are dealt with inside; nothing else can reject.
      else void this.#runJob(job);
    }, span);
    job.timer.unref();
  }

  async #runJob(job: Job): Promise<void> {
    job.timer = null;
    job.nextRun = null;
    while (this.#holder !== null) await this.#holder;
    if (this.#stopping) return;
    await this.#locked(async () => {
      const at = this.#deps.clock();
      const began = performance.now();
      await this.#run(job.request);
      job.runs++;
      job.lastRun = at;
      job.lastMs = Math.round(performance.now() - began);
    });
    this.#arm(job);
  }

  /** The lock is free here: nothing awaits between looking at it and taking it. */
  async #locked<T>(work: () => Promise<T>): Promise<T> {
    let release!: () => void;
    this.#holder = new Promise((resolve) => (release = resolve));
    try {
      return await work();
    } finally {
      this.#holder = null;
      this.#activity = '';
      release();
    }
  }

  /** Resolves with the steps that failed. */
  async #run(request: CleanRequest): Promise<CleanToken[]> {
    const failed: CleanToken[] = [];
    const began = performance.now();
    this.#activity = activityOf(request.tokens);
    for (const rows of together(request.tokens)) {
      if (this.#stopping) break;
      failed.push(...(await this.#runSteps(rows, request)));
    }
    this.#deps.registry.timer('storage', 'gc-time').update(performance.now() - began);
    return failed;
  }

  /** Steps that are told of together. Resolves with those that failed. */
  async #runSteps(rows: readonly StepRow[], request: CleanRequest): Promise<CleanToken[]> {
    const { log, settings } = this.#deps;
    const title = titleOf(rows, settings);
    log.info(`Starting ${title}`);
    const began = performance.now();
    const failed: CleanToken[] = [];
    let changed = 0;
    let isBrokenOff = false;
    for (const row of rows) {
      if (isBrokenOff) break;
      try {
        changed += await this.#runStep(row, request);
      } catch (error) {
        failed.push(row.token);
        isBrokenOff = error instanceof MaintenanceStopped;
        if (isBrokenOff) log.info(`${title} is broken off, as the server stops`);
        else {
          this.#failures++;
          this.#lastFailure = messageOf(error);
          log.error({ err: error }, `${title} failed`);
        }
      }
    }
    if (failed.length === 0) log.info({ changed, ms: Math.round(performance.now() - began) }, `Finished ${title}`);
    return failed;
  }

  /** Resolves with the number of things that changed. */
  async #runStep(row: StepRow, request: CleanRequest): Promise<number> {
    const { ring, registry, settings } = this.#deps;
    registry.counter('admin', row.counter).inc();
    const began = performance.now();
    let changed = 0;
    try {
      for (const kind of row.kinds) {
        const maintenance = stepOf(kind, request, settings);
        if (maintenance !== null) changed += await ring.maintain(maintenance);
      }
    } finally {
      const elapsed = performance.now() - began;
      registry.timer('admin', row.timer).update(elapsed);
      if (row.storageTimer !== null) registry.timer('storage', row.storageTimer).update(elapsed);
    }
    return changed;
  }
}

function jobsOf(settings: MaintenanceSettings): Job[] {
  if (settings.gcInterval === 0) return [];
  const batchLimit = settings.nodePurgeBatch === 0 ? null : settings.nodePurgeBatch;
  const rows: readonly (readonly [name: string, interval: number, tokens: readonly CleanToken[]])[] = [
    ['expire-nodes', settings.nodeTtl === 0 ? 0 : settings.gcIntervalExpireNodes, ['expire_nodes']],
    ['purge-nodes', settings.nodePurgeTtl === 0 ? 0 : settings.gcIntervalPurgeNodes, ['purge_nodes']],
    ['purge-reports', settings.gcIntervalPurgeReports, ['purge_reports', 'purge_resource_events']],
    ['packages', settings.gcIntervalPackages, ['gc_packages']],
    ['catalogs', settings.gcIntervalCatalogs, ['gc_catalogs']],
    ['fact-paths', settings.gcIntervalFactPaths, ['gc_fact_paths']],
  ];
  return rows
    .filter(([, interval]) => interval > 0)
    .map(([name, interval, tokens]) => ({
      name,
      interval,
      request: { tokens: new Set(tokens), batchLimit },
      timer: null,
      nextRun: null,
      lastRun: null,
      lastMs: null,
      runs: 0,
    }));
}
