// After runs that ended soon and not in order, what waits is tried one after the other over all partitions, and noted meanwhile: so the next
// process knows what this one died of. First what was in the log, batch by batch; then what partitions hold, command by command.

import { SETTLED_MS } from './run-marker.ts';
import type { Flight, Slot } from './slot.ts';
import type { Suspects } from './suspects.ts';

interface TrialsOptions {
  readonly suspects: Pick<Suspects, 'saveTrying' | 'saveTried'>;
  /** What waits may be what earlier processes died of. */
  readonly isFeared: boolean;
  /** Monotonic ms. */
  readonly clock: () => number;
  /** Whether held commands may be tried, as far as the log is concerned. */
  readonly mayTryHeld: () => boolean;
  /** The next trial may begin: in any partition (null), or in any but that one. */
  readonly onEnd: (except: Slot | null) => void;
}

/** A batch, or the seq of a command that a partition holds. */
type Tried = Flight | number;

export class Trials {
  readonly #options: TrialsOptions;
  readonly #settledAt: number;
  #now: { readonly slots: readonly Slot[]; readonly what: Tried } | null = null;

  constructor(options: TrialsOptions) {
    this.#options = options;
    this.#settledAt = options.clock() + SETTLED_MS;
  }

  /** Whether what was in the log when the process began is feared. */
  get isFeared(): boolean {
    return this.#options.isFeared;
  }

  /**
   * Whether what is held is feared: until this run has lasted so long that its end would say nothing against it. Not for good, as held commands
   * come and go, and each trial holds up all others.
   */
  get isHeldFeared(): boolean {
    return this.isFeared && this.#options.clock() < this.#settledAt;
  }

  /** Something is being tried. */
  get isBusy(): boolean {
    return this.#now !== null;
  }

  /** Whether a command that is held may be tried now. */
  get mayTryHeld(): boolean {
    return !this.isBusy && this.#options.mayTryHeld();
  }

  /** A batch of the log, with the commands in it. Only while nothing else is tried. */
  begin(slot: Slot, flight: Flight, seqs: readonly number[]): void {
    if (this.isFeared) this.#begin([slot], flight, seqs);
  }

  /** A held command. `slots`: the partition that tries it, and others that it hangs on. Only while nothing else is tried. */
  beginHeld(slots: readonly [Slot, ...Slot[]], seq: number): void {
    if (this.isHeldFeared) this.#begin(slots, seq, [seq]);
  }

  #begin(slots: readonly [Slot, ...Slot[]], what: Tried, seqs: readonly number[]): void {
    this.#now = { slots, what };
    this.#options.suspects.saveTrying(slots[0].slot, seqs);
  }

  /** It is back, was lost with its actor, or hangs on its partition. */
  end(what: Tried): void {
    if (this.#now?.what === what) this.#end(typeof what === 'number' ? null : this.#now.slots[0]!);
  }

  /** The same for a held command that hangs on the partition. */
  endHeld(slot: Slot): void {
    if (typeof this.#now?.what === 'number' && this.#now.slots.includes(slot)) this.#end(null);
  }

  /** The run ends in order. */
  close(): void {
    if (this.isFeared) this.#options.suspects.saveTried();
  }

  #end(except: Slot | null): void {
    this.#now = null;
    this.#options.suspects.saveTried();
    this.#options.onEnd(except);
  }
}
