// Maintenance over partitions of which some fail, or are not open: the others have theirs, and nobody waits for ever.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToActor } from '../../../workers/actor/messages.ts';
import type { Slot } from '../../../workers/ring/slot.ts';
import { Sweeps } from '../../../workers/ring/sweeps.ts';
import { MaintenanceStopped, MaintenanceUnavailable } from '../../../workers/types.ts';

type Asked = Extract<ToActor, { kind: 'sweep' }>;

/** Partitions whose actors answer at once: a text is why the sweep, or only a `find…?`, fails, a number the day that a `find…` finds. */
function sweepsOf(answers: readonly (number | string)[], states: readonly Partial<Slot>[] = []) {
  const asked: [number, string][] = [];
  const days: number[] = [];
  const slots = answers.map((answer, slot) => {
    const post = (message: Asked): void => {
      asked.push([slot, message.sweep.kind]);
      if ('day' in message.sweep) days.push(message.sweep.day);
      const isFind = message.sweep.kind.startsWith('find');
      const error = typeof answer === 'string' && (isFind || !answer.endsWith('?')) ? answer : null;
      const day = typeof answer === 'number' && isFind ? answer : null;
      const changed = error === null && day === null ? 1 : 0;
      setImmediate(() => sweeps.finished({ kind: 'swept', id: message.id, changed, day, error, mayPass: true }));
    };
    return {
      slot,
      up: true,
      troubles: { actor: null, log: null },
      actor: { post },
      ...states[slot],
    } as unknown as Slot;
  });
  const sweeps = new Sweeps(slots, () => slots[0]!);
  return { sweeps, slots, asked, days };
}

test('sweeps: what fails in one partition is done in the others, and told', async () => {
  for (const [step, kinds] of [
    [{ kind: 'gc_packages' }, ['gc_packages']],
    [{ kind: 'purge_nodes', batchLimit: 0 }, ['purge_nodes']],
    [{ kind: 'purge_nodes', batchLimit: 2 }, ['purge_nodes']],
    [{ kind: 'purge_reports' }, ['find_report_day', 'purge_report_day']],
    [{ kind: 'purge_resource_events' }, ['find_event_day', 'purge_event_day']],
  ] as const) {
    const { sweeps, asked } = sweepsOf(['no room', 5, 4]);
    await assert.rejects(sweeps.run(step), (error: Error) => {
      assert.ok(error instanceof MaintenanceUnavailable);
      assert.equal(error.message, 'partition 0: no room');
      return true;
    });
    assert.deepEqual(
      asked,
      kinds.flatMap((kind) => [0, 1, 2].map((slot) => [slot, kind])),
    );
  }
});

test('sweeps: the limit of a purge is for all partitions together, the oldest day goes in all', async () => {
  const { sweeps, asked, days } = sweepsOf([9, 7, 8]);
  assert.equal(await sweeps.run({ kind: 'purge_nodes', batchLimit: 2 }), 2);
  assert.deepEqual(asked.splice(0), [
    [0, 'purge_nodes'],
    [1, 'purge_nodes'],
  ]);
  assert.equal(await sweeps.run({ kind: 'purge_reports' }), 3);
  assert.deepEqual(days, [7, 7, 7]);
});

test('sweeps: a partition that cannot be opened is not waited for, one that is being opened is', async () => {
  const damaged = { up: false, troubles: { actor: 'its file is damaged', log: null } };
  const { sweeps, slots, asked } = sweepsOf([1, 1, 1], [damaged, {}, { up: false }]);
  const run = sweeps.run({ kind: 'gc_packages' });
  const told = assert.rejects(run, { name: 'MaintenanceUnavailable', message: 'partition 0: its file is damaged' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(asked, [[1, 'gc_packages']]);
  Object.assign(slots[2]!, { up: true });
  sweeps.up(slots[2]!);
  await told;
  assert.deepEqual(asked.at(-1), [2, 'gc_packages']);

  const opening = sweepsOf([1], [{ up: false }]);
  const deletion = opening.sweeps.run({ kind: 'delete', certname: 'a' });
  Object.assign(opening.slots[0]!, damaged);
  opening.sweeps.troubled(opening.slots[0]!);
  await assert.rejects(deletion, { name: 'MaintenanceUnavailable', message: 'partition 0: its file is damaged' });
});

test('sweeps: a day that could not be looked for is told, although the others have theirs', async () => {
  const { sweeps, days } = sweepsOf([9, 'unknown?', 8]);
  await assert.rejects(sweeps.run({ kind: 'purge_reports' }), /^MaintenanceUnavailable: partition 1: unknown\?$/);
  assert.deepEqual(days, [8, 8, 8]);
});

test('sweeps: a partition that is open again is asked for what is its own and not over', async () => {
  const { sweeps, slots, asked } = sweepsOf([1, 1]);
  await sweeps.run({ kind: 'gc_packages' });
  asked.splice(0);
  for (const slot of slots) sweeps.up(slot);
  assert.deepEqual(asked, [], 'all is over');
  const run = sweeps.run({ kind: 'gc_packages' });
  sweeps.up(slots[1]!);
  await run;
  assert.deepEqual(asked, [
    [0, 'gc_packages'],
    [1, 'gc_packages'],
  ]);
});

test('sweeps: a stop ends them, in whichever partition they are', async () => {
  const { sweeps } = sweepsOf([1, 1], [{}, { up: false }]);
  const run = sweeps.run({ kind: 'gc_packages' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  sweeps.close();
  await assert.rejects(run, MaintenanceStopped);
  await assert.rejects(sweeps.run({ kind: 'gc_packages' }), MaintenanceStopped);
});
