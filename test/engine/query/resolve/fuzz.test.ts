// Whatever is asked, the answer is a tree or a client error: nothing else escapes, nothing runs away.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import { ACTIVE_FILTER } from '../../../../engine/query/resolve/defaults.ts';
import {
  resolveAggregateEventCounts,
  resolveEntity,
  resolveEventCounts,
  resolveRoot,
} from '../../../../engine/query/resolve/resolve.ts';
import { entityNames, findEntity } from '../../../../schemas/entities.ts';
import { testSeed } from '../../../support/random.ts';

const seed = testSeed('random queries');

const ENTITIES = entityNames().filter((name) => !findEntity(name)?.pseudo);
const WORDS = [
  ...'and or not = < > <= >= ~ ~> null? in array extract from subquery function group_by order_by limit offset'.split(
    ' ',
  ),
  ...'AND Extract select_facts select_nodes select_reports select_bogus fact parameter node active'.split(' '),
  ...'certname name value path type tag tags line facts trusted parameters facts.os.family trusted.x[0] depth'.split(
    ' ',
  ),
  ...'facts.match("a.*") parameters.x environment latest_report? new_value node_state any count sum to_string'.split(
    ' ',
  ),
  '',
  '(',
  'facts.',
  '2026-01-01T00:00:00Z',
  '\u0000',
  '__proto__',
  'YYYY',
  ...ENTITIES,
];

const { query } = fc.letrec<{ query: JsonValue }>((tie) => ({
  query: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.constantFrom(...WORDS),
    fc.constantFrom<JsonValue>(null, true, false, 0, 1, -5, 1.5, 2 ** 40, {}, { field: 'certname' }),
    fc.array(tie('query'), { maxLength: 4 }),
    fc.tuple(fc.constantFrom(...WORDS), tie('query')).map((pair): JsonValue => pair),
    fc.tuple(fc.constantFrom(...WORDS), fc.constantFrom(...WORDS), tie('query')).map((triple): JsonValue => triple),
    fc.tuple(fc.constantFrom('and', 'or'), tie('query'), tie('query')).map((triple): JsonValue => triple),
  ),
}));

function answers(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    assert.equal(error.status, 400);
  }
}

describe('random queries', () => {
  it('random queries: end in a tree or a client error', () => {
    fc.assert(
      fc.property(query, fc.constantFrom(...ENTITIES), fc.boolean(), (ast, entity, flag) => {
        const list = Array.isArray(ast) ? ast : null;
        answers(() => resolveRoot(['from', entity, ast]));
        answers(() => resolveRoot(ast, { astOnly: flag }));
        answers(() => resolveEntity(entity, list, { routeFilters: flag ? [ACTIVE_FILTER] : [], orderBy: ast }));
        answers(() => resolveEntity('events', list, { distinct: { start: 0, end: 1 } }));
        answers(() => resolveEventCounts({ summarizeBy: 'resource', query: ast, countsFilter: ast }));
        answers(() => resolveAggregateEventCounts({ summarizeBy: 'certname,resource', query: ast }));
      }),
      { seed, numRuns: 3000 },
    );
  });
});
