// What is remembered by text: the bound, who goes first, and what is never kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TextMemo } from '../../../../engine/ingest/known/text-memo.ts';

const BYTES_MAX = 10_000;
const letters = ['a', 'b', 'c', 'd', 'e'];

test('text memo: what is used stays, the others go', () => {
  const memo = new TextMemo<number>(BYTES_MAX);
  for (const [value, text] of letters.entries()) {
    memo.set(text, value, 2000);
    assert.equal(memo.get('a'), 0, `after ${text}`);
  }
  assert.equal(memo.get('b'), undefined);
  assert.equal(memo.get('e'), 4);
});

test('text memo: what takes more than half of all is not kept, and nobody goes for it', () => {
  const memo = new TextMemo<number>(BYTES_MAX);
  memo.set('a', 1, 2000);
  memo.set('b', 2, BYTES_MAX / 2);
  memo.set('x'.repeat(BYTES_MAX / 2), 3, 0);
  assert.deepEqual([memo.get('a'), memo.get('b'), memo.get('x'.repeat(BYTES_MAX / 2))], [1, undefined, undefined]);
});

test('text memo: small entries count, too', () => {
  const memo = new TextMemo<number>(BYTES_MAX);
  for (let n = 0; n < 1000; n++) memo.set(String(n), n, 0);
  let kept = 0;
  for (let n = 999; n >= 0 && memo.get(String(n)) !== undefined; n--) kept++;
  assert.ok(kept > 10 && kept < 100, `${kept} kept`);
});
