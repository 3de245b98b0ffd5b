import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MakingWay } from '../../../workers/queries/making-way.ts';

/** A thread whose time, waits and commands the test decides. */
function threadOf() {
  const state = { now: 1000, ran: 5, waited: 5, position: 1 };
  const way = new MakingWay({
    positions: () => state.position,
    spent: () => ({ ran: state.ran, waited: state.waited }),
    clock: () => state.now,
  });
  const after = (ms: number): number => {
    state.now += ms;
    return way.pause();
  };
  return { state, way, after };
}

test('making way: a long answer pauses while commands are applied and processors are short', () => {
  const { state, after } = threadOf();
  assert.equal(after(10), 0, 'nobody else was seen');
  state.position = 2;
  assert.equal(after(10), 20);
  assert.equal(after(1), 0, 'looked a moment ago');
  state.waited = 1;
  assert.equal(after(10), 0, 'there are processors enough');
  state.waited = 500;
  assert.equal(after(10), 30, 'a pause has a bound');
  assert.equal(after(300), 0, 'no command for a while');
});

test('making way: so it does for short queries, and not for itself', () => {
  const { way, after } = threadOf();
  assert.equal(after(10), 0);
  assert.equal(after(10), 0);
  way.served();
  assert.equal(after(10), 20);
  assert.equal(after(150), 20, 'the next may come soon');
  assert.equal(after(150), 0);
});

test('making way: what the system counts of a thread', { skip: process.platform !== 'linux' }, () => {
  let position = 0;
  const way = new MakingWay({ positions: () => position++ });
  const until = performance.now() + 50;
  let longest = 0;
  while (performance.now() < until) longest = Math.max(longest, way.pause());
  assert.ok(longest >= 0 && longest <= 30, `${longest} ms`);
});
