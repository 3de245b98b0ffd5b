// Samples of a stream of values, of which statistics are made: newer ones count for more. Exponentially decaying (1028 samples, alpha 0.015),
// so that the last five minutes are favoured (spec/operations.md 8.1).

/** Monotonic milliseconds. */
export type Clock = () => number;

const RESERVOIR_SIZE = 1028;
const RESERVOIR_ALPHA = 0.015;

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

/**
 * Forward-decaying sample: a sample of time t survives with a probability proportional to exp(alpha * t). Priorities are
 * kept as logarithms (alpha * t - ln u), so they never overflow and never need rescaling. The arrays form a min-heap by
 * priority; the smallest one leaves when a larger one arrives.
 */
export class Reservoir {
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
