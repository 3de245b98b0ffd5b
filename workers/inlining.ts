// How much V8 puts into one function of what that calls, in bytes of bytecode. It is a matter of the whole process, and read at
// each compilation. With half of V8's default a burst of commands takes 6 to 14 % less processor time while its code is being
// compiled, and none more afterwards; queries, whose code is compiled by their warm-up, run faster with all of it (perf/README.md).

import { setFlagsFromString } from 'node:v8';

const FOR_COMMANDS = 460;
/** V8's default. */
const FOR_QUERIES = 920;

const inlineUpTo = (bytes: number): void => setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${bytes}`);

export const inlineForCommands = (): void => inlineUpTo(FOR_COMMANDS);
export const inlineForQueries = (): void => inlineUpTo(FOR_QUERIES);
