// Runs the whole suite: build, then every test file under node:test through tsx, a bounded number at a time. Arguments are
// passed on as file filters: `npm test -- test/engine/query`.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = new URL('..', import.meta.url).pathname;
const run = (command, args) => spawnSync(command, args, { cwd: root, stdio: 'inherit' }).status ?? 1;

function testFiles(dir) {
  return readdirSync(join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = `${dir}/${entry.name}`;
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

for (const step of [['node_modules/typescript/bin/tsc', '-b'], ['server/bundle.mjs']]) {
  const built = run('node', step);
  if (built !== 0) process.exit(built);
}
const wanted = process.argv.slice(2);
const files = testFiles('test').filter((file) => wanted.length === 0 || wanted.some((w) => file.includes(w)));
if (files.length === 0) {
  console.error(`no test file matches ${wanted.join(' ')}`);
  process.exit(2);
}
process.exit(run('node', ['--import', 'tsx', '--test', '--test-concurrency=2', '--test-reporter=spec', ...files]));
