// Commands of the conformance corpus, each with one value changed: taken away, or another of every kind in its place. What
// a server makes of such input is written in no document, and clients send it all the same.

import { readFileSync } from 'node:fs';
import type { ClientCommand } from '../../support/server.ts';

export interface VariedCommand extends ClientCommand {
  /** For messages: what was changed in which command. */
  readonly what: string;
}

interface CorpusLine {
  readonly command: string;
  readonly version: number;
  readonly certname: string;
  readonly payload: unknown;
}

type Path = readonly string[];

/** Values of every kind, some of them good ones elsewhere. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1762675200000,
  '',
  'x',
  'true',
  'File',
  'unchanged',
  '2026-11-09T08:00:00.000Z',
  '2026-11-09',
  '\u0000',
  'é\u2028',
  'a'.repeat(300),
  [],
  ['a'],
  [1, null, 'b'],
  [[]],
  {},
  { a: 1 },
];
/** Stands for a value that is taken away. */
const NOTHING = Symbol('nothing');

/** Where PuppetDB's own answer is no measure. */
const EXCLUDED: readonly { readonly what: RegExp; readonly values: readonly unknown[]; readonly reason: string }[] = [
  {
    what: /resources\.\*\.parameters$/,
    values: [NOTHING, null, '', []],
    reason: 'it stores the catalog and fails to show it',
  },
  {
    what: /resources\.\*\.(?:type|title)$/,
    values: [true, 0, -1, 1.5, 1762675200000],
    reason: 'it fails to compare them with the texts of the other resources',
  },
  {
    what: /^replace catalog inputs producer_timestamp$/,
    values: [NOTHING, null, false],
    reason: 'it takes the time at which it executes the command',
  },
];

/** Large values, of which every one is like the next. */
const UNVARIED = /^values\.|\.parameters\.\w+\.|^edges\.\*\.\w+\./;
const RESOURCE_NAME = /^resources\.\d+\.(?:type|title)$/;
/** Of several commands of a kind the one with the most to change, up to here. */
const PATHS_MAX = 400;

const corpus = new URL('../../conformance/corpus.ndjson', import.meta.url);

/** Every change of one command of each version, each for a node of its own. */
export function variedCommands(): VariedCommand[] {
  const varied: VariedCommand[] = [];
  const lines = readFileSync(corpus, 'utf8').trim().split('\n');
  for (const line of richest(lines.map((text) => JSON.parse(text) as CorpusLine))) {
    const seen = new Set<string>();
    for (const path of pathsOf(line.payload)) {
      const pattern = path.map((key) => (/^\d+$/.test(key) ? '*' : key)).join('.');
      if (seen.has(pattern) || UNVARIED.test(pattern)) continue;
      seen.add(pattern);
      for (const value of [NOTHING, ...VALUES]) {
        if (
          EXCLUDED.some(
            (rule) => rule.what.test(`${line.command} ${pattern}`) && rule.values.some((each) => same(each, value)),
          )
        )
          continue;
        varied.push(changed(line, path, value, `varied-${varied.length}.example.com`));
      }
    }
  }
  return varied;
}

const same = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));

function richest(lines: readonly CorpusLine[]): CorpusLine[] {
  const best = new Map<string, { line: CorpusLine; paths: number }>();
  for (const line of lines) {
    const paths = [...pathsOf(line.payload)].length;
    const kind = `${line.command} ${line.version}`;
    const known = best.get(kind)?.paths ?? -1;
    if (paths > known ? paths <= PATHS_MAX || known < 0 : known > PATHS_MAX) best.set(kind, { line, paths });
  }
  return [...best.values()].map(({ line }) => line);
}

function* pathsOf(value: unknown, at: Path = []): Generator<Path> {
  if (at.length > 0) yield at;
  if (typeof value !== 'object' || value === null || at.length === 5) return;
  for (const [key, member] of Object.entries(value)) yield* pathsOf(member, [...at, key]);
}

function changed(line: CorpusLine, path: Path, value: unknown, certname: string): VariedCommand {
  const own = (name: string): string => JSON.stringify(name).slice(1, -1);
  const payload = JSON.parse(JSON.stringify(line.payload).replaceAll(own(line.certname), own(certname))) as object;
  let parent = payload as Record<string, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<string, unknown>;
  const last = path.at(-1) as string;
  if (value !== NOTHING) parent[last] = value;
  else if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else delete parent[last];
  // Or a changed name would be refused for the edges that lead to it.
  if (RESOURCE_NAME.test(path.join('.'))) (payload as Record<string, unknown>)['edges'] = [];
  const what = value === NOTHING ? 'taken away' : JSON.stringify(value).slice(0, 40);
  return {
    command: line.command,
    version: line.version,
    certname,
    payload: JSON.stringify(payload),
    what: `${line.command} ${line.version}, ${path.join('.')}: ${what}`,
  };
}
