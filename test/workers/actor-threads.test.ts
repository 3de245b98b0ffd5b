import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { ActorThreads } from '../../workers/actor-threads.ts';
import { startRing } from '../../workers/ring.ts';
import { threadScript } from '../../workers/thread-script.ts';
import { submissionOf } from '../support/commands.ts';
import { temporaryDirectory } from '../support/directories.ts';
import { until } from '../support/waiting.ts';

const stub = threadScript('stub-actor', import.meta.url);

/** Notes which threads are taken. */
class Watched extends ActorThreads {
  readonly taken: Worker[] = [];
  override take(index: number): Worker {
    const worker = super.take(index);
    this.taken.push(worker);
    return worker;
  }
}

test('actor threads: a ring takes those that have begun, and a new one for an actor that dies', async () => {
  const actorThreads = new Watched(stub);
  actorThreads.begin(2);
  assert.equal(actorThreads.ready, 2);
  const ring = await startRing({ dir: temporaryDirectory(), partitions: 2, threads: 2, actorThreads });
  try {
    assert.equal(actorThreads.taken.length, 2);
    assert.equal(actorThreads.ready, 0);
    await until('both partitions are open', () => ring.healthy);
    ring.killActor(0);
    await until('there is another thread', () => actorThreads.taken.length === 3);
    assert.equal(new Set(actorThreads.taken).size, 3);
    await until('its partition is open', () => ring.healthy);
    for (const certname of ['a', 'b', 'c', 'd']) {
      const command = { command: 'replace facts', version: 5, certname, payload: JSON.stringify({ do: 'store' }) };
      const { outcome } = await ring.submit(submissionOf(command), true);
      assert.equal((await outcome)?.kind, 'processed');
    }
  } finally {
    await ring.stop();
  }
});

test('actor threads: those that nobody takes leave in order, and the next one is new', async () => {
  const actorThreads = new Watched(stub);
  actorThreads.begin(2);
  const taken = actorThreads.take(0);
  actorThreads.end();
  assert.equal(actorThreads.ready, 0);
  const other = actorThreads.take(1);
  // As who takes them may let them go, too.
  for (const worker of [taken, other]) {
    worker.postMessage({ kind: 'stop' });
    assert.deepEqual(await once(worker, 'exit'), [0]);
  }
});

test('actor threads: one that fails before it is taken is not offered', async () => {
  const actorThreads = new ActorThreads({ url: new URL('./no-such-script.js', import.meta.url) });
  actorThreads.begin(1);
  await until('it has failed', () => actorThreads.ready === 0);
});
