// The figures of the command queue (spec/commands.md 2.9, spec/operations.md 8.2 and 8.4), global and by command and
// version, fed by the ring. Versions come from clients and may be any number, so only so many get figures of their own.

import type { DeadLetterCount } from '../../engine/inbox/dead-letters.ts';
import type { FailedOutcome, ProcessedOutcome } from '../../engine/ingest/command/types.ts';
import type { Discarded, Handled, Timing } from '../actor/messages.ts';
import type { Counter, Histogram, Meter, MetricsRegistry, Timer } from '../metrics.ts';
import type { Stages } from '../stages.ts';

const FAMILIES_MAX = 100;
/** What figures of all commands together are called by. */
const ALL = 'global';

interface Named {
  readonly command: string;
  readonly version: number;
}

interface Family {
  readonly seen: Meter;
  readonly processed: Meter;
  readonly processingTime: Timer;
  readonly queueTime: Histogram;
  readonly retried: Meter;
  readonly retryCounts: Histogram;
  readonly awaitingRetry: Counter;
  readonly discarded: Meter;
  readonly fatal: Meter;
  readonly ignored: Counter;
  readonly invalidated: Counter;
  readonly depth: Counter;
  readonly size: Histogram;
  readonly persistenceTime: Timer;
}

function family(registry: MetricsRegistry, prefix: string): Family {
  return {
    seen: registry.meter('mq', `${prefix}.seen`),
    processed: registry.meter('mq', `${prefix}.processed`),
    processingTime: registry.timer('mq', `${prefix}.processing-time`),
    queueTime: registry.histogram('mq', `${prefix}.queue-time`),
    retried: registry.meter('mq', `${prefix}.retried`),
    retryCounts: registry.histogram('mq', `${prefix}.retry-counts`),
    awaitingRetry: registry.counter('mq', `${prefix}.awaiting-retry`),
    discarded: registry.meter('mq', `${prefix}.discarded`),
    fatal: registry.meter('mq', `${prefix}.fatal`),
    ignored: registry.counter('mq', `${prefix}.ignored`),
    invalidated: registry.counter('mq', `${prefix}.invalidated`),
    depth: registry.counter('mq', `${prefix}.depth`),
    size: registry.histogram('mq', `${prefix}.size`),
    persistenceTime: registry.timer('mq', `${prefix}.message-persistence-time`),
  };
}

/** Storage timers that are the time of a whole command. */
const storageTimers: Readonly<Record<string, string>> = {
  'replace facts': 'replace-facts-time',
  'replace catalog': 'replace-catalog-time',
  'store report': 'store-report-time',
};

export class CommandMetrics {
  readonly #registry: MetricsRegistry;
  readonly #global: Family;
  readonly #families = new Map<string, Family>();
  /** Of which there are, or were, dead letters. */
  readonly #deadLetterCommands = new Set<string>();
  readonly #parseTime: Timer;
  readonly #concurrentDepth: Counter;
  readonly #newCatalogs: Counter;
  readonly #duplicateCatalogs: Counter;
  readonly #stages: Stages;
  readonly #writerWait: Timer;
  readonly #writerUsage: Histogram;

  constructor(registry: MetricsRegistry) {
    this.#registry = registry;
    this.#stages = registry.stages;
    this.#global = family(registry, ALL);
    this.#parseTime = registry.timer('mq', 'global.command-parse-time');
    this.#concurrentDepth = registry.counter('mq', 'global.concurrent-depth');
    this.#newCatalogs = registry.counter('storage', 'new-catalogs');
    this.#duplicateCatalogs = registry.counter('storage', 'duplicate-catalogs');
    this.#writerWait = registry.timer('database', 'PDBWritePool.pool.Wait');
    this.#writerUsage = registry.histogram('database', 'PDBWritePool.pool.Usage');
  }

  /** Events per second processed, over the last minute. */
  get processedRate(): number {
    return this.#global.processed.rates().oneMinuteRate;
  }

  get depth(): number {
    return this.#global.depth.count;
  }

  writing(by: 1 | -1): void {
    this.#concurrentDepth.inc(by);
  }

  /** A submission became durable. */
  persisted(named: Named, size: number, durationMs: number): void {
    this.#global.size.update(size);
    this.#global.persistenceTime.update(durationMs);
    this.#of(named)?.size.update(size);
  }

  /** A command entered the queue, or was found in it at the start. */
  entered(named: Named): void {
    this.#global.depth.inc();
    this.#of(named)?.depth.inc();
  }

  left(named: Named): void {
    this.#global.depth.dec();
    this.#of(named)?.depth.dec();
  }

