// Runs the whole suite: build, then every test file under node:test, a bounded number at a time. Each file is joined with what it imports first, and
// threads run what was built, as both start sooner; a file runs through tsx as well. Arguments are passed on as file filters:
// `npm test -- test/engine/query`. A file of the whole suite that does not end fails by itself when its time is up; chosen ones may be long runs and
// take what they need.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { joinedAs, joinTests } from './support/join-tests.mjs';

const root = new URL('..', import.meta.url).pathname;
/** The program that runs; who ends this process ends it, too. */
let running = null;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => running?.kill('SIGTERM'));

async function run(command, args) {
  running = spawn(command, args, { cwd: root, stdio: 'inherit' });
  const [status] = await once(running, 'exit');
  return status ?? 1;
}

function filesBelow(dir) {
  return readdirSync(join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = `${dir}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** A third of the time tests wait, for servers, timers and the disk: on the two cores of CI one more than cores takes a third less time (14.6 and 9.6 minutes). */
const AT_ONCE = 3;
/** They come first: the last one would run alone, on one core. `node --test` runs files by their names. */
const LONGEST = [
  'conformance/',
  'contract/hostile',
  'engine/query/model/',
  'integration/puppet.',
  'perf/programs',
  'server/cli/data',
  'server/cli/start',
  'simulation/',
  'workers/queries/query-pool',
  'workers/ring/ring.',
];
/** Scripts that tests start as threads or processes. */
const STARTED = /(-thread|-child|\/stub-[^/]+)\.ts$/;
/** Many times what the longest file takes on two busy cores. */
const FILE_MAX_MS = 900_000;

process.env['THREADS_OF_SOURCES'] = 'built';
const built = await run('npm', ['run', '--silent', 'build']);
if (built !== 0) process.exit(built);
const wanted = process.argv.slice(2);
const all = filesBelow('test');
const files = all.filter(
  (file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((w) => file.includes(w))),
);
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(' ')}`);
  process.exit(2);
}
const longFirst = (file) => (LONGEST.some((long) => file.startsWith(`test/${long}`)) ? 0 : 1);
files.sort((a, b) => longFirst(a) - longFirst(b));
await joinTests(root, [...files, ...all.filter((file) => STARTED.test(file))]);
const timeout = wanted.length === 0 ? FILE_MAX_MS : 0;
process.exit(
  await run('node', [
    '--enable-source-maps',
    '--import',
    './test/support/plain-assertions.mjs',
    'test/support/run-files.mjs',
    `${AT_ONCE}`,
    `${timeout}`,
    ...files.map(joinedAs),
  ]),
);
