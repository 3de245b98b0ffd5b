// When a query thread warms up: after which pause, and before whom it makes way.

import assert from 'node:assert/strict';
import { after, afterEach, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueryActivity } from '../../../workers/queries/query-activity.ts';
import { type WarmingUpOptions, warmUp } from '../../../workers/queries/warming-up.ts';
import { until } from '../../support/waiting.ts';

const SAMPLE = { certname: 'web1.example.com', report: null };

/** A thread whose work takes so many steps, in a pool and a store that the test changes. */
class Thread {
  readonly activity = new QueryActivity();
  commands = 0;
  hasData = true;
  isEnding = false;
  steps = 0;
  rests = 0;
  readonly done: Promise<boolean>;

  constructor({ isFirst = true, stepsMax = 20, hasData = true, rest = 300 } = {}) {
    this.hasData = hasData;
    const options: WarmingUpOptions = {
      activity: this.activity,
      isFirst: () => isFirst,
      sample: () => (this.hasData ? SAMPLE : null),
      begin: (sample, budgetMs) => {
        assert.equal(sample, SAMPLE);
        assert.equal(budgetMs, 1000);
        return { step: () => ++this.steps < stepsMax, rest: () => this.rests++ };
      },
      commands: () => this.commands,
      isEnding: () => this.isEnding,
      times: { budget: 1000, after: 1, pause: 20, rest, again: 5, look: 5, commandsMax: 100, slow: 600 },
    };
    this.done = warmUp(options);
  }
}

const threads: Thread[] = [];
const timers: NodeJS.Timeout[] = [];
// Its pauses keep no process alive.
const alive = setInterval(() => {}, 1000);

function start(options?: ConstructorParameters<typeof Thread>[0]): Thread {
  const thread = new Thread(options);
  threads.push(thread);
  return thread;
}

/** A thousand commands a second, also where this process has to wait for a processor. */
function load(thread: Thread): NodeJS.Timeout {
  const before = thread.commands;
  const began = performance.now();
  const timer = setInterval(() => (thread.commands = before + performance.now() - began), 5);
  timers.push(timer);
  return timer;
}

afterEach(async () => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const thread of threads) thread.isEnding = true;
  await Promise.all(threads.splice(0).map(({ done }) => done));
});
after(() => clearInterval(alive));

it('a store with data: every thread at once', async () => {
  for (const thread of [start({ isFirst: true, rest: 60_000 }), start({ isFirst: false, rest: 60_000 })]) {
    assert.equal(await thread.done, true);
    assert.equal(thread.steps, 20);
  }
});

it('an empty store: not before there is data and a pause; the others after a longer one', async () => {
  const first = start({ isFirst: true, hasData: false, rest: 1500 });
  const second = start({ isFirst: false, hasData: false, rest: 1500 });
  await sleep(50);
  assert.equal(first.steps + second.steps, 0);
  for (const thread of [first, second]) thread.hasData = true;
  assert.equal(await first.done, true);
  assert.equal(second.steps, 0);
  assert.equal(await second.done, true);
});

it('commands keep it from beginning, and make it rest', async () => {
  const thread = start({ hasData: false, stepsMax: Infinity });
  const first = load(thread);
  await sleep(10);
  thread.hasData = true;
  await sleep(100);
  assert.equal(thread.steps, 0);
  clearInterval(first);
  await until('it begins', () => thread.steps > 0);
  const second = load(thread);
  await until('it rests', () => thread.rests > 0);
  const { steps } = thread;
  await sleep(60);
  assert.equal(thread.steps, steps);
  clearInterval(second);
  await until('it goes on', () => thread.steps > steps);
});

it('a large command makes it rest, those that wait for their batch do not', async () => {
  const thread = start({ stepsMax: Infinity });
  const { activity } = thread;
  activity.commandsWaiting = 3;
  const few = setInterval(() => thread.commands++, 20);
  timers.push(few);
  await sleep(150);
  assert.equal(thread.rests, 0);
  clearInterval(few);
  await until('it rests', () => thread.rests > 0);
  const { steps } = thread;
  await sleep(60);
  assert.equal(thread.steps, steps);
  activity.commandsWaiting = 0;
  await until('it goes on', () => thread.steps > steps);
});

it('clients of any thread go first, long queries and short ones', async () => {
  const thread = start({ stepsMax: Infinity });
  await until('it begins', () => thread.steps > 0);
  thread.activity.began();
  await sleep(20);
  const { steps } = thread;
  await sleep(40);
  assert.equal(thread.steps, steps, 'one runs');
  thread.activity.rested();
  await until('it goes on', () => thread.steps > steps);
  const { rests } = thread;
  thread.activity.began();
  thread.activity.rested();
  await until('it rests', () => thread.rests > rests);
});

it('a thread that is ended meanwhile is not warm', async () => {
  const waiting = start({ hasData: false });
  const working = start({ stepsMax: Infinity });
  await until('it begins', () => working.steps > 0);
  for (const thread of [waiting, working]) {
    thread.isEnding = true;
    assert.equal(await thread.done, false);
  }
  assert.equal(waiting.steps, 0);
});

it('what threads share: queries of all, which is the first, and how many commands wait', () => {
  const activity = new QueryActivity();
  const other = new QueryActivity(activity.shared);
  assert.equal(other.first, 0);
  activity.first = 3;
  assert.equal(other.first, 3);
  activity.began();
  assert.equal(other.running, 1);
  activity.rested();
  assert.deepEqual([other.running, other.begun], [0, 1]);
  activity.resumed();
  assert.deepEqual([other.running, other.begun], [1, 1]);
  activity.commandsWaiting = 5;
  assert.equal(other.commandsWaiting, 5);
});