  /** One of two waiting commands became obsolete; `queued`: the one that had been waiting, not the one that arrived. */
  superseded(named: Named, queued: boolean): void {
    for (const one of this.#both(named)) {
      one.invalidated.inc();
      if (queued) one.ignored.inc();
    }
  }

  /** The turn of an obsolete command came and it was dropped. */
  dropped(named: Named): void {
    for (const one of this.#both(named)) one.invalidated.dec();
  }

  /** A command was executed. `queuedMs`: from its arrival to now; `attempts`: earlier ones. */
  handled(named: Named, handled: Handled, queuedMs: number, attempts: number): void {
    const { outcome, duration, parse } = handled;
    if (parse !== null) {
      this.#parseTime.update(parse);
      this.#stages.parse.observe(parse);
    }
    if (outcome.kind === 'reroute') return;
    const validation = outcome.kind === 'failed' && outcome.validation;
    const waited = Math.max(0, queuedMs - duration);
    this.#stages.queue.observe(waited);
    // Where a command waits for another attempt it waits for no writer.
    if (attempts === 0) this.#writerWait.update(waited);
    this.#writerUsage.update(duration);
    if (!validation) this.#stages.apply.observe(duration - (parse ?? 0));
    for (const one of this.#both(named)) {
      one.queueTime.update(waited / 1000);
      if (validation) continue;
      one.seen.mark();
      one.processingTime.update(duration);
      one.retryCounts.update(attempts);
      if (outcome.kind === 'processed') one.processed.mark();
    }
    if (outcome.kind === 'processed') this.#stored(named, outcome, duration);
    else this.#failed(named, outcome);
  }

  /** The number of commands waiting for another attempt changed. */
  awaiting(named: Named, by: 1 | -1): void {
    for (const one of this.#both(named)) one.awaitingRetry.inc(by);
  }

  discarded(letter: Discarded): void {
    for (const one of this.#both(letter)) one.discarded.mark();
  }

  /** Adds to the counters of the dead letter office. */
  addDeadLetters(command: string, { messages, filesize }: Readonly<DeadLetterCount>): void {
    this.#deadLetterCommands.add(command);
    for (const of of [ALL, command]) {
      this.#deadLetterCounter(of, 'messages').inc(messages);
      this.#deadLetterCounter(of, 'filesize').inc(filesize);
    }
  }

  /** Sets them to what is there, by command. */
  setDeadLetters(counts: ReadonlyMap<string, DeadLetterCount>): void {
    for (const command of [ALL, ...this.#deadLetterCommands]) {
      this.#deadLetterCounter(command, 'messages').set(0);
      this.#deadLetterCounter(command, 'filesize').set(0);
    }
    for (const [command, count] of counts) this.addDeadLetters(command, count);
  }

  #deadLetterCounter(command: string, name: keyof DeadLetterCount): Counter {
    return this.#registry.counter('dlo', `${command}.${name}`);
  }

  timings(timings: readonly Timing[]): void {
    for (const { name, value } of timings) {
      if (name === 'commit') this.#stages.commit.observe(value);
      else if (name === 'catalog-volitilty') this.#registry.histogram('storage', name).update(value);
      else this.#registry.timer('storage', name).update(value);
    }
  }

  #stored(named: Named, outcome: ProcessedOutcome, duration: number): void {
    const name = storageTimers[named.command];
    if (name !== undefined) this.#registry.timer('storage', name).update(duration);
    if (outcome.detail !== 'stored') return;
    const isFirst = outcome.isFirst === true;
    if (isFirst && named.command === 'replace facts') this.#registry.timer('storage', 'new-fact-time').update(duration);
    if (named.command !== 'replace catalog') return;
    const same = outcome.unchanged === true;
    const how = isFirst ? 'new-catalog-time' : same ? 'catalog-hash-match-time' : 'catalog-hash-miss-time';
    this.#registry.timer('storage', how).update(duration);
    if (same) this.#duplicateCatalogs.inc();
    else this.#newCatalogs.inc();
  }

  #failed(named: Named, outcome: FailedOutcome): void {
    if (outcome.retryable) for (const one of this.#both(named)) one.retried.mark();
    else this.#global.fatal.mark();
  }

  #both(named: Named): Family[] {
    const own = this.#of(named);
    return own === null ? [this.#global] : [this.#global, own];
  }

  /** null: there are too many families already. */
  #of({ command, version }: Named): Family | null {
    const key = `${command}.${version}`;
    const known = this.#families.get(key);
    if (known !== undefined) return known;
    if (this.#families.size >= FAMILIES_MAX) return null;
    const created = family(this.#registry, key);
    this.#families.set(key, created);
    return created;
  }
}
