// Moves between partitions, without threads: in their order, a few at a time, with work that does not grow with how many wait.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CommandStream } from '../../../engine/inbox/stream.ts';
import type { CommandOutcome } from '../../../engine/ingest/command/types.ts';
import type { Handled, Held, ToActor } from '../../../workers/actor/messages.ts';
import type { Log } from '../../../workers/log.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { Admission } from '../../../workers/ring/admission.ts';
import { CommandMetrics } from '../../../workers/ring/command-metrics.ts';
import { HeldCommands } from '../../../workers/ring/held-commands.ts';
import type { Entry } from '../../../workers/ring/mailbox.ts';
import { type RingLimits, ringLimits } from '../../../workers/ring/ring-options.ts';
import { SETTLED_MS } from '../../../workers/ring/run-marker.ts';
import type { Slot } from '../../../workers/ring/slot.ts';
import type { Suspects } from '../../../workers/ring/suspects.ts';
import { Trials } from '../../../workers/ring/trials.ts';
import { envelope } from '../../engine/inbox/support.ts';
import { collect } from '../../support/collect.ts';
import { until } from '../../support/waiting.ts';

/** A partition of which nothing but its door is there; `looks`: how often it was asked whether it is open. */
class FakeSlot {
  readonly slot: number;
  readonly held = new Map<number, Held>();
  readonly posted: ToActor[] = [];
  readonly actor = { post: (message: ToActor): void => void this.posted.push(message) };
  troubles: Slot['troubles'] = { actor: null, log: null };
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

interface SetUp {
  readonly source: FakeSlot;
  readonly target: FakeSlot;
  readonly held: HeldCommands;
  readonly trials: Trials;
  /** What was noted, the latest last: slot and seqs, null while nothing is tried. */
  readonly noted: (readonly [slot: number, seqs: readonly number[]] | null)[];
  /** Monotonic ms. */
  readonly time: { now: number };
}

function setUp(isFeared = false, isBackedUp = (): boolean => false): SetUp {
  const [source, target] = [new FakeSlot(0), new FakeSlot(1)];
  const noted: SetUp['noted'] = [];
  const time = { now: 5 };
  const trials = new Trials({
    suspects: {
      saveTrying: (slot, seqs) => void noted.push([slot, seqs]),
      saveTried: () => void noted.push(null),
    },
    isFeared,
    clock: () => time.now,
    mayTryHeld: () => true,
    onEnd: () => held.up(),
  });
  const slotOf = () => asSlot(target);
  const held = new HeldCommands({ metrics: metrics(), suspects, log, slotOf, trials, isBackedUp });
  return { source, target, held, trials, noted, time };
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

test('held commands: who waits for a move is told when it will not happen any more', () => {
  const { source, target, held } = setUp();
  target.isUp = false;
  const told: string[] = [];
  const waiter = { resolve: () => void told.push('resolved'), reject: ({ message }: Error) => void told.push(message) };
  held.hold(asSlot(source), moving(1), waiter);
  held.hold(asSlot(source), moving(2));
  assert.equal(held.awaitMove(2, waiter), true, 'whose wait was not known before');
  assert.equal(held.awaitMove(3, waiter), false);
  held.close(new Error('it stops'));
  assert.deepEqual(told, ['it stops', 'it stops']);
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

test('held commands: of a move that was over already nothing is left', () => {
  const { source, target, held } = setUp();
  for (let seq = 1; seq <= 5; seq++) held.hold(asSlot(source), moving(seq));
  for (const message of source.take()) {
    assert.ok(message.kind === 'fetch');
    held.fetched({ kind: 'fetched', id: message.id, command: null });
  }
  assert.deepEqual([held.moving, source.held.size], [1, 1]);
  assert.deepEqual(turn(held, source, target), [5]);
  assert.equal(held.moving, 0);
});

test('held commands: what an actor that died had asked leave for is not tried before the next one asks', () => {
  const { source, target, held, noted } = setUp(true);
  held.asked(asSlot(target), 7);
  held.asked(asSlot(source), 8);
  held.down(new Set([asSlot(source)]));
  held.down(new Set([asSlot(target)]));
  assert.deepEqual(noted.splice(0), [[1, [7]], null]);
  target.take();
  held.up();
  assert.deepEqual([noted, source.posted, target.posted], [[], [], []]);
  held.asked(asSlot(source), 8);
  assert.deepEqual(source.take(), [{ kind: 'retry', slot: 0, seq: 8 }]);
});

test('held commands: those that are feared are tried one after the other, noted meanwhile, also where one hangs or its actor dies', () => {
  const { source, target, held, trials, noted } = setUp(true);
  const third = new FakeSlot(2);
  const retries = (): number[] =>
    [source, target, third].flatMap((slot) =>
      slot.take().map((message) => (message.kind === 'retry' ? message.seq : 0)),
    );
  for (let seq = 1; seq <= 2; seq++) held.hold(asSlot(source), moving(seq));
  held.asked(asSlot(third), 7);
  held.asked(asSlot(source), 8);
  assert.deepEqual(noted, [[1, [1]]]);
  assert.deepEqual(turn(held, source, target), [1]);
  assert.deepEqual(turn(held, source, target), [2]);
  assert.deepEqual(noted.splice(0), [[1, [1]], null, [1, [2]], null, [2, [7]]]);
  retries();
  third.troubles = { actor: 'the disk is full', log: null };
  trials.endHeld(asSlot(third));
  assert.deepEqual(noted.splice(0), [null, [0, [8]]]);
  assert.deepEqual(retries(), [8]);
  held.asked(asSlot(third), 7);
  held.down(new Set([asSlot(source)]));
  assert.deepEqual([noted.splice(0), retries()], [[null], []]);
  third.troubles = { actor: null, log: null };
  held.up();
  assert.deepEqual([noted.splice(0), retries()], [[[2, [7]]], [7]]);
});

test('held commands: after some time what is held is feared no more, and goes as it always does', () => {
  const { source, target, held, noted, time } = setUp(true);
  const fetched = (): number => source.posted.filter(({ kind }) => kind === 'fetch').length;
  for (let seq = 1; seq <= 9; seq++) held.hold(asSlot(source), moving(seq));
  time.now += SETTLED_MS - 1;
  assert.deepEqual(turn(held, source, target), [1]);
  assert.equal(fetched(), 1);
  time.now += 1;
  assert.deepEqual(turn(held, source, target), [2]);
  assert.deepEqual(noted.splice(0), [[1, [1]], null, [1, [2]], null]);
  assert.equal(fetched(), 4);
  held.asked(asSlot(source), 10);
  held.asked(asSlot(target), 11);
  assert.deepEqual(source.posted.at(-1), { kind: 'retry', slot: 0, seq: 10 });
  assert.deepEqual(target.take(), [{ kind: 'retry', slot: 1, seq: 11 }]);
  assert.deepEqual(noted, []);
});

test('trials: the end of another command ends none, nor what hangs on another partition', () => {
  const { source, target, held, trials, noted } = setUp(true);
  held.asked(asSlot(source), 7);
  trials.end(8);
  trials.endHeld(asSlot(target));
  assert.deepEqual([noted, trials.isBusy], [[[0, [7]]], true]);
  trials.end(7);
  assert.equal(trials.isBusy, false);
});

test('admission: a log that was opened while it could not be written is tried again without a submission', async () => {
  let trouble: Error | null = new Error('ENOSPC: no room');
  let tries = 0;
  const stream = {
    get trouble() {
      return trouble;
    },
    recover: async () => {
      if (tries++ === 0) return false;
      trouble = null;
      return true;
    },
  } as unknown as CommandStream;
  const told: string[] = [];
  const admission = new Admission({
    limits: ringLimits,
    stream,
    rate: () => 1,
    moving: () => 0,
    onWaiting: () => {},
    log: { ...log, error: (line: string) => void told.push(line) },
  });
  assert.deepEqual(told, ['commands are refused: ENOSPC: no room']);
  await until('it can be written', () => trouble === null);
  admission.check('a', 1);
  admission.close();
});

interface Waiting {
  readonly certname: string;
  readonly bytes: number;
  obsolete?: boolean;
}

/** Admission to a log that is well; `entered` and `left` get what a mailbox tells. */
function newAdmission(limits: Partial<RingLimits>, rest: { moving?: () => number; stream?: object } = {}) {
  const told: string[] = [];
  const admission = new Admission({
    limits: { ...ringLimits, ...limits },
    stream: (rest.stream ?? { trouble: null }) as CommandStream,
    rate: () => 0.1,
    moving: rest.moving ?? (() => 0),
    onWaiting: () => {},
    log: { ...log, info: (line: string) => void told.push(line), error: (line: string) => void told.push(line) } as Log,
  });
  const entryOf = ({ certname, bytes, obsolete = false }: Waiting): Entry =>
    ({ obsolete, record: { bytes, envelope: { certname } } }) as Entry;
  return {
    admission,
    told,
    entered: (waiting: Waiting) => admission.entered(entryOf(waiting)),
    superseded: (waiting: Waiting) => admission.superseded(entryOf(waiting)),
    left: (waiting: Waiting) => admission.left(entryOf(waiting)),
    /** Why a command is refused; empty: it is not. */
    refusal: (certname: string, size: number): string => {
      try {
        admission.check(certname, size);
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

test('admission: commands that are to move count among those that wait', () => {
  let count = 4;
  const { refusal } = newAdmission({ waitingMax: 5 }, { moving: () => count });
  assert.equal(refusal('a', 1), '');
  count = 5;
  assert.equal(refusal('a', 1), '5 commands are waiting to be processed');
  count = 0;
  assert.equal(refusal('a', 1), '');
});

test('admission: each limit is for what it names, and what has gone takes no room', () => {
  const { admission, refusal, entered, superseded, left } = newAdmission({
    waitingMax: 4,
    waitingPerCertnameMax: 2,
    waitingSizeMax: 100,
    writingSizeMax: 50,
  });
  for (let round = 0; round < 3; round++) {
    assert.equal(refusal('a', 1000), '', 'a large one alone');
    // Those that are being written.
    admission.writing(30);
    assert.equal(refusal('a', 20), '');
    assert.equal(refusal('a', 21), '30 bytes of commands are waiting to be written');
    const [first, second, other] = [
      { certname: 'a', bytes: 30 },
      { certname: 'a', bytes: 20 },
      { certname: 'b', bytes: 10 },
    ] as const;
    entered(first);
    admission.written(30);
    entered(second);
    assert.equal(refusal('a', 1), '2 commands of a are waiting to be processed');
    // By their bytes, those that are being written included.
    admission.writing(10);
    assert.equal(refusal('b', 40), '');
    assert.equal(refusal('b', 41), '50 bytes of commands are waiting to be processed');
    superseded(first);
    const obsolete = { ...first, obsolete: true };
    assert.equal(refusal('b', 40), '');
    admission.written(10);
    assert.equal(refusal('b', 80), '');
    assert.equal(refusal('b', 81), '20 bytes of commands are waiting to be processed');
    // By their number.
    admission.writing(1);
    entered(other);
    assert.equal(refusal('b', 1), '4 commands are waiting to be processed');
    admission.written(1);
    left(obsolete);
    assert.equal(refusal('a', 70), '');
    assert.equal(refusal('a', 71), '30 bytes of commands are waiting to be processed');
    left(second);
    left(other);
  }
});

test('admission: who is refused comes back within a minute', () => {
  const { admission, entered } = newAdmission({ waitingMax: 1 });
  for (const [count, retryAfter] of [
    [1, 1],
    [24, 3],
    [700, 60],
  ] as const) {
    for (let i = 0; i < count; i++) entered({ certname: 'a', bytes: 1 });
    assert.throws(() => admission.check('a', 1), { reason: 'full', retryAfter });
  }
});

test('admission: commands that were processed leave nothing behind of their certnames', async () => {
  const { entered, left, refusal } = newAdmission({});
  const taken = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = taken();
  for (let i = 0; i < 200_000; i++) {
    const waiting = { certname: `node ${i} `.repeat(10), bytes: 1 };
    entered(waiting);
    left(waiting);
  }
  await until('the memory is free', () => taken() - before < 4 << 20);
  assert.equal(refusal('a', 1), '');
});

test('admission: that the log cannot be written is told once; when it can be again, it is not asked any more', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let asked = 0;
  const stream = {
    trouble: null as Error | null,
    recover: async () => {
      asked++;
      stream.trouble = null;
      return true;
    },
  };
  const { admission, told } = newAdmission({}, { stream });
  assert.equal(admission.isWell, true);
  const wrong = new RangeError('too large');
  assert.equal(admission.failed(wrong), wrong);
  assert.equal(admission.isWell, true, 'that was the command');
  for (let i = 0; i < 2; i++) {
    assert.match(admission.failed(new Error('EIO')).message, /^the command log cannot be written: EIO$/);
  }
  assert.equal(admission.isWell, false);
  assert.deepEqual(told, ['commands are refused: EIO']);
  t.mock.timers.tick(5000);
  assert.equal(asked, 0, 'it is written again with the next command');
  stream.trouble = new Error('EIO');
  admission.failed(stream.trouble);
  t.mock.timers.tick(1000);
  await new Promise(setImmediate);
  assert.deepEqual([asked, admission.isWell], [1, true]);
  assert.deepEqual(told.splice(1), ['the command log can be written again']);
  t.mock.timers.tick(5000);
  assert.equal(asked, 1);
});

test('what has moved stays where it came from while a backup is made', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isBackedUp = true;
  const { source, target, held } = setUp(false, () => isBackedUp);
  const forgotten: number[] = [];
  const look = (): void => {
    for (const message of source.posted) if (message.kind === 'forget') forgotten.push(message.seq);
  };
  for (const seq of [1, 2]) {
    held.hold(asSlot(source), moving(seq));
    assert.deepEqual(turn(held, source, target), [seq]);
  }
  look();
  t.mock.timers.tick(5000);
  look();
  assert.deepEqual(forgotten, []);
  isBackedUp = false;
  t.mock.timers.tick(1000);
  look();
  assert.deepEqual(forgotten, [1, 2]);
  source.take();
  held.hold(asSlot(source), moving(3));
  turn(held, source, target);
  look();
  assert.deepEqual(forgotten, [1, 2, 3]);
  held.close(new Error('over'));
});
