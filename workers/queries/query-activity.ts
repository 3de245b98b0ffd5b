// What query threads know of each other and of commands: how many queries are at work in the pool, whether some came meanwhile, who is
// first, and how many commands wait. The main thread writes it, as it alone learns of every end, also of that of a thread.

const RUNNING = 0;
const BEGUN = 1;
const FIRST = 2;
const COMMANDS = 3;
const NUMBERS = 4;

/** In memory that all threads share. */
export class QueryActivity {
  readonly #numbers: Int32Array;

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(NUMBERS * 4)) {
    this.#numbers = new Int32Array(shared);
  }

  get shared(): SharedArrayBuffer {
    return this.#numbers.buffer as SharedArrayBuffer;
  }

  /** Queries that are at work in any thread; those that wait for their clients do not count. */
  get running(): number {
    return Atomics.load(this.#numbers, RUNNING);
  }

  /** So many have begun so far, modulo 2^32. */
  get begun(): number {
    return Atomics.load(this.#numbers, BEGUN);
  }

  began(): void {
    Atomics.add(this.#numbers, BEGUN, 1);
    Atomics.add(this.#numbers, RUNNING, 1);
  }

  /** One has ended, or waits for its client from now on. */
  rested(): void {
    Atomics.sub(this.#numbers, RUNNING, 1);
  }

  /** The client of one that waited has taken something. */
  resumed(): void {
    Atomics.add(this.#numbers, RUNNING, 1);
  }

  /** The thread with the lowest number, which gets the queries that come one after the other; 0 before one has come up. */
  get first(): number {
    return Atomics.load(this.#numbers, FIRST);
  }

  set first(thread: number) {
    Atomics.store(this.#numbers, FIRST, thread);
  }

  /** Commands that wait or are being applied. */
  get commandsWaiting(): number {
    return Atomics.load(this.#numbers, COMMANDS);
  }

  set commandsWaiting(count: number) {
    Atomics.store(this.#numbers, COMMANDS, count);
  }
}
