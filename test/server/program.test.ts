// The built program's scripts, and the bytecode beside them.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isal } from '../../server/http/gzip/isal.ts';
import { libdeflate } from '../../workers/system/libdeflate.ts';
import { temporaryDirectory } from '../support/directories.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const node = (...args: string[]): string => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });

const program = join(root, 'dist/program');
const names = ['actor-thread', 'check-process', 'main', 'query-thread'];

/** Names of the scripts whose bytecode V8 takes once `set` has set it. */
function taken(set: string): string[] {
  const code = `const { scriptOf } = require(${JSON.stringify(join(program, 'load.js'))});
    const isTaken = (name) => scriptOf(${JSON.stringify(program)}, name).script.cachedDataRejected === false;
    const tell = () => console.log(JSON.stringify(${JSON.stringify(names)}.filter(isTaken)));
    ${set}`;
  return JSON.parse(node('-e', code)) as string[];
}

test('program: V8 takes the bytecode of each script as it is set when that is loaded, and otherwise none', () => {
  const ours = JSON.stringify(join(root, 'dist/workers/system/v8.js'));
  assert.deepEqual(taken('tell();'), ['check-process', 'main']);
  assert.deepEqual(taken(`import(${ours}).then(({ setV8 }) => { setV8(); tell(); });`), [
    'actor-thread',
    'query-thread',
  ]);
  assert.deepEqual(taken(`require('node:v8').setFlagsFromString('--no-opt'); tell();`), []);
});

/** As an installation in another folder has it. */
function copied(): { readonly dir: string; readonly copy: string } {
  const dir = temporaryDirectory();
  const copy = join(dir, 'dist/program');
  cpSync(program, copy, { recursive: true });
  cpSync(join(root, 'package.json'), join(dir, 'package.json'));
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  return { dir, copy };
}

test('program: stack traces tell no folder, neither that of the build nor that of the installation', () => {
  const { dir, copy } = copied();
  writeFileSync(join(dir, 'no-directory'), '');
  const args = ['start', '--data', join(dir, 'no-directory'), '--http', '127.0.0.1:0'];
  const { status, stderr } = spawnSync(process.execPath, [join(copy, 'main.js'), ...args], { encoding: 'utf8' });
  assert.notEqual(status, 0);
  const stack = /"stack":"([^"]*)"/.exec(stderr)?.[1] ?? '';
  const places = [...stack.matchAll(/\\n +at [^\\]*?\(?([^\s()]+):\d+:\d+\)?/g)].map(([, place]) => place);
  assert.ok(places.includes('muster/main.js'), stderr);
  for (const place of places) assert.match(place!, /^(muster\/|node:)/, stderr);
});

test('program: runs without bytecode, and with some of no use', () => {
  const { copy } = copied();
  const version = (): string => node(join(copy, 'main.js'), 'version');
  const expected = node('bin/muster', 'version');
  assert.match(expected, /^version=\d[^\n]*\nnode=\d/);
  const used = (library: unknown): string => (library === null ? 'not used' : 'used');
  assert.match(expected, new RegExp(`\nlibdeflate=${used(libdeflate())}\nisal=${used(isal())}\n$`));
  const bytecode = join(copy, 'scripts/main.bytecode');
  assert.ok(existsSync(bytecode));
  writeFileSync(bytecode, 'nothing that V8 knows');
  assert.equal(version(), expected);
  rmSync(bytecode);
  assert.equal(version(), expected);
});

test('program: signals that come before it is loaded do not end a server, and end what is none', {
  timeout: 60_000,
}, () => {
  const dir = temporaryDirectory();
  const early = join(dir, 'early.cjs');
  // The moment in which the program's script is read. What is sent is SIGTERM once the server is ready.
  const code = `const fs = require('node:fs');
    const read = fs.readFileSync;
    fs.readFileSync = (path, ...rest) => {
      if (String(path).endsWith('scripts/main.js')) for (const signal of ['SIGUSR1', 'SIGHUP']) process.kill(process.pid, signal);
      return read(path, ...rest);
    };
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text, ...rest) => {
      if (text.includes('ready on')) process.kill(process.pid, 'SIGTERM');
      return write(text, ...rest);
    };`;
  writeFileSync(early, code);
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['--require', early, 'bin/muster', ...args], { cwd: root, encoding: 'utf8' });
  for (const name of ['start', 'services', 'foreground']) {
    const { status, signal, stderr } = run(name, '--data', join(dir, 'data'), '--http', '127.0.0.1:0');
    assert.deepEqual([status, signal], [0, null], stderr);
    assert.doesNotMatch(stderr, /Debugger/);
  }
  assert.equal(run('version').signal, 'SIGHUP');
});
