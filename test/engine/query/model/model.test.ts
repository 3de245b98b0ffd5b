// Random queries: what the planner and the executor answer is what filtering every row answers. The seed is printed and taken
// back from MUSTER_SEED; MUSTER_MODEL_RUNS sets how many queries each fleet gets (a long run: 100000).

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { printJson } from '../../../../engine/json/print.ts';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { executeAggregate, executeEventCounts } from '../../../../engine/query/exec/event-counts.ts';
import { countFields } from '../../../../engine/query/tree.ts';
import { testNumber, testSeed } from '../../../support/random.ts';
import { evaluateAggregate, evaluateCounts } from './counts.ts';
import { buildFleet, type Fleet, type FleetOptions, NOW, PURGE_TTL } from './fleet.ts';
import { type Asked, type AskedCounts, countsArb, distinctArb, queryArb } from './queries.ts';
import {
  answerOf,
  askEngine,
  askModel,
  difference,
  differenceOfRows,
  explained,
  modelAnswer,
  resolved,
  resolvedCounts,
} from './run.ts';

const seed = testSeed('query model');
const runs = testNumber('MUSTER_MODEL_RUNS', 700);

const FLEETS: readonly FleetOptions[] = [
  { seed, nodes: 12, partitions: 2, rounds: 3, edition: 'community' },
  // Enough nodes in a partition for set-at-a-time evaluation.
  { seed: seed + 1, nodes: 110, partitions: 2, rounds: 2, edition: 'enterprise' },
  { seed: seed + 2, nodes: 30, partitions: 4, rounds: 2, edition: 'community' },
];

interface Seen {
  asked: number;
  refused: number;
  empty: number;
  errors: number;
}

/** null: both answer the same (or the query is none). */
function countsVerdict(asked: AskedCounts, restless: boolean, fleet: Fleet, seen: Seen): string | null {
  seen.asked++;
  const tree = resolvedCounts(asked, fleet.world.edition);
  if (tree === null) {
    seen.refused++;
    return null;
  }
  const moment = { now: NOW, purgeTtl: PURGE_TTL };
  const expected = modelAnswer(() => evaluateCounts(tree, fleet.world, moment));
  const answer = answerOf((ctx, sink, options) => executeEventCounts(tree, ctx, sink, options), fleet, { restless });
  const aggregate = answerOf((ctx, sink) => executeAggregate([tree], ctx, sink), fleet, { restless });
  if (expected === null) {
    seen.errors++;
    return answer === null && aggregate === null ? null : 'error on one side: model';
  }
  if (expected.rows.length === 0) seen.empty++;
  const total = printJson(evaluateAggregate(tree, fleet.world, moment));
  if (aggregate?.rows[0] !== total) return `aggregate: expected ${total}, got ${aggregate?.rows[0]}`;
  if (answer === null) return 'error of the engine';
  const columns = [...countFields(fleet.world.edition), 'subject_type', 'subject'];
  return differenceOfRows({ columns, isGrouped: false, limit: tree.limit, offset: tree.offset }, answer, expected);
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
  const wrong = difference(tree, answer, expected);
  if (wrong !== null || !restless || tree.distinct !== null) return wrong;
  const plan = explained(tree, fleet);
  const shown = plan.Steps.at(-1)!['actual rows'];
  if (shown !== answer.rows.length) return `explain: expected ${answer.rows.length} rows, got ${shown}`;
  // A scan that gives its rows as it finds them ends with the last one that is wanted.
  if (tree.limit !== null) return null;
  const scanned = plan.Steps.find(({ step }) => step === 'scan')!['actual rows'];
  return scanned === expected.selected
    ? null
    : `explain: expected ${expected.selected} rows of the scan, got ${scanned}`;
}

/** Runs a property and fails with the smallest counterexample and what is wrong with it. */
function check<A extends [unknown, ...unknown[]]>(
  arbitraries: { [K in keyof A]: fc.Arbitrary<A[K]> },
  options: { readonly seed: number; readonly runs: number },
  verdictOf: (...args: A) => string | null,
): void {
  const property = fc.property(...arbitraries, (...args: A) => verdictOf(...args) === null);
  const { failed, counterexample } = fc.check(property, { seed: options.seed, numRuns: options.runs });
  if (failed && counterexample !== null) {
    assert.fail(`${verdictOf(...counterexample)}\n${printJson(counterexample as unknown as JsonValue)}`);
  }
}

const fresh = (): Seen => ({ asked: 0, refused: 0, empty: 0, errors: 0 });

/**
 * Most queries must be good ones that find something, or the test would say little. Shares of few queries scatter: three times what
 * they do by chance (half of the root of their number) is no sign of anything.
 */
function assertTelling({ asked, refused, empty }: Seen): void {
  const scatter = 1.5 * Math.sqrt(asked);
  assert.ok(refused < asked * 0.25 + scatter, `${refused} of ${asked} refused`);
  assert.ok(empty < asked * 0.6 + scatter, `${empty} of ${asked} without rows`);
}

describe('query model', () => {
  for (const options of FLEETS) {
    describe(`${options.nodes} nodes on ${options.partitions} partitions`, () => {
      let fleet: Fleet;
      before(() => {
        fleet = buildFleet(options);
      });
      after(() => fleet.close());

      it('queries: the executor answers, and explain counts, what the filter over everything finds', (t) => {
        const seen = fresh();
        check([queryArb(fleet.world), fc.boolean()], { seed: options.seed, runs }, (asked, restless) =>
          verdict(asked, restless, fleet, seen),
        );
        t.diagnostic(JSON.stringify(seen));
        assertTelling(seen);
      });

      it('distinct events: the newest of each property, as looking at all of them finds it', (t) => {
        const seen = fresh();
        check(
          [distinctArb(fleet.world), fc.boolean()],
          { seed: options.seed, runs: Math.ceil(runs / 7) },
          (asked, restless) => verdict(asked, restless, fleet, seen),
        );
        t.diagnostic(JSON.stringify(seen));
        assertTelling(seen);
      });

      it('event counts: the counts of the events that pass', (t) => {
        const seen = fresh();
        check(
          [countsArb(fleet.world), fc.boolean()],
          { seed: options.seed, runs: Math.ceil(runs / 7) },
          (asked, restless) => countsVerdict(asked, restless, fleet, seen),
        );
        t.diagnostic(JSON.stringify(seen));
        assertTelling(seen);
      });
    });
  }
});
