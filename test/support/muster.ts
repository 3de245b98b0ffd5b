// The program as it is shipped, for tests that start it: what `npm run build` made.

import { fileURLToPath } from 'node:url';

/** Path of a script for Node. */
export const muster = fileURLToPath(new URL('../../bin/muster', import.meta.url));
