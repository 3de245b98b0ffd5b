// The one writer of one partition, inside an actor thread: applies batches, keeps failed commands until they may be tried
// again (held-memory.ts), hands hopeless ones to the dead letter office (burials.ts), and runs maintenance in between.
//
// All writing goes through its writer (partition-writer.ts), one piece of work after the other. What goes wrong is told apart like this:
//   a command fails       its outcome says so; the same commit puts it into the table of held commands
//   the store cannot be   (disk full, I/O error) the batch is kept and tried again with growing pauses; nothing is lost or
//   written               answered meanwhile, and the main thread is told. Where it is room that is wanted, half of the batch is tried first
//   a page is damaged     the same: what was acknowledged stays in the log
//   the engine throws     five quick attempts, then each command alone; one that still throws is a failed command

import type { DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { BodyReader, Unreadable } from '../../engine/inbox/stored-body.ts';
import { failedOutcome } from '../../engine/ingest/command/errors.ts';
import type { CommandOutcome, QueuedCommand } from '../../engine/ingest/command/types.ts';
import { framesOf, messageOf } from '../../engine/reason.ts';
import type { StepResult, Sweep } from '../../engine/retention/sweep.ts';
import { monotonicMs, TIMER_MAX } from '../system/clock.ts';
import type { ActivityMark } from './activity.ts';
import type { ActorTimes } from './actor-times.ts';
import { Burials } from './burials.ts';
import { decodeHeld } from './held-command.ts';
import { HeldMemory, type Item, newItem } from './held-memory.ts';
import type { BatchMessage, Decision, FromActor, Handled, Held, SweepKind, Timing, ToActor } from './messages.ts';
import type { PartitionHost } from './partition-host.ts';
import { PartitionWriter } from './partition-writer.ts';
import { isOutOfRoom, isSystemError } from './store-failures.ts';

const QUICK_ATTEMPTS = 5;

interface PartitionActorOptions {
  readonly slot: number;
  readonly host: PartitionHost;
  readonly deadLetters: DeadLetters;
  readonly times: ActorTimes;
  readonly activity: ActivityMark;
  readonly post: (message: FromActor) => void;
  /** Epoch ms. */
  readonly now: () => number;
  /** Held commands that killed their actor too often: seq and reason. */
  readonly givenUp: ReadonlyMap<number, string>;
  /** What waits may end the process: the main thread says when a held command is tried. */
  readonly isFeared: boolean;
}

/** What the activity mark says while commands are applied. */
interface Doing {
  readonly kind: 'batch' | 'retry';
  readonly id: number;
}

interface Executed {
  readonly handled: Handled[];
  readonly timings: Timing[];
}

export class PartitionActor {
  readonly #slot: number;
  readonly #host: PartitionHost;
  readonly #activity: ActivityMark;
  readonly #post: (message: FromActor) => void;
  readonly #now: () => number;
  readonly #isFeared: boolean;
  readonly #reader = new BodyReader();
  readonly #writer: PartitionWriter;
  readonly #held: HeldMemory;
  readonly #burials: Burials;
  /** What was found at the start, for the announcement. */
  #found: readonly Held[];
  #retryTimer: NodeJS.Timeout | null = null;
  /** A held command is being tried, or the main thread was asked for leave to. */
  #isRetrying = false;

  constructor(options: PartitionActorOptions) {
    const { slot, host, deadLetters, times, post } = options;
    this.#slot = slot;
    this.#host = host;
    this.#activity = options.activity;
    this.#post = post;
    this.#now = options.now;
    this.#isFeared = options.isFeared;
    this.#writer = new PartitionWriter({ slot, host, times, post });
    this.#held = new HeldMemory(host, times.retryDelay);
    const { dead } = this.#held;
    this.#burials = new Burials({ slot, host, writer: this.#writer, deadLetters, times, post, dead });
    this.#found = this.#held.takeOver(options.givenUp, this.#now());
  }

  /** Announces the partition and begins with what was held: every waiting command is tried at once (spec/commands.md 2.7), or when it may be. */
  begin(): void {
    this.#post({ kind: 'ready', slot: this.#slot, position: this.#host.position, held: this.#found });
    this.#found = [];
    this.#writer.flushSoon(0);
    this.#burials.begin();
    this.#planRetries();
  }

  batch(message: BatchMessage): void {
    void this.#writer.exclusive(async () => {
      const { giveUp, position } = message;
      const commands = this.#read(message);
      if (commands === null) return;
      const items = commands.map(newItem);
      const executed = await this.#settle(items, position, { kind: 'batch', id: message.id }, giveUp);
      this.#reader.rest();
      if (executed === null) return;
      this.#post({ kind: 'applied', slot: this.#slot, id: message.id, ...executed });
      this.#committed();
    });
  }

  /** The commands with their bodies, which last until the next batch; null: the main thread is told that one cannot be read. */
  #read({ id, commands, bodies: stored }: BatchMessage): QueuedCommand[] | null {
    try {
      const bodies = this.#reader.read(stored);
      return commands.map(({ seq, envelope }, i) => ({ seq, envelope, body: bodies[i]! }));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      const { index, isDamaged, message: text } = error;
      this.#post({ kind: 'unread', slot: this.#slot, id, index, isDamaged, text });
      return null;
    }
  }

  /** Runs a sweep step by step; between two steps whatever arrived meanwhile has its turn. */
  sweep(id: number, kind: SweepKind): void {
    let sweep: Sweep | null = null;
    const finish = (changed: number, day: number | null): void => {
      this.#post({ kind: 'swept', id, changed, day, error: null, mayPass: false });
    };
    const fail = (changed: number, error: string, mayPass: boolean): void => {
      this.#post({ kind: 'swept', id, changed, day: null, error, mayPass });
    };
    const more = async (before: number): Promise<void> => {
      if (this.#writer.trouble !== null || this.#writer.isStopping) {
        fail(before, this.#writer.trouble ?? 'stopping', true);
        return;
      }
      try {
        sweep ??= this.#host.sweep(kind, this.#now());
        const { changed, done, day = null } = this.#sweepStep(id, sweep);
        if (done) finish(before + changed, day);
        else void this.#writer.exclusive(() => more(before + changed));
      } catch (error) {
        fail(before, messageOf(error), isSystemError(error));
      }
    };
    if (this.#writer.trouble !== null) fail(0, this.#writer.trouble, true);
    else void this.#writer.exclusive(() => more(0));
  }

  #sweepStep(id: number, sweep: Sweep): StepResult {
    this.#activity.begin('sweep', this.#slot, id);
    try {
      const result = sweep.step();
      const { changed, expired = [] } = result;
      if (changed > 0) this.#writer.flushSoon();
      if (expired.length > 0) this.#post({ kind: 'expired', certnames: expired });
      return result;
    } finally {
      this.#activity.end();
    }
  }

  // ------------------------------------------------------------------ commands of other partitions

  /** Hands out a command that is to move. It stays here until `forget`. */
  fetch(id: number, seq: number): void {
    void this.#writer.exclusive(async () => {
      const bytes = this.#held.moving.has(seq) ? this.#host.readHeld(seq) : null;
      const held = bytes === null ? null : decodeHeld(bytes);
      const command =
        held === null ? null : { seq, envelope: { ...held.envelope, certname: held.certname }, body: held.body };
      this.#post({ kind: 'fetched', id, command });
    });
  }

  forget(seq: number): void {
    void this.#writer.exclusive(async () => {
      await this.#writer.whileWritable(() => this.#host.writeHeld([{ seq, bytes: null }], 0));
      this.#held.moving.delete(seq);
      this.#writer.flushSoon();
    });
  }

  /**
   * Applies a command that came to another partition first. It may come twice, when an actor dies in between: what
   * commands do is the same the second time (older or equal data is not stored again).
   */
  adopt({ id, command, giveUp }: Extract<ToActor, { kind: 'adopt' }>): void {
    void this.#writer.exclusive(async () => {
      const items = [newItem(command)];
      const executed = await this.#settle(items, 0, { kind: 'retry', id: command.seq }, giveUp);
      if (executed === null) return;
      this.#post({ kind: 'adopted', slot: this.#slot, id, handled: executed.handled[0]! });
      this.#committed();
    });
  }

  /** Finishes what is running, makes it durable and closes. Held commands stay in the partition. */
  async stop(): Promise<void> {
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await this.#writer.beginStop();
    await this.#burials.ended();
    await this.#writer.stop();
    await this.#host.close();
  }

  // ------------------------------------------------------------------ executing

  /** Applies the items, or records that they are given up, with that reason. */
  #settle(items: readonly Item[], position: number, activity: Doing, giveUp: string | null): Promise<Executed | null> {
    if (giveUp === null) return this.#execute(items, position, activity);
    return this.#writer.whileWritable(() => this.#giveUp(items, position, giveUp));
  }

  /** Applies the items and reports each; null when the actor stops before the store could be written. */
  async #execute(items: readonly Item[], position: number, activity: Doing): Promise<Executed | null> {
    let lastError: unknown = null;
    for (let attempt = 0; attempt < QUICK_ATTEMPTS; attempt++) {
      try {
        return await this.#writer.whileWritable(() => this.#apply(items, position, activity), items.length > 1);
      } catch (error) {
        if (items.length > 1 && isOutOfRoom(error))
          return this.#executeParts(items, items.length >> 1, position, activity);
        lastError = error;
      }
    }
    if (items.length === 1) return this.#writer.whileWritable(() => this.#recordThrown(items[0]!, position, lastError));
    return this.#executeParts(items, 1, position, activity);
  }

  /** The same with at most `size` items at a time. */
  async #executeParts(
    items: readonly Item[],
    size: number,
    position: number,
    activity: Doing,
  ): Promise<Executed | null> {
    const all: Executed = { handled: [], timings: [] };
    for (let start = 0; start < items.length; start += size) {
      const part = items.slice(start, start + size);
      const isLast = start + size >= items.length;
      const upTo = isLast ? position : Math.min(position, part[part.length - 1]!.command.seq);
      const executed = await this.#execute(part, upTo, activity);
      if (executed === null) return null;
      all.handled.push(...executed.handled);
      all.timings.push(...executed.timings);
    }
    return all;
  }

  #apply(items: readonly Item[], position: number, activity: Doing): Executed {
    const commands = items.map((item) => item.command);
    const now = this.#now();
    let decisions: (Decision | null)[] = [];
    this.#activity.begin(activity.kind, this.#slot, activity.id);
    try {
      const { outcomes, durations, parses, timings } = this.#host.apply(commands, {
        now,
        position,
        held: (all) => {
          decisions = all.map((outcome, i) => this.#held.decide(items[i]!, outcome));
          return this.#held.changes(items, all, decisions, now);
        },
      });
      this.#held.remember(items, outcomes, decisions, now);
      const handled = outcomes.map((outcome, i) => ({
        outcome,
        decision: decisions[i]!,
        duration: durations[i]!,
        parse: parses[i]!,
      }));
      return { handled, timings: [...timings] };
    } finally {
      this.#activity.end();
    }
  }

  /** A command that makes the engine throw, time after time, is recorded without being applied. */
  #recordThrown(item: Item, position: number, error: unknown): Executed {
    const exception = error instanceof Error ? error.name : 'Error';
    const failure = { retryable: true, error: messageOf(error), exception, stack: framesOf(error) };
    return this.#record([item], position, failedOutcome(item.command.seq, failure));
  }

  #giveUp(items: readonly Item[], position: number, reason: string): Executed {
    const failure = { retryable: false, error: reason, exception: 'CommandGivenUp' };
    return this.#record(items, position, failedOutcome(items[0]!.command.seq, failure));
  }

  #record(items: readonly Item[], position: number, outcome: CommandOutcome): Executed {
    const now = this.#now();
    const decisions = items.map((item) => this.#held.decide(item, outcome));
    this.#host.writeHeld(this.#held.changes(items, [outcome], decisions, now), position);
    this.#held.remember(items, [outcome], decisions, now);
    return { handled: [{ outcome, decision: decisions[0]!, duration: 0, parse: null }], timings: [] };
  }

  // ------------------------------------------------------------------ held commands

  #planRetries(): void {
    if (this.#retryTimer !== null || this.#isRetrying || this.#writer.isStopping || this.#held.waiting.size === 0)
      return;
    // Waking early only plans again.
    const delay = Math.min(Math.max(this.#held.due - monotonicMs(), 0), TIMER_MAX);
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = null;
      this.#retryNext();
    }, delay);
  }

  #retryNext(): void {
    const next = this.#held.nextDue();
    if (next === null) {
      this.#planRetries();
      return;
    }
    const { seq } = next;
    this.#isRetrying = true;
    if (this.#isFeared) this.#post({ kind: 'retrying', slot: this.#slot, seq });
    else this.retry(seq);
  }

  /** Tries the command, for which leave was asked where that has to be. */
  retry(seq: number): void {
    void this.#writer
      .exclusive(() => this.#retry(seq))
      .then(() => {
        this.#isRetrying = false;
        this.#planRetries();
      });
  }

  async #retry(seq: number): Promise<void> {
    const next = this.#held.waiting.get(seq);
    const bytes = next === undefined ? null : this.#host.readHeld(seq);
    if (next === undefined || bytes === null) {
      this.#held.waiting.delete(seq);
      this.#post({ kind: 'retried', slot: this.#slot, seq, results: [], timings: [] });
      return;
    }
    const { attempts } = next;
    const held = decodeHeld(bytes);
    const { envelope, body } = held;
    const item = { command: { seq, envelope, body }, attempts };
    const executed = await this.#execute([item], 0, { kind: 'retry', id: seq });
    if (executed === null) return;
    const results = executed.handled.map((handled) => ({
      ...handled,
      envelope,
      attempts: attempts.length,
    }));
    this.#post({ kind: 'retried', slot: this.#slot, seq, results, timings: executed.timings });
    this.#committed();
  }

  #committed(): void {
    this.#writer.flushSoon();
    this.#burials.begin();
    this.#planRetries();
  }
}
