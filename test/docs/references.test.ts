// What the documents refer to is there: files and headings behind links, tests that the failure table cites, commands and flags.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FORMAT_VERSION } from '../../engine/store/file/store-info.ts';
import { LOG_AREAS } from '../../server/log.ts';
import { run } from '../server/cli/support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pagesOf = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const documents = ['ARCHITECTURE.md', 'SECURITY.md', ...pagesOf('docs')];
const linking = [...pagesOf('.'), ...pagesOf('docs'), ...pagesOf('perf'), ...pagesOf('perf/results')];
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

test('documents: every relative link leads to a file, and to a heading of it', () => {
  let headings = 0;
  for (const path of linking) {
    for (const [, file, anchor] of textOf(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const target = file === '' ? path : join(dirname(path), file!);
      assert.ok(existsSync(join(root, target)), `${path}: ${file}`);
      if (anchor === undefined) continue;
      headings += 1;
      assert.ok(anchorsOf(textOf(target)).has(anchor), `${path}: ${target} has no heading #${anchor}`);
    }
  }
  assert.ok(headings > 8, `only ${headings} links to headings were found`);
});

test('documents: the sources that they name are there', () => {
  let named = 0;
  for (const path of linking) {
    for (const [, source] of textOf(path).matchAll(/`((?:engine|workers|server|schemas|perf|test|bin)\/[\w./-]*)`/g)) {
      named += 1;
      assert.ok(existsSync(join(root, source!)), `${path}: ${source}`);
    }
  }
  assert.ok(named > 100, `only ${named} sources were found`);
});

/** As web pages of documents are made, a heading is found by its words. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ +(.+)$/gm);
  return new Set(
    Array.from(headings, ([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

test('documents: every page of docs is in its index', () => {
  const index = textOf('docs/README.md');
  for (const path of documents) {
    if (!path.startsWith('docs/') || path === 'docs/README.md') continue;
    assert.ok(index.includes(`](${path.slice('docs/'.length)})`), path);
  }
});

test('documents: the storage format has the number that is written, wherever it is shown', () => {
  const shown = [/^Format (\d+)\./m, /"format":(\d+),"partitions"/, /^\| `format` \| (\d+), /m];
  const text = textOf('docs/storage-format.md');
  assert.deepEqual(
    shown.map((pattern) => Number(pattern.exec(text)?.[1])),
    shown.map(() => FORMAT_VERSION),
  );
});

test('documents: every area of the log is explained', () => {
  const explained = textOf('docs/monitor.md').matchAll(/^\| `(\w+)` \| .+ \|$/gm);
  const areas = new Set(Array.from(explained, ([, area]) => area));
  for (const area of LOG_AREAS) assert.ok(areas.has(area), area);
});

test('documents: the tests that the failure table cites have these names', () => {
  const text = textOf('ARCHITECTURE.md');
  let cited = 0;
  for (const [, path, parts] of text.matchAll(/`(test\/[^`]+\.test\.ts)` ((?:\*[^*]+\*(?:, )?)+)/g)) {
    const names = [...textOf(path!).matchAll(/\b(?:test|it)\(\s*(['"`])(.*?)\1/gs)].map((match) => match[2]!);
    for (const [, part] of parts!.matchAll(/\*([^*]+)\*/g)) {
      cited += 1;
      assert.ok(
        names.some((name) => name.includes(part!)),
        `no test of ${path} has "${part}" in its name`,
      );
    }
  }
  assert.ok(cited > 40, `only ${cited} citations were found`);
});

test('documents: every muster command and flag in them exists', async () => {
  const helps = new Map<string, string>();
  for (const path of documents) {
    for (const { command, line } of commandLines(textOf(path))) {
      let help = helps.get(command);
      if (help === undefined) {
        const { status, out } = await run([command, '--help'], { columns: 200 });
        assert.equal(status, 0, `${path}: ${line}`);
        helps.set(command, (help = out));
      }
      for (const [flag] of line.matchAll(/(?<=\s)--[a-z][a-z-]*/g)) {
        assert.ok(new RegExp(`${flag}(?![a-z-])`).test(help), `${path}: ${line}`);
      }
    }
  }
  assert.ok(helps.size > 10, [...helps.keys()].join(' '));
});

/** Calls of the program in the code of a document: between backticks, indented or fenced. */
function* commandLines(text: string): Generator<{ readonly command: string; readonly line: string }> {
  const code = [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
  let isFenced = false;
  for (const line of text.replaceAll(/\\\n\s*/g, '').split('\n')) {
    if (line.startsWith('```')) isFenced = !isFenced;
    else if (isFenced || line.startsWith('    ')) code.push(line.trim());
  }
  for (const piece of code) {
    for (const [line, command] of piece.matchAll(
      /(?<=^|&& |exec muster )(?:bin\/)?muster (?!help)([a-z][a-z-]*)[^|;&#]*/g,
    )) {
      yield { command: command!, line };
    }
  }
}
