// Randomness that repeats: every figure of a generated fleet is a function of the seed and of what it is for, so any run of
// any node can be made again without making the others.

/** 32-bit mix of the numbers (murmur-style finalizer). */
function mix(...numbers: number[]): number {
  let h = 0x9e3779b9;
  for (const n of numbers) {
    h = Math.imul(h ^ (n >>> 0), 0x85ebca6b);
    h ^= h >>> 13;
    h = Math.imul(h, 0xc2b2ae35);
    h ^= h >>> 16;
  }
  return h >>> 0;
}

/** A stream of numbers that depends on its keys only. */
export class Random {
  #state: number;

  constructor(...keys: number[]) {
    this.#state = mix(...keys) || 1;
  }

  /** Integer in [0, bound). */
  below(bound: number): number {
    return Math.floor(this.unit() * bound);
  }

  /** Number in [0, 1). */
  unit(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return this.#state / 0x1_0000_0000;
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  hex(digits: number): string {
    let out = '';
    while (out.length < digits) out += this.below(0x1000000).toString(16).padStart(6, '0');
    return out.slice(0, digits);
  }

  uuid(): string {
    const h = this.hex(32);
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-a${h.slice(17, 20)}-${h.slice(20, 32)}`;
  }
}
