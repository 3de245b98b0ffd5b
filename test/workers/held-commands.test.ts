// Moves between partitions, without threads: in their order, a few at a time, with work that does not grow with how many wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandStream } from '../../engine/inbox/stream.ts';
import type { CommandOutcome } from '../../engine/ingest/types.ts';
import { Admission } from '../../workers/admission.ts';
import { CommandMetrics } from '../../workers/command-metrics.ts';
import { HeldCommands } from '../../workers/held-commands.ts';
import type { Log } from '../../workers/log.ts';
import type { Handled, Held, ToActor } from '../../workers/messages.ts';
import { MetricsRegistry } from '../../workers/metrics.ts';
import { ringLimits } from '../../workers/ring-options.ts';
import type { Slot } from '../../workers/slot.ts';
import type { Suspects } from '../../workers/suspects.ts';
import { envelope } from '../engine/inbox/support.ts';

/** A partition of which nothing but its door is there; `looks`: how often it was asked whether it is open. */
class FakeSlot {
  readonly slot: number;
  readonly held = new Map<number, Held>();
  readonly posted: ToActor[] = [];
  readonly actor = { post: (message: ToActor): void => void this.posted.push(message) };
  isUp = true;
  looks = 0;

  constructor(slot: number) {
    this.slot = slot;
  }

  get up(): boolean {
    this.looks++;
    return this.isUp;
  }

  take(): ToActor[] {
    return this.posted.splice(0);
  }
}

const asSlot = (fake: FakeSlot): Slot => fake as unknown as Slot;
const moving = (seq: number): Held => ({
  seq,
  state: 'moving',
  command: 'replace facts',
  version: 5,
  certname: 'elsewhere',
});
const metrics = () => new CommandMetrics(new MetricsRegistry());
const lines: string[] = [];
const log = {
  isLevelEnabled: () => true,
  info: (...line: readonly [...object[], string]): void => void lines.push(line.at(-1) as string),
  error: (): void => {},
} as unknown as Log;
const suspects = { isDeadly: () => false, clear: () => {} } as unknown as Suspects;

function setUp(): { source: FakeSlot; target: FakeSlot; held: HeldCommands } {
  const [source, target] = [new FakeSlot(0), new FakeSlot(1)];
  return {
    source,
    target,
    held: new HeldCommands({ metrics: metrics(), suspects, log, slotOf: () => asSlot(target), mayMove: () => true }),
  };
}

/** Answers what was asked of both, once; returns the seqs that were adopted. */
function turn(held: HeldCommands, source: FakeSlot, target: FakeSlot): number[] {
  for (const message of source.take()) {
    if (message.kind !== 'fetch') continue;
    const { seq, id } = message;
    held.fetched({
      kind: 'fetched',
      id,
      command: { seq, envelope: envelope('elsewhere', { received: 0 }), body: Buffer.alloc(1) },
    });
  }
  const adopted: number[] = [];
  for (const message of target.take()) {
    assert.ok(message.kind === 'adopt');
    const { seq } = message.command;
    const outcome: CommandOutcome = { kind: 'processed', seq, detail: 'stored', certname: 'elsewhere', hash: null };
    const handled: Handled = { outcome, decision: null, duration: 0, parse: null };
    adopted.push(seq);
    held.adopted(message.id, handled);
  }
  return adopted;
}

test('held commands: moves go in their order, a few at a time, at a price that does not grow with how many wait', () => {
  const { source, target, held } = setUp();
  const count = 3_000;
  for (let seq = 1; seq <= count; seq++) held.hold(asSlot(source), moving(seq));
  assert.equal(held.moving, count);
  assert.equal(source.posted.length, 4);
  const adopted: number[] = [];
  while (held.moving > 0) adopted.push(...turn(held, source, target));
  assert.deepEqual(
    adopted,
    Array.from({ length: count }, (_, index) => index + 1),
  );
  assert.equal(source.held.size, 0);
  assert.ok(source.looks + target.looks < 5 * count, `${source.looks + target.looks} looks`);
});

test('held commands: what is on its way when an actor dies begins again once it is back', () => {
  const { source, target, held } = setUp();
  for (let seq = 1; seq <= 10; seq++) held.hold(asSlot(source), moving(seq));
  source.isUp = false;
  source.take();
  held.down(new Set([asSlot(source)]));
  assert.equal(source.posted.length, 0);
  source.isUp = true;
  held.up();
  const adopted: number[] = [];
  for (let i = 0; i < 10; i++) adopted.push(...turn(held, source, target));
  assert.deepEqual(
    adopted.sort((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  );
  assert.equal(held.moving, 0);
  assert.ok(lines.includes("[10-0] [0 ms] 'replace facts' command processed for elsewhere"));
});

test('admission: commands that are to move count among those that wait', () => {
  let count = 4;
  const admission = new Admission({
    limits: { ...ringLimits, waitingMax: 5 },
    stream: { trouble: null } as CommandStream,
    rate: () => 1,
    moving: () => count,
    onWaiting: () => {},
    log,
  });
  admission.check('a', 1);
  count = 5;
  assert.throws(() => admission.check('a', 1), /5 commands are waiting to be processed/);
  count = 0;
  admission.check('a', 1);
});
