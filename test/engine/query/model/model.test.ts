// Random queries: what the planner and the executor answer is what filtering every row answers. The seed is printed and taken
// back from MUSTER_SEED; MUSTER_MODEL_RUNS sets how many queries each fleet gets (a long run: 100000).

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { printJson } from '../../../../engine/json/print.ts';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { buildFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { type Asked, queryArb } from './queries.ts';
import { askEngine, askModel, difference, resolved } from './run.ts';

const seed = Number(process.env['MUSTER_SEED'] ?? Date.now() % 2 ** 31);
const runs = Number(process.env['MUSTER_MODEL_RUNS'] ?? 700);

const FLEETS: readonly FleetOptions[] = [
  { seed, nodes: 12, partitions: 2, rounds: 3, edition: 'community' },
  // Enough nodes in a partition for set-at-a-time evaluation.
  { seed: seed + 1, nodes: 90, partitions: 2, rounds: 2, edition: 'enterprise' },
  { seed: seed + 2, nodes: 30, partitions: 4, rounds: 2, edition: 'community' },
];

interface Seen {
  asked: number;
  refused: number;
  empty: number;
  errors: number;
}

/** null: both answer the same (or the query is none). */
function verdict(asked: Asked, restless: boolean, fleet: Fleet, seen: Seen): string | null {
  seen.asked++;
  const tree = resolved(asked, fleet.world.edition);
  if (tree === null) {
    seen.refused++;
    return null;
  }
  const expected = askModel(tree, fleet);
  const answer = askEngine(tree, fleet, { restless });
  if (expected === null || answer === null) {
    seen.errors++;
    return (expected === null) === (answer === null)
      ? null
      : `error on one side: ${answer === null ? 'engine' : 'model'}`;
  }
  if (expected.selected === 0) seen.empty++;
  return difference(tree, answer, expected);
}

describe(`query model (MUSTER_SEED=${seed})`, () => {
  for (const options of FLEETS) {
    const { nodes, partitions } = options;
    it(`${nodes} nodes on ${partitions} partitions: the executor answers what the filter over everything answers`, async (t) => {
      const fleet: Fleet = buildFleet(options);
      t.after(() => fleet.close());
      const seen: Seen = { asked: 0, refused: 0, empty: 0, errors: 0 };
      const property = fc.property(
        queryArb(fleet.world),
        fc.boolean(),
        (asked, restless) => verdict(asked, restless, fleet, seen) === null,
      );
      const { failed, counterexample } = fc.check(property, { seed: options.seed, numRuns: runs });
      if (failed && counterexample !== null) {
        const [asked, restless] = counterexample;
        assert.fail(`${verdict(asked, restless, fleet, seen)}\n${printJson(asked as unknown as JsonValue)}`);
      }
      t.diagnostic(JSON.stringify(seen));
      // Most queries must be good ones that find something, or the test would say little.
      assert.ok(seen.refused < seen.asked * 0.25, `${seen.refused} of ${seen.asked} refused`);
      assert.ok(seen.empty < seen.asked * 0.6, `${seen.empty} of ${seen.asked} without rows`);
    });
  }
});
