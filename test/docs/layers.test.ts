// Imports run one way, between folders too: what lies in a folder has an order in which it can be read. (That no files import each
// other in a circle is the linter's to find, and the direction of the areas the compiler's.)

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const areas = ['schemas', 'engine', 'workers', 'server', 'perf'];

/** Folders whose own files count one by one: what all in them needs stands beside what puts it together. Those of others count as one. */
const MIXED: ReadonlySet<string> = new Set(['engine', 'engine/query', 'server']);

interface Import {
  readonly from: string;
  readonly to: string;
}

const sources = areas.flatMap((area) =>
  readdirSync(join(root, area), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(area, name)),
);
const imports: readonly Import[] = sources.flatMap((from) => {
  const text = readFileSync(join(root, from), 'utf8');
  const targets = text.matchAll(/\b(?:from|import) ?\(?'(\.[^']+)'/g);
  return Array.from(targets, ([, target]) => ({ from, to: join(dirname(from), target!) }));
});

/** What of a folder a file in it belongs to. */
function partOf(folder: string, file: string): string {
  const [name, ...inner] = file.slice(folder.length + 1).split('/');
  return inner.length > 0 || MIXED.has(folder) ? name! : '(its own files)';
}

/** One import each between the parts of a folder, by the part that imports and the one that is imported. */
function arrowsIn(folder: string): Map<string, Map<string, Import>> {
  const arrows = new Map<string, Map<string, Import>>();
  for (const one of imports) {
    if (!one.from.startsWith(`${folder}/`) || !one.to.startsWith(`${folder}/`)) continue;
    const [source, target] = [partOf(folder, one.from), partOf(folder, one.to)];
    if (source === target) continue;
    let targets = arrows.get(source);
    if (targets === undefined) arrows.set(source, (targets = new Map()));
    targets.set(target, one);
  }
  return arrows;
}

/** The imports that lead from a part back to it; null when none do. */
function circleOf(arrows: ReadonlyMap<string, ReadonlyMap<string, Import>>): readonly Import[] | null {
  const isDone = new Set<string>();
  const follow = (part: string, open: readonly string[], way: readonly Import[]): readonly Import[] | null => {
    const since = open.indexOf(part);
    if (since >= 0) return way.slice(since);
    if (isDone.has(part)) return null;
    for (const [target, one] of arrows.get(part) ?? []) {
      const circle = follow(target, [...open, part], [...way, one]);
      if (circle !== null) return circle;
    }
    isDone.add(part);
    return null;
  };
  for (const part of arrows.keys()) {
    const circle = follow(part, [], []);
    if (circle !== null) return circle;
  }
  return null;
}

test('layers: what lies in a folder imports the rest of it one way', () => {
  const folders = new Set(sources.map((source) => dirname(source)));
  assert.ok(
    folders.size > 30 && imports.length > 1000,
    `only ${imports.length} imports in ${folders.size} folders were found`,
  );
  for (const folder of folders) {
    const circle = circleOf(arrowsIn(folder));
    const shown = circle?.map(({ from, to }) => `${from} imports ${to}`).join('\n');
    assert.equal(shown, undefined, `a circle in ${folder}:\n${shown}`);
  }
});
