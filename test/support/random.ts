// Randomness that can be had again: tests print the seed they run with and take one from the environment.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whole number in [0, end). */
  below(end: number): number {
    return Math.floor(this.unit() * end);
  }

  /** Whole number, bounds included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** Another source that does not depend on how much this one has given out later. */
  fork(): Random {
    return new Random(this.below(2 ** 32));
  }
}

/** The seed of this run: `MUSTER_SEED`, or a fresh one. Always printed. */
export function testSeed(name: string): number {
  const given = process.env['MUSTER_SEED'];
  const seed = given === undefined ? Date.now() % 2 ** 31 : Number.parseInt(given, 10);
  console.log(`# ${name}: seed ${seed} (MUSTER_SEED=${seed} runs it again)`);
  return seed;
}

/** A positive number from the environment, for long runs. */
export function testNumber(variable: string, otherwise: number): number {
  const given = Number(process.env[variable]);
  return Number.isFinite(given) && given > 0 ? given : otherwise;
}
