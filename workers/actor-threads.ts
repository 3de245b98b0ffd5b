// Threads for actors: what they are made with, and some that come up before there is anything for them to do. A thread takes
// about as long to come up as the process does, so those of a server's start begin before most of its modules are loaded.

import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { inlineForCommands } from './inlining.ts';
import type { ToActor } from './messages.ts';
import { type ThreadScript, threadScript } from './thread-script.ts';

/** A decoded command is garbage a moment later: with this much room it hardly ever leaves the young generation. */
const YOUNG_GENERATION_MB = 40;

/**
 * How much a heap may grow between two full collections, in percent. V8 alone lets it more than double, in each thread. Measured
 * with four loads of 1,500 nodes: 40 took 30 MB less memory and 5 % more processor time, 200 took 60 MB more and saved nothing.
 */
const HEAP_GROWTH_PERCENT = 100;

export class ActorThreads {
  readonly #script: ThreadScript;
  readonly #ahead: Worker[] = [];

  /** Other scripts than the default are for tests. */
  constructor(script = threadScript('actor-thread', import.meta.url)) {
    this.#script = script;
    // Of the whole process, and read by each heap when it is made: the query threads', too, which come later.
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
    // Lists that outlived a young collection once would be made in the old generation from then on, and, dead there, keep alive all
    // that they refer to until the next full collection.
    setFlagsFromString('--no-allocation-site-pretenuring');
    inlineForCommands();
  }

  /** Starts `count` threads that nobody has asked for yet. They do not keep the process alive. */
  begin(count: number): void {
    for (let index = 0; index < count; index++) {
      const worker = this.#start(index);
      worker.unref();
      // One that fails before it is taken is of no use; the next one is started, and fails, when it is.
      worker.on('error', () => {}).on('exit', () => this.#drop(worker));
      this.#ahead.push(worker);
    }
  }

  /** Threads that have begun and have not been taken. */
  get ready(): number {
    return this.#ahead.length;
  }

  /** A thread that waits for its `begin`. Nobody listens to it yet. */
  take(index: number): Worker {
    const worker = this.#ahead.shift();
    if (worker === undefined) return this.#start(index);
    worker.removeAllListeners('error').removeAllListeners('exit');
    worker.ref();
    return worker;
  }

  /** Lets the threads go that nobody has taken. They leave by themselves, as one that is ended while it loads native code may take the process with it. */
  end(): void {
    const message: ToActor = { kind: 'stop' };
    for (const worker of this.#ahead.splice(0)) {
      worker.ref();
      worker.postMessage(message);
    }
  }

  #start(index: number): Worker {
    const { url, execArgv } = this.#script;
    return new Worker(url, {
      name: `muster-actor-${index}`,
      ...(execArgv === undefined ? {} : { execArgv }),
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
  }

  #drop(worker: Worker): void {
    const at = this.#ahead.indexOf(worker);
    if (at >= 0) this.#ahead.splice(at, 1);
  }
}
