// What the documents tell a reader to type is typed here: the README's tour line by line, the queries of docs/, and the
// examples that `muster query --help` prints.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { command as query } from '../../server/cli/query.ts';
import { type Ended, run } from '../support/programs.ts';
import { TestServer } from '../support/server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ADDRESS = /http:\/\/127\.0\.0\.1:8080/g;
const COMMAND_MAX_MS = 120_000;

/** Runs a line in a shell with the project's `muster` on the path. */
const typed = (line: string): Promise<Ended> =>
  run('sh', ['-c', line], {
    cwd: root,
    env: { ...process.env, PATH: `${root}/bin:${process.env['PATH']}` },
    maxMs: COMMAND_MAX_MS,
  });

/** Like `curl`, but with the status of the answer as the last line of the output. */
const told = (line: string): string => line.replace(/^curl /, `curl -sS --max-time 60 -w '\\n%{http_code}' `);

const withoutCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed';

/** The commands of the fenced blocks of a section, each with the paragraph before its block. */
function tourOf(text: string, title: string): { readonly line: string; readonly before: string }[] {
  const section = text.split(`## ${title}\n`)[1]!.split('\n## ')[0]!;
  const parts = section.split(/^```$/m);
  return parts.flatMap((part, i) => {
    if (i % 2 === 0) return [];
    const lines = part
      .replaceAll('\\\n', ' ')
      .trim()
      .split(/\n(?=curl |npm |bin\/)/);
    return lines.map((line) => ({ line: line.trim(), before: parts[i - 1]! }));
  });
}

test("documents: the README's tour works as it is printed", { skip: withoutCurl }, async (t) => {
  const server = await TestServer.start(t);
  const tour = tourOf(readFileSync(`${root}/README.md`, 'utf8'), 'A three-minute tour');
  assert.ok(tour.length >= 8);
  for (const { line, before } of tour) {
    const here = line.replace(ADDRESS, server.url).replace('--nodes 100', '--nodes 5');
    const { status, out, err } = await typed(told(here));
    assert.equal(status, 0, `${line}\n${err}`);
    if (!line.startsWith('curl ')) continue;
    const code = out.slice(out.lastIndexOf('\n') + 1);
    assert.equal(code, before.includes('Nonsense') ? '400' : '200', `${line}\n${out}`);
    if (!before.includes('Nonsense')) assert.doesNotMatch(out, /^\[\s*\]\n/, `${line}: nothing found`);
  }
});

test('documents: every query in docs/ and in the help is one', async (t) => {
  const server = await TestServer.start(t);
  const queries = new Set<string>();
  for (const [example] of query.examples) {
    const quoted = /^muster query '(.*?)'(?: \||$)/.exec(example)?.[1];
    assert.ok(quoted !== undefined, example);
    queries.add(quoted);
  }
  for (const name of readdirSync(`${root}/docs`).filter((file) => file.endsWith('.md'))) {
    const text = readFileSync(`${root}/docs/${name}`, 'utf8');
    for (const [, quoted] of text.matchAll(/muster query (?:--explain )?'([^']+)'/g)) queries.add(quoted!);
    for (const [, quoted] of text.matchAll(/--data-urlencode ['"]query=([^'"$]+)['"]/g)) queries.add(quoted!);
    for (const [line] of text.matchAll(/^ +for q in .*$/gm)) {
      for (const [, quoted] of line.matchAll(/'([^']+)'/g)) queries.add(quoted!);
    }
  }
  assert.ok(queries.size >= 10, `${queries.size} queries found`);
  for (const text of queries) {
    const { status, text: answer } = await server.ask(`/pdb/query/v4?query=${encodeURIComponent(text)}`);
    assert.equal(status, 200, `${text}\n${answer}`);
  }
});
