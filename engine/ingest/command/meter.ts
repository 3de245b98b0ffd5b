// How long parts of a command's way take, for the timers that PuppetDB has of them. The engine has no clock of its own: the
// thread that runs it lends it one. Without a clock nothing is measured.

/** Timers of the storage group (spec/operations.md 8.4), and one histogram: resources that a catalog changed. */
export type Part = 'resource-hashes' | 'catalog-hash' | 'add-resources' | 'add-edges' | 'catalog-volitilty';

export interface Meter {
  /** Monotonic milliseconds. */
  now(): number;
  /** Milliseconds of a timer's part, a count of the histogram's. */
  took(part: Part, value: number): void;
}

/** Of this thread: an engine runs in one, and knows nothing of others. */
let meter: Meter | null = null;

/** What is measured from now on goes there; null: nothing is. */
export function measureWith(given: Meter | null): void {
  meter = given;
}

/** Does the work, and tells how long it took unless it throws. */
export function measured<T>(part: Part, work: () => T): T {
  if (meter === null) return work();
  const start = meter.now();
  const result = work();
  meter.took(part, meter.now() - start);
  return result;
}

export function counted(part: Part, count: number): void {
  meter?.took(part, count);
}
