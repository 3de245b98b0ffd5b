// Counters, meters, histograms, timers and gauges, and the registry that names them by (domain, name), for example
// ('mq', 'global.seen'). Pure bookkeeping of one thread: nothing here knows commands, queries or how a metric is shown.
// Rates are exponentially weighted with a five-second tick (spec/operations.md 8.1). Time comes from a monotonic clock in milliseconds.

import { type Clock, type Distribution, Reservoir } from './reservoir.ts';
import { createStages, type Stages } from './stages.ts';

const monotonic: Clock = () => performance.now();

const TICK_MS = 5000;
/** Beyond this many missed ticks a rate has decayed below any double worth showing. */
const TICKS_MAX = 100_000;
const DECAY_ONE_MINUTE = 1 - Math.exp(-5 / 60);
const DECAY_FIVE_MINUTES = 1 - Math.exp(-5 / 300);
const DECAY_FIFTEEN_MINUTES = 1 - Math.exp(-5 / 900);

/** Events per second, four ways. */
export interface Rates {
  readonly count: number;
  readonly meanRate: number;
  readonly oneMinuteRate: number;
  readonly fiveMinuteRate: number;
  readonly fifteenMinuteRate: number;
}

export interface HistogramSnapshot extends Distribution {
  readonly count: number;
}

/** Distribution in milliseconds. */
export interface TimerSnapshot extends Rates, Distribution {}

export class Counter {
  #count = 0;

  inc(by = 1): void {
    this.#count += by;
  }

  dec(): void {
    this.#count--;
  }

  set(count: number): void {
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }
}

/** A value computed when somebody looks. The function may throw: the reader decides what that means. */
export class Gauge {
  readonly #read: () => unknown;

  constructor(read: () => unknown) {
    this.#read = read;
  }

  get value(): unknown {
    return this.#read();
  }
}

export class Meter {
  readonly #clock: Clock;
  readonly #start: number;
  #lastTick: number;
  #count = 0;
  #uncounted = 0;
  #primed = false;
  #one = 0;
  #five = 0;
  #fifteen = 0;

  constructor(clock: Clock = monotonic) {
    this.#clock = clock;
    this.#start = clock();
    this.#lastTick = this.#start;
  }

  mark(by = 1): void {
    this.#tick(this.#clock());
    this.#count += by;
    this.#uncounted += by;
  }

  get count(): number {
    return this.#count;
  }

  rates(): Rates {
    const now = this.#clock();
    this.#tick(now);
    const elapsed = now - this.#start;
    return {
      count: this.#count,
      meanRate: this.#count === 0 || elapsed <= 0 ? 0 : (this.#count / elapsed) * 1000,
      oneMinuteRate: this.#one,
      fiveMinuteRate: this.#five,
      fifteenMinuteRate: this.#fifteen,
    };
  }

