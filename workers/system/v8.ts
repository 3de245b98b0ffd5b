// How V8 is set, which is a matter of the whole process: its heaps, who collects them, and how much it puts into one function of
// what that calls.

import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/**
 * How much a heap may grow between two full collections, in percent. V8 alone lets it more than double, in each thread. Measured
 * with four loads of 1,500 nodes: 40 took 30 MB less memory and 5 % more processor time, 200 took 60 MB more and saved nothing.
 */
const HEAP_GROWTH_PERCENT = 100;

/** Threads that help V8 with collections and compilations, as Node starts them on every machine. */
const V8_HELPERS = 4;

/** To be called before threads start, as each heap reads this when it is made; again does no harm. */
export function setV8(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // Lists that outlived a young collection once would be made in the old generation from then on, and, dead there, keep alive all
  // that they refer to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Threads ask for collections of theirs (heap-at-rest.ts).
  setFlagsFromString('--expose-gc');
  if (availableParallelism() <= V8_HELPERS) collectWithLessHelp();
  inlineForCommands();
}

/**
 * Where all processors are busy, a thread that shares its collection with helpers waits until each of them has had its turn: changed
 * commands and reports took a tenth to a sixth more processor time (perf/history.md).
 */
function collectWithLessHelp(): void {
  setFlagsFromString('--no-parallel-scavenge');
  setFlagsFromString('--concurrent-marking-max-worker-num=1');
}

/**
 * Bytes of bytecode, read at each compilation. With half of V8's default a burst of commands takes 6 to 14 % less processor
 * time while its code is being compiled, and none more afterwards; queries, whose code is compiled by their warm-up, run faster
 * with all of it (perf/history.md).
 */
const FOR_COMMANDS = 460;
/** V8's default. */
const FOR_QUERIES = 920;

const inlineUpTo = (bytes: number): void => setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${bytes}`);

export const inlineForCommands = (): void => inlineUpTo(FOR_COMMANDS);
export const inlineForQueries = (): void => inlineUpTo(FOR_QUERIES);
