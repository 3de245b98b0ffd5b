// The start of threads that die, and what is told of their ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActorData } from '../../../workers/actor/actor.ts';
import type { Log } from '../../../workers/log.ts';
import { ActorHandle } from '../../../workers/ring/actor-handle.ts';
import { pause, until } from '../../support/waiting.ts';

const log = { error: () => {} } as unknown as Log;

/** A handle of threads that run this program; `starts` counts them, `ends` are the reasons, with `!` where they were ended on request. */
function handleOf(program: string) {
  const ends: string[] = [];
  const state = { starts: 0, ends };
  const handle = new ActorHandle({
    index: 0,
    slots: [0],
    script: { url: new URL(`data:text/javascript,${encodeURIComponent(program)}`) },
    data: () => {
      state.starts++;
      return {} as ActorData;
    },
    hangMax: 10_000,
    onMessage: () => {},
    onDown: (_activity, reason, requested) => void ends.push(`${reason}${requested ? '!' : ''}`),
    onStuck: () => {},
    log,
  });
  return { handle, state };
}

test('actor: a thread that dies is started again, after a stop none is', async () => {
  const { handle, state } = handleOf('process.exit(3)');
  handle.start();
  // The pause before the next start has grown to 400 ms.
  await until('it has died four times', () => state.ends.length === 4);
  assert.deepEqual(new Set(state.ends), new Set(['exit code 3']));
  await handle.stop();
  await pause(600);
  assert.equal(state.starts, 4);
  handle.start();
  assert.equal(state.starts, 4);
});

test('actor: each end has its own reason, the first one that is given for it', async () => {
  const { handle, state } = handleOf('setInterval(() => {}, 1000)');
  handle.start();
  handle.kill('first');
  handle.kill('late', true);
  await until('it has been started again', () => state.starts === 2);
  handle.kill('second', true);
  await until('it has been started again', () => state.starts === 3);
  handle.kill('third');
  await until('it is gone', () => state.ends.length === 3);
  assert.deepEqual(state.ends, ['first', 'second!', 'third']);
  await handle.stop();
});
