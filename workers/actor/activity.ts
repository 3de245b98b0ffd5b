// What an actor thread is doing right now, in shared memory: the main thread reads it after the thread died (to know which
// command it died on) and while it lives (to notice one that hangs).
//
// It also keeps a thread from being ended while it uses the store. In the middle of a write transaction LMDB's lock is the
// process's, so nobody could write that partition again before the process ends; and between two calls of lmdb the second
// one ends the process. The thread raises `held` before it looks at `ending`, the main thread raises `ending` before it looks
// at `held`; so either the thread sees that it must leave before it begins, or the main thread sees that it must wait.

type ActivityKind = 'idle' | 'batch' | 'retry' | 'sweep' | 'open';

const KINDS: readonly ActivityKind[] = ['idle', 'batch', 'retry', 'sweep', 'open'];

const KIND = 0;
const SLOT = 1;
const ID = 2;
const COUNT = 3;
const THREAD = 4;
const FIELDS = 5;

const HELD = 0;
const ENDING = 1;
const FLAGS = 2;

export interface Activity {
  readonly kind: ActivityKind;
  readonly slot: number;
  /** Batch id, seq of a retried command, or id of a sweep. */
  readonly id: number;
  /** Goes up whenever something begins. */
  readonly count: number;
}

export class ActivityMark {
  readonly buffer: SharedArrayBuffer;
  readonly #fields: Float64Array;
  readonly #flags: Int32Array;
  #isHeld = false;

  constructor(buffer = new SharedArrayBuffer(FIELDS * 8 + FLAGS * 4)) {
    this.buffer = buffer;
    this.#fields = new Float64Array(buffer, 0, FIELDS);
    this.#flags = new Int32Array(buffer, FIELDS * 8, FLAGS);
  }

  // ------------------------------------------------------------------ the actor's side

  /** Tells which thread this is about, by the system's number. */
  setThread(thread: number): void {
    this.#fields[THREAD] = thread;
  }

  begin(kind: ActivityKind, slot: number, id: number): void {
    const fields = this.#fields;
    fields[SLOT] = slot;
    fields[ID] = id;
    fields[COUNT] = fields[COUNT]! + 1;
    fields[KIND] = KINDS.indexOf(kind);
  }

  end(): void {
    this.#fields[KIND] = 0;
  }

  /** Does a piece of work that must not be interrupted. Ends the thread instead when it has been asked to go. */
  holding<T>(work: () => T): T {
    if (this.#isHeld) return work();
    Atomics.store(this.#flags, HELD, 1);
    if (Atomics.load(this.#flags, ENDING) === 1) {
      Atomics.store(this.#flags, HELD, 0);
      process.exit(1);
    }
    this.#isHeld = true;
    try {
      return work();
    } finally {
      this.#isHeld = false;
      Atomics.store(this.#flags, HELD, 0);
    }
  }

  // ------------------------------------------------------------------ the main thread's side

  /** From now on the thread begins nothing that holds it. true: nothing does now either, and it may be ended. */
  askToEnd(): boolean {
    Atomics.store(this.#flags, ENDING, 1);
    return !this.isHeld;
  }

  /** Whether something holds the thread. */
  get isHeld(): boolean {
    return Atomics.load(this.#flags, HELD) === 1;
  }

  /** The system's number of the thread; 0 while that is not known. */
  get thread(): number {
    return this.#fields[THREAD]!;
  }

  read(): Activity {
    const fields = this.#fields;
    return { kind: KINDS[fields[KIND]!]!, slot: fields[SLOT]!, id: fields[ID]!, count: fields[COUNT]! };
  }
}