  /** Catches up with the ticks since the last call: the first takes what was counted, the others decay. */
  #tick(now: number): void {
    const due = Math.floor((now - this.#lastTick) / TICK_MS);
    if (due <= 0) return;
    this.#lastTick += due * TICK_MS;
    const rate = (this.#uncounted / TICK_MS) * 1000;
    this.#uncounted = 0;
    if (this.#primed) {
      this.#one += DECAY_ONE_MINUTE * (rate - this.#one);
      this.#five += DECAY_FIVE_MINUTES * (rate - this.#five);
      this.#fifteen += DECAY_FIFTEEN_MINUTES * (rate - this.#fifteen);
    } else {
      this.#primed = true;
      this.#one = rate;
      this.#five = rate;
      this.#fifteen = rate;
    }
    const idle = Math.min(due - 1, TICKS_MAX);
    if (idle === 0) return;
    this.#one *= (1 - DECAY_ONE_MINUTE) ** idle;
    this.#five *= (1 - DECAY_FIVE_MINUTES) ** idle;
    this.#fifteen *= (1 - DECAY_FIFTEEN_MINUTES) ** idle;
  }
}

export class Histogram {
  readonly #reservoir: Reservoir;
  #count = 0;
  #sum = 0;

  constructor(clock: Clock = monotonic, random: () => number = Math.random) {
    this.#reservoir = new Reservoir(clock, random);
  }

  update(value: number): void {
    this.#count++;
    this.#sum += value;
    this.#reservoir.add(value);
  }

  get count(): number {
    return this.#count;
  }

  /** Of all values there ever were. */
  get sum(): number {
    return this.#sum;
  }

  /** Of values that are no older than `ageMax` seconds: newer ones push older ones out, and where none come they stay. */
  distribution(ageMax = Number.POSITIVE_INFINITY): Distribution {
    return this.#reservoir.distribution(ageMax);
  }

  snapshot(): HistogramSnapshot {
    return { count: this.#count, ...this.distribution() };
  }
}

/** How often and how long. Durations are milliseconds. */
export class Timer {
  readonly #meter: Meter;
  readonly #histogram: Histogram;

  constructor(clock: Clock = monotonic, random: () => number = Math.random) {
    this.#meter = new Meter(clock);
    this.#histogram = new Histogram(clock, random);
  }

  update(durationMs: number): void {
    this.#meter.mark();
    this.#histogram.update(durationMs);
  }

  get count(): number {
    return this.#meter.count;
  }

  /** Milliseconds, all durations together. */
  get sum(): number {
    return this.#histogram.sum;
  }

  /** In milliseconds, of durations that are no older than `ageMax` seconds. */
  distribution(ageMax = Number.POSITIVE_INFINITY): Distribution {
    return this.#histogram.distribution(ageMax);
  }

  snapshot(): TimerSnapshot {
    return { ...this.#meter.rates(), ...this.distribution() };
  }
}

export type Metric = Counter | Gauge | Meter | Histogram | Timer;

export interface NamedMetric {
  readonly domain: string;
  readonly name: string;
  readonly metric: Metric;
}

type MetricClass<M extends Metric> = abstract new (...args: never[]) => M;

/**
 * All metrics of the process. The accessors create on first use and return the same object ever after, so callers on hot
 * paths keep what they got. A name used for two kinds is a defect of the caller and throws.
 */
export class MetricsRegistry {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #domains = new Map<string, Map<string, Metric>>();
  /** Beside the named metrics, which are PuppetDB's: not shown as beans. */
  readonly stages: Stages = createStages();

  constructor(options: { clock?: Clock; random?: () => number } = {}) {
    this.#clock = options.clock ?? monotonic;
    this.#random = options.random ?? Math.random;
  }

  counter(domain: string, name: string): Counter {
    return this.#find(domain, name, Counter) ?? this.#add(domain, name, new Counter());
  }

  meter(domain: string, name: string): Meter {
    return this.#find(domain, name, Meter) ?? this.#add(domain, name, new Meter(this.#clock));
  }

  histogram(domain: string, name: string): Histogram {
    return this.#find(domain, name, Histogram) ?? this.#add(domain, name, new Histogram(this.#clock, this.#random));
  }

  timer(domain: string, name: string): Timer {
    return this.#find(domain, name, Timer) ?? this.#add(domain, name, new Timer(this.#clock, this.#random));
  }

  /** Replaces an earlier gauge of that name: its owner may have been restarted. */
  gauge(domain: string, name: string, read: () => unknown): Gauge {
    this.#find(domain, name, Gauge);
    return this.#add(domain, name, new Gauge(read));
  }

  get(domain: string, name: string): Metric | undefined {
    return this.#domains.get(domain)?.get(name);
  }

  /** Every metric, without computing any figure. */
  *entries(): IterableIterator<NamedMetric> {
    for (const [domain, metrics] of this.#domains) {
      for (const [name, metric] of metrics) yield { domain, name, metric };
    }
  }

  #find<M extends Metric>(domain: string, name: string, type: MetricClass<M>): M | undefined {
    const found = this.#domains.get(domain)?.get(name);
    if (found === undefined) return undefined;
    if (!(found instanceof type)) throw new TypeError(`metric ${domain}:${name} is not a ${type.name.toLowerCase()}`);
    return found;
  }

  #add<M extends Metric>(domain: string, name: string, metric: M): M {
    let metrics = this.#domains.get(domain);
    if (metrics === undefined) this.#domains.set(domain, (metrics = new Map()));
    metrics.set(name, metric);
    return metric;
  }
}
