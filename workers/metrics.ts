// Counters, meters, histograms, timers and gauges, and the registry that names them by (domain, name), for example
// ('mq', 'global.seen'). Pure bookkeeping of one thread: nothing here knows commands, queries or how a metric is shown.
// Rates are exponentially weighted with a five-second tick; reservoirs decay exponentially (1028 samples, alpha 0.015)
// and so favour the last five minutes (spec/operations.md 8.1). Time comes from a monotonic clock in milliseconds.

import { createStages, type Stages } from './stages.ts';

export type Clock = () => number;

const monotonic: Clock = () => performance.now();

const TICK_MS = 5000;
/** Beyond this many missed ticks a rate has decayed below any double worth showing. */
const TICKS_MAX = 100_000;
const DECAY_ONE_MINUTE = 1 - Math.exp(-5 / 60);
const DECAY_FIVE_MINUTES = 1 - Math.exp(-5 / 300);
const DECAY_FIFTEEN_MINUTES = 1 - Math.exp(-5 / 900);

const RESERVOIR_SIZE = 1028;
const RESERVOIR_ALPHA = 0.015;

/** Events per second, four ways. */
export interface Rates {
  readonly count: number;
  readonly meanRate: number;
  readonly oneMinuteRate: number;
  readonly fiveMinuteRate: number;
  readonly fifteenMinuteRate: number;
}

/** Weighted statistics of what the reservoir holds; all zero while it is empty. */
export interface Distribution {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stdDev: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
  readonly p98: number;
  readonly p99: number;
  readonly p999: number;
  /** Number of samples the figures are made of. */
  readonly size: number;
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

/**
 * Forward-decaying sample: a sample of time t survives with a probability proportional to exp(alpha * t). Priorities are
 * kept as logarithms (alpha * t - ln u), so they never overflow and never need rescaling. The arrays form a min-heap by
 * priority; the smallest one leaves when a larger one arrives.
 */
class Reservoir {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #start: number;
  readonly #priority = new Float64Array(RESERVOIR_SIZE);
  readonly #value = new Float64Array(RESERVOIR_SIZE);
  readonly #seconds = new Float64Array(RESERVOIR_SIZE);
  #size = 0;
  /** Places by their values, which is most of the work for the figures; null since a sample came. */
  #order: Uint16Array | null = null;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
    this.#start = clock();
  }

  add(value: number): void {
    const seconds = (this.#clock() - this.#start) / 1000;
    const priority = RESERVOIR_ALPHA * seconds - Math.log(1 - this.#random());
    if (this.#size === RESERVOIR_SIZE && priority <= this.#priority[0]!) return;
    this.#order = null;
    if (this.#size < RESERVOIR_SIZE) this.#siftUp(this.#size++, priority, value, seconds);
    else this.#siftDown(priority, value, seconds);
  }

  /** Of samples that are no older than `ageMax` seconds. */
  distribution(ageMax: number): Distribution {
    const values = this.#value;
    this.#order ??= Uint16Array.from({ length: this.#size }, (_, i) => i).sort((a, b) => values[a]! - values[b]!);
    const now = (this.#clock() - this.#start) / 1000;
    const order =
      ageMax === Number.POSITIVE_INFINITY
        ? this.#order
        : this.#order.filter((place) => now - this.#seconds[place]! <= ageMax);
    const size = order.length;
    if (size === 0) {
      return { min: 0, max: 0, mean: 0, stdDev: 0, p50: 0, p75: 0, p95: 0, p98: 0, p99: 0, p999: 0, size: 0 };
    }
    const weights = new Float64Array(size);
    let total = 0;
    for (let i = 0; i < size; i++) {
      // The floor keeps a reservoir that nobody fed for hours from dividing by zero.
      const weight = Math.max(
        Math.exp(RESERVOIR_ALPHA * (this.#seconds[order[i]!]! - now)),
        Number.MIN_VALUE * 2 ** 60,
      );
      weights[i] = weight;
      total += weight;
    }
    let mean = 0;
    for (let i = 0; i < size; i++) mean += (weights[i]! / total) * values[order[i]!]!;
    let variance = 0;
    for (let i = 0; i < size; i++) variance += (weights[i]! / total) * (values[order[i]!]! - mean) ** 2;
    const quantile = (share: number): number => {
      let below = 0;
      let index = 0;
      while (index < size - 1) {
        below += weights[index]! / total;
        if (below > share) break;
        index++;
      }
      return values[order[index]!]!;
    };
    return {
      min: values[order[0]!]!,
      max: values[order[size - 1]!]!,
      mean,
      stdDev: Math.sqrt(variance),
      p50: quantile(0.5),
      p75: quantile(0.75),
      p95: quantile(0.95),
      p98: quantile(0.98),
      p99: quantile(0.99),
      p999: quantile(0.999),
      size,
    };
  }

  #siftUp(start: number, priority: number, value: number, seconds: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#priority[parent]! <= priority) break;
      this.#move(parent, index);
      index = parent;
    }
    this.#place(index, priority, value, seconds);
  }

  #siftDown(priority: number, value: number, seconds: number): void {
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= RESERVOIR_SIZE) break;
      if (child + 1 < RESERVOIR_SIZE && this.#priority[child + 1]! < this.#priority[child]!) child++;
      if (this.#priority[child]! >= priority) break;
      this.#move(child, index);
      index = child;
    }
    this.#place(index, priority, value, seconds);
  }

  #move(source: number, target: number): void {
    this.#priority[target] = this.#priority[source]!;
    this.#value[target] = this.#value[source]!;
    this.#seconds[target] = this.#seconds[source]!;
  }

  #place(index: number, priority: number, value: number, seconds: number): void {
    this.#priority[index] = priority;
    this.#value[index] = value;
    this.#seconds[index] = seconds;
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
