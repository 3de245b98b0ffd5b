import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, askNumber, askRows, askTotal } from '../../../server/ops/questions/internal-query.ts';
import { querySettings } from '../../support/query-settings.ts';
import { FakePool, type PoolAnswer } from './support.ts';

function asker(answer: PoolAnswer) {
  const pool = new FakePool(() => answer);
  return { pool, querySettings: () => querySettings };
}

async function rowsOf(answer: PoolAnswer): Promise<string[]> {
  const rows: string[] = [];
  for await (const row of askRows(asker(answer), { path: '/nodes' })) rows.push(row);
  return rows;
}

test('questions: rows come one at a time under credit, characters that are cut in two survive', async () => {
  const values = Array.from({ length: 50 }, (_, index) => ({ certname: `nœud-${index}.日本` }));
  assert.deepEqual(
    (await rowsOf({ text: JSON.stringify(values) })).map((row) => JSON.parse(row)),
    values,
  );
  assert.deepEqual(await rowsOf({ text: '[]' }), []);
});

test('questions: who stops listening stops the query', async () => {
  const from = asker({ text: JSON.stringify(Array.from({ length: 100 }, (_, index) => index)) });
  for await (const row of askRows(from, { path: '/nodes' })) if (row === '3') break;
  assert.equal(from.pool.cancelled, 1);
});

test('questions: a refusal and an answer that breaks off are errors', async () => {
  await assert.rejects(rowsOf({ status: 400, text: 'bad query' }), {
    message: 'query /nodes failed with status 400: bad query',
  });
  await assert.rejects(rowsOf({ text: '[1,2' }), { message: 'the answer is not a complete JSON array' });
  await assert.rejects(ask(asker({ status: 500, text: 'x' }), { path: '' }), {
    message: 'query / failed with status 500: x',
  });
});

test('questions: numbers and totals, without the limits of clients', async () => {
  const from = asker({ text: '[{"count":12}]', headers: [['X-Records', '34']] });
  assert.equal(await askNumber(from, { path: '/nodes', query: ['extract'] }), 12);
  assert.equal(await askTotal(from, { path: '/nodes' }), 34);
  assert.deepEqual(
    from.pool.requests.map(({ method, path, body }) => [method, path, body]),
    [
      ['POST', '/nodes', '{"query":["extract"]}'],
      ['POST', '/nodes', '{"limit":1,"include_total":true}'],
    ],
  );
  assert.deepEqual([from.pool.settings[0]?.timeoutDefault, from.pool.settings[0]?.timeoutMax], [0, 0]);
});
