// Instances of a module that serve one query or command at a time: those that nobody uses are kept for later.

import { whereThereIsRoom } from './instance.ts';

/** Larger memory is not kept. */
const KEPT_BYTES_MAX = 4 << 20;

export class KernelPool<K> {
  readonly #make: () => K;
  readonly #count: number;
  readonly #kernels: K[] = [];

  /** `count`: how many are kept while nobody uses them: as many as a thread's queries, or commands, are to have at once without making one. */
  constructor(make: () => K, count: number) {
    this.#make = make;
    this.#count = count;
  }

  /** What `begin` makes of a kernel that is nobody else's now; null where there is no WebAssembly, or no memory for it. */
  take<T>(begin: (kernel: K) => T): T | null {
    return whereThereIsRoom(() => begin(this.#kernels.pop() ?? this.#make()));
  }

  /** Whoever took the kernel needs it no more. One that is never given back is collected. `bytes`: the size of its memory. */
  give(kernel: K, bytes: number): void {
    if (bytes <= KEPT_BYTES_MAX && this.#kernels.length < this.#count) this.#kernels.push(kernel);
  }
}
