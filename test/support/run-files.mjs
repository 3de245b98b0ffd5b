// Runs test files in the order in which they are given, each in a process with the options of this one: `run-files.mjs AT_ONCE TIMEOUT_MS
// FILE...`; without a limit if the timeout is 0. Exit status 1 when a test fails.

import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [atOnce, timeout, ...files] = process.argv.slice(2);
run({ files, concurrency: Number(atOnce), ...(timeout === '0' ? {} : { timeout: Number(timeout) }) })
  .on('test:fail', () => {
    process.exitCode = 1;
  })
  .compose(new spec())
  .pipe(process.stdout);
