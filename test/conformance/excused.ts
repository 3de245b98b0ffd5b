// Cases that Muster deliberately answers otherwise: the table of docs/compatibility.md, section "Excused cases". The document
// decides; the tests fail on a difference that is not listed there, and on a listed one that is none (any more).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, type ReplayResult, tallyOf } from './replay.mjs';

const DOCUMENT = new URL('../../docs/compatibility.md', import.meta.url);
const SECTION = '## Excused cases';
const ROW = /^\| `([^`]+)` \| (.+) \|$/;

/** Case id -> reason. */
export function excusedCases(): ReadonlyMap<string, string> {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [, section] = text.split(`${SECTION}\n`);
  if (section === undefined) throw new Error(`docs/compatibility.md has no section "${SECTION}"`);
  const excused = new Map<string, string>();
  for (const line of (section.split('\n## ', 1)[0] as string).split('\n')) {
    const [, id, reason] = ROW.exec(line) ?? [];
    if (id !== undefined && reason !== undefined) excused.set(id, reason);
  }
  return excused;
}

const SHOWN_MAX = 10;

/** Fails when an answer differs from the recorded one without an excuse, or an excused one does not differ. */
export function assertConforming(results: readonly ReplayResult[], excused: ReadonlyMap<string, string>): void {
  const failed = results.filter((r) => r.diff.length > 0 && !excused.has(r.id));
  const shown = failed.slice(0, SHOWN_MAX).map(describe).join('\n\n');
  assert.equal(failed.length, 0, `${failed.length} of ${results.length} answers differ\n\n${shown}`);
  const needless = results.filter((r) => r.diff.length === 0 && excused.has(r.id)).map((r) => r.id);
  assert.deepEqual(needless, [], 'excused in docs/compatibility.md, but answered as recorded');
}

/** Results by area, in the order of names. */
export function byArea(results: readonly ReplayResult[]): Map<string, ReplayResult[]> {
  const areas = new Map<string, ReplayResult[]>([...tallyOf(results).keys()].map((area) => [area, []]));
  for (const result of results) areas.get(result.area)?.push(result);
  return areas;
}
