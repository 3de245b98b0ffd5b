// The one writer of one partition, inside an actor thread: applies batches, keeps failed commands until they may be tried
// again, hands hopeless ones to the dead letter office, makes commits durable, and runs maintenance in between.
//
// All writing goes through `#exclusive`, one piece of work after the other. What goes wrong is told apart like this:
//   a command fails       its outcome says so; the same commit puts it into the table of held commands
//   the store cannot be   (disk full, I/O error) the batch is kept and tried again with growing pauses; nothing is lost or
//   written               answered meanwhile, and the main thread is told. Where it is room that is wanted, half of the batch is tried first
//   a page is damaged     the same: what was acknowledged stays in the log
//   the engine throws     five quick attempts, then each command alone; one that still throws is a failed command

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Attempt, DeadLetters } from '../engine/inbox/dead-letters.ts';
import { BodyReader, Unreadable } from '../engine/inbox/stored-body.ts';
import type { ApplyOutcome, CommandOutcome, QueuedCommand } from '../engine/ingest/types.ts';
import { messageOf } from '../engine/reason.ts';
import type { StepResult, Sweep } from '../engine/retention/sweep.ts';
import { DAMAGE_ADVICE } from '../engine/store/data-file.ts';
import { tellsOfDamage } from '../engine/store/lmdb.ts';
import type { ActivityMark } from './activity.ts';
import { monotonicMs } from './clock.ts';
import { decodeHeld, encodeHeld, type HeldCommand } from './held-command.ts';
import type {
  BatchMessage,
  Decision,
  Discarded,
  FromActor,
  Handled,
  Held,
  SweepKind,
  Timing,
  ToActor,
} from './messages.ts';
import type { HeldChange, PartitionHost } from './partition-host.ts';

/** Numbers that tests make small. Milliseconds. */
export interface ActorTimes {
  /** Between the attempts of a retryable command. */
  readonly retryDelay: number;
  /** From a commit to the flush that makes it durable. */
  readonly flushDelay: number;
  /** First and largest pause while the partition cannot be written. */
  readonly stallMin: number;
  readonly stallMax: number;
}

export const actorTimes: ActorTimes = { retryDelay: 3_600_000, flushDelay: 1000, stallMin: 200, stallMax: 10_000 };

/** Delayed attempts of a retryable command after the first one (spec/commands.md 2.5). */
const DELAYS_MAX = 5;
const QUICK_ATTEMPTS = 5;
/** Beyond this many held commands the next one is given up at once: they cost room, and a sender can produce any number. */
const WAITING_MAX = 10_000;
const LETTERS_AT_ONCE = 16;

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

type FailedOutcome = Extract<CommandOutcome, { kind: 'failed' }>;

interface Item {
  readonly command: QueuedCommand;
  /** Earlier attempts, oldest first. */
  readonly attempts: readonly Attempt[];
}

interface WaitingCommand {
  readonly seq: number;
  /** Monotonic ms. */
  readonly due: number;
  /** Since this actor began, oldest first. */
  readonly attempts: readonly Attempt[];
}

/** What can be wrong with a partition, the first that is told first. */
type TroubleKind = 'write' | 'flush' | 'letters';

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
  readonly #deadLetters: DeadLetters;
  readonly #times: ActorTimes;
  readonly #activity: ActivityMark;
  readonly #post: (message: FromActor) => void;
  readonly #now: () => number;
  readonly #isFeared: boolean;
  readonly #reader = new BodyReader();
  readonly #waiting = new Map<number, WaitingCommand>();
  /** To go to the partition of that certname, by seq. */
  readonly #moving = new Map<number, string>();
  /** Given up, letter not written yet. */
  readonly #dead = new Set<number>();
  /** What was found at the start, for the announcement. */
  #found: Held[] = [];
  #tail: Promise<void> = Promise.resolve();
  readonly #troubles: Record<TroubleKind, string | null> = { write: null, flush: null, letters: null };
  /** What the main thread was told last. */
  #told: string | null = null;
  #stopping = false;
  #retryTimer: NodeJS.Timeout | null = null;
  /** A held command is being tried, or the main thread was asked for leave to. */
  #isRetrying = false;
  #flushTimer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> | null = null;
  #burying: Promise<void> | null = null;
  /** Ends the pause of whoever waits for better times. */
  readonly #wake = new Set<() => void>();

  constructor(options: PartitionActorOptions) {
    this.#slot = options.slot;
    this.#host = options.host;
    this.#deadLetters = options.deadLetters;
    this.#times = options.times;
    this.#activity = options.activity;
    this.#post = options.post;
    this.#now = options.now;
    this.#isFeared = options.isFeared;
    this.#takeOver(options.givenUp);
  }

  /** Announces the partition and begins with what was held: every waiting command is tried at once (spec/commands.md 2.7), or when it may be. */
  begin(): void {
    this.#post({ kind: 'ready', slot: this.#slot, position: this.#host.position, held: this.#found });
    this.#found = [];
    this.#flushSoon(0);
    this.#bury();
    this.#planRetries();
  }

  batch(message: BatchMessage): void {
    void this.#exclusive(async () => {
      const { giveUp, position } = message;
      const commands = this.#read(message);
      if (commands === null) return;
      const items = commands.map(newItem);
      const executed =
        giveUp === null
          ? await this.#execute(items, position, { kind: 'batch', id: message.id })
          : await this.#whileWritable(() => this.#giveUp(items, position, giveUp));
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
      if (this.#trouble !== null || this.#stopping) {
        fail(before, this.#trouble ?? 'stopping', true);
        return;
      }
      try {
        sweep ??= this.#host.sweep(kind, this.#now());
        const { changed, done, day = null } = this.#sweepStep(id, sweep);
        if (done) finish(before + changed, day);
        else void this.#exclusive(() => more(before + changed));
      } catch (error) {
        fail(before, messageOf(error), isSystemError(error));
      }
    };
    if (this.#trouble !== null) fail(0, this.#trouble, true);
    else void this.#exclusive(() => more(0));
  }

  #sweepStep(id: number, sweep: Sweep): StepResult {
    this.#activity.begin('sweep', this.#slot, id);
    try {
      const result = sweep.step();
      const { changed, expired = [] } = result;
      if (changed > 0) this.#flushSoon(this.#times.flushDelay);
      if (expired.length > 0) this.#post({ kind: 'expired', certnames: expired });
      return result;
    } finally {
      this.#activity.end();
    }
  }

  // ------------------------------------------------------------------ commands of other partitions

  /** Hands out a command that is to move. It stays here until `forget`. */
  fetch(id: number, seq: number): void {
    void this.#exclusive(async () => {
      const bytes = this.#moving.has(seq) ? this.#host.readHeld(seq) : null;
      const held = bytes === null ? null : decodeHeld(bytes);
      const command =
        held === null ? null : { seq, envelope: { ...held.envelope, certname: held.certname }, body: held.body };
      this.#post({ kind: 'fetched', id, command });
    });
  }

  forget(seq: number): void {
    void this.#exclusive(async () => {
      await this.#whileWritable(() => this.#host.writeHeld([{ seq, bytes: null }], 0));
      this.#moving.delete(seq);
      this.#flushSoon(this.#times.flushDelay);
    });
  }

  /**
   * Applies a command that came to another partition first. It may come twice, when an actor dies in between: what
   * commands do is the same the second time (older or equal data is not stored again).
   */
  adopt({ id, command, giveUp }: Extract<ToActor, { kind: 'adopt' }>): void {
    void this.#exclusive(async () => {
      const items = [newItem(command)];
      const executed =
        giveUp === null
          ? await this.#execute(items, 0, { kind: 'retry', id: command.seq })
          : await this.#whileWritable(() => this.#giveUp(items, 0, giveUp));
      if (executed === null) return;
      this.#post({ kind: 'adopted', slot: this.#slot, id, handled: executed.handled[0]! });
      this.#committed();
    });
  }

  /** Finishes what is running, makes it durable and closes. Held commands stay in the partition. */
  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    for (const wake of this.#wake) wake();
    await this.#tail;
    await this.#burying;
    await this.#flushing;
    await this.#flush();
    await this.#host.close();
  }

  // ------------------------------------------------------------------ executing

  /** Applies the items and reports each; null when the actor stops before the store could be written. */
  async #execute(items: readonly Item[], position: number, activity: Doing): Promise<Executed | null> {
    let lastError: unknown = null;
    for (let attempt = 0; attempt < QUICK_ATTEMPTS; attempt++) {
      try {
        const executed = await this.#whileWritable(() => this.#apply(items, position, activity), items.length > 1);
        return executed;
      } catch (error) {
        if (items.length > 1 && isOutOfRoom(error))
          return this.#executeParts(items, items.length >> 1, position, activity);
        lastError = error;
      }
    }
    if (items.length === 1) return this.#whileWritable(() => this.#recordThrown(items[0]!, position, lastError));
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

  /**
   * Runs `write`; while the store is what fails, pauses and runs it again. Throws what is not the store's fault, and a want of room where
   * less can be written first.
   */
  async #whileWritable<T>(write: () => T, isDivisible = false): Promise<T | null> {
    for (let pause = this.#times.stallMin; ; pause = Math.min(pause * 2, this.#times.stallMax)) {
      try {
        const result = write();
        this.#setTrouble('write', null);
        return result;
      } catch (error) {
        if (isDivisible && isOutOfRoom(error)) throw error;
        const isDamaged = tellsOfDamage(error);
        if (!isDamaged && !isSystemError(error) && this.#canWrite()) throw error;
        // A sync that failed is made up for by a flush.
        if (!isOutOfRoom(error)) this.#flushSoon(0);
        this.#setTrouble(
          'write',
          isDamaged ? `${error.message}; its file is damaged: ${DAMAGE_ADVICE}` : messageOf(error),
        );
      }
      if (this.#stopping) return null;
      await this.#pause(pause);
    }
  }

  /** Whether the partition takes an empty commit: tells a failing store from a failing command. */
  #canWrite(): boolean {
    try {
      this.#host.writeHeld([], 0);
      return true;
    } catch {
      return false;
    }
  }

  #apply(items: readonly Item[], position: number, activity: Doing): Executed {
    const commands = items.map((item) => item.command);
    const now = this.#now();
    let decisions: (Decision | null)[] = [];
    this.#activity.begin(activity.kind, this.#slot, activity.id);
    const start = performance.now();
    try {
      const { outcomes, durations, parses, timings } = this.#host.apply(commands, {
        now,
        position,
        held: (all) => {
          decisions = all.map((outcome, i) => this.#decide(items[i]!, outcome));
          return this.#changes(items, all, decisions, now);
        },
      });
      const share = (performance.now() - start) / Math.max(1, items.length);
      this.#remember(items, outcomes, decisions, now);
      const handled = outcomes.map((outcome, i) => ({
        outcome,
        decision: decisions[i]!,
        duration: durations?.[i] ?? share,
        parse: parses?.[i] ?? null,
      }));
      return { handled, timings: [...timings] };
    } finally {
      this.#activity.end();
    }
  }

  #decide(item: Item, outcome: ApplyOutcome): Decision | null {
    if (outcome.kind === 'processed') return null;
    if (outcome.kind === 'reroute') return 'moving';
    if (!outcome.retryable || item.attempts.length >= DELAYS_MAX) return 'dead';
    const known = this.#waiting.has(item.command.seq);
    return known || this.#waiting.size < WAITING_MAX ? 'waiting' : 'dead';
  }

  #changes(
    items: readonly Item[],
    outcomes: readonly ApplyOutcome[],
    decisions: readonly (Decision | null)[],
    now: number,
  ): HeldChange[] {
    const changes: HeldChange[] = [];
    for (let i = 0; i < items.length; i++) {
      const { command, attempts: before } = items[i]!;
      const outcome = outcomes[i]!;
      const state = decisions[i]!;
      const { seq, envelope, body } = command;
      if (state === null) {
        if (this.#waiting.has(seq)) changes.push({ seq, bytes: null });
        continue;
      }
      const attempts = outcome.kind === 'failed' ? attemptsAfter(items[i]!, outcome, now) : before;
      const certname = outcome.kind === 'reroute' ? outcome.certname : envelope.certname;
      changes.push({ seq, bytes: encodeHeld({ envelope, body, attempts, state, certname }) });
    }
    return changes;
  }

  /** After the commit: memory follows what the table of held commands says now. */
  #remember(
    items: readonly Item[],
    outcomes: readonly ApplyOutcome[],
    decisions: readonly (Decision | null)[],
    now: number,
  ): void {
    for (let i = 0; i < items.length; i++) {
      const { seq } = items[i]!.command;
      const outcome = outcomes[i]!;
      this.#waiting.delete(seq);
      if (outcome.kind === 'reroute') this.#moving.set(seq, outcome.certname);
      if (decisions[i] === 'dead') this.#dead.add(seq);
      if (outcome.kind !== 'failed' || decisions[i] !== 'waiting') continue;
      const attempts = attemptsAfter(items[i]!, outcome, now);
      this.#waiting.set(seq, { seq, due: monotonicMs() + this.#times.retryDelay, attempts });
    }
  }

  /** A command that makes the engine throw, time after time, is recorded without being applied. */
  #recordThrown(item: Item, position: number, error: unknown): Executed {
    const outcome: CommandOutcome = {
      kind: 'failed',
      seq: item.command.seq,
      retryable: true,
      validation: false,
      error: messageOf(error),
      exception: error instanceof Error ? error.name : 'Error',
      stack: stackOf(error),
    };
    return this.#record([item], position, outcome);
  }

  #giveUp(items: readonly Item[], position: number, reason: string): Executed {
    const seq = items[0]!.command.seq;
    return this.#record(items, position, {
      kind: 'failed',
      seq,
      retryable: false,
      validation: false,
      error: reason,
      exception: 'CommandGivenUp',
      stack: [],
    });
  }

  #record(items: readonly Item[], position: number, outcome: CommandOutcome): Executed {
    const now = this.#now();
    const decisions = items.map((item) => this.#decide(item, outcome));
    this.#host.writeHeld(this.#changes(items, [outcome], decisions, now), position);
    this.#remember(items, [outcome], decisions, now);
    return { handled: [{ outcome, decision: decisions[0]!, duration: 0, parse: null }], timings: [] };
  }

  // ------------------------------------------------------------------ held commands

  /** Reads what an earlier actor left. Attempts start again; what had been given up still is. */
  #takeOver(givenUp: ReadonlyMap<number, string>): void {
    const now = this.#now();
    const due = monotonicMs();
    for (const seq of this.#host.heldSeqs()) {
      const bytes = this.#host.readHeld(seq);
      if (bytes === null) continue;
      const held = decodeHeld(bytes);
      const reason = held.state === 'waiting' ? givenUp.get(seq) : undefined;
      const state = reason === undefined ? held.state : 'dead';
      const { command, version } = held.envelope;
      this.#found.push({ seq, command, version, state, certname: held.certname });
      if (reason !== undefined) {
        const attempts = [...held.attempts, { time: now, text: reason }];
        this.#host.writeHeld([{ seq, bytes: encodeHeld({ ...held, attempts, state }) }], 0);
      }
      if (state === 'waiting') this.#waiting.set(seq, { seq, due, attempts: [] });
      else if (state === 'moving') this.#moving.set(seq, held.certname);
      else this.#dead.add(seq);
    }
  }

  #planRetries(): void {
    if (this.#retryTimer !== null || this.#isRetrying || this.#stopping || this.#waiting.size === 0) return;
    let due = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting.values()) due = Math.min(due, waiting.due);
    // A timer takes at most 2^31 ms; waking early only plans again.
    const delay = Math.min(Math.max(due - monotonicMs(), 0), 2 ** 31 - 1);
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = null;
      this.#retryNext();
    }, delay);
  }

  #retryNext(): void {
    const next = this.#nextDue();
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
    void this.#exclusive(() => this.#retry(seq)).then(() => {
      this.#isRetrying = false;
      this.#planRetries();
    });
  }

  /** The oldest command that is due. One at a time: batches go in between, and a deadly one is known by name. */
  #nextDue(): WaitingCommand | null {
    const now = monotonicMs();
    let next: WaitingCommand | null = null;
    for (const waiting of this.#waiting.values()) {
      if (waiting.due <= now && (next === null || waiting.seq < next.seq)) next = waiting;
    }
    return next;
  }

  async #retry(seq: number): Promise<void> {
    const next = this.#waiting.get(seq);
    const bytes = next === undefined ? null : this.#host.readHeld(seq);
    if (next === undefined || bytes === null) {
      this.#waiting.delete(seq);
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

  /** Moves what was given up into the dead letter office: first the letter, then the entry here. */
  #bury(): void {
    if (this.#burying !== null || this.#dead.size === 0) return;
    this.#burying = this.#buryAll().finally(() => {
      this.#burying = null;
    });
  }

  async #buryAll(): Promise<void> {
    let pause = this.#times.stallMin;
    while (this.#dead.size > 0 && !this.#stopping) {
      try {
        await this.#burySome();
        this.#setTrouble('letters', null);
        pause = this.#times.stallMin;
      } catch (error) {
        this.#setTrouble('letters', `dead letters cannot be written: ${messageOf(error)}`);
        await this.#pause(pause);
        pause = Math.min(pause * 2, this.#times.stallMax);
      }
    }
  }

  async #burySome(): Promise<void> {
    const seqs = [...this.#dead].slice(0, LETTERS_AT_ONCE);
    const letters: { seq: number; held: HeldCommand }[] = [];
    for (const seq of seqs) {
      const bytes = this.#host.readHeld(seq);
      if (bytes !== null) letters.push({ seq, held: decodeHeld(bytes) });
    }
    const added = await this.#deadLetters.put(letters.map(({ seq, held }) => ({ seq, ...held })));
    const changes = seqs.map((seq) => ({ seq, bytes: null }));
    await this.#exclusive(async () => {
      await this.#whileWritable(() => {
        this.#host.writeHeld(changes, 0);
        for (const seq of seqs) this.#dead.delete(seq);
      });
    });
    if (this.#dead.has(seqs[0]!)) return;
    const discarded: Discarded[] = letters.map(({ seq, held }, i) => ({
      seq,
      certname: held.envelope.certname,
      command: held.envelope.command,
      version: held.envelope.version,
      added: added[i]!,
    }));
    this.#post({ kind: 'discarded', slot: this.#slot, letters: discarded });
    this.#flushSoon(this.#times.flushDelay);
  }

  // ------------------------------------------------------------------ order and durability

  /**
   * One after the other, each in a turn of the event loop of its own: a port gives out messages as long as there are any, and
   * while commands keep coming neither timers nor finished flushes would have their turn.
   */
  #exclusive(work: () => Promise<void>): Promise<void> {
    this.#tail = this.#tail.then(nextTurn).then(work);
    return this.#tail;
  }

  #committed(): void {
    this.#flushSoon(this.#times.flushDelay);
    this.#bury();
    this.#planRetries();
  }

  #flushSoon(delay: number): void {
    if (this.#flushTimer !== null || this.#stopping) return;
    this.#flushTimer = setTimeout(() => {
      this.#flushTimer = null;
      this.#flushing ??= this.#flush().finally(() => {
        this.#flushing = null;
      });
    }, delay);
  }

  async #flush(): Promise<void> {
    const position = this.#host.position;
    try {
      await this.#host.flush();
      this.#post({ kind: 'flushed', slot: this.#slot, position });
    } catch (error) {
      // Nothing was lost: the log keeps the commands until a later flush succeeds.
      this.#setTrouble('flush', `flush failed: ${messageOf(error)}`);
      this.#flushSoon(this.#times.stallMax);
      return;
    }
    this.#setTrouble('flush', null);
    if (this.#host.position > position) this.#flushSoon(this.#times.flushDelay);
  }

  /** Why the store cannot be changed now. */
  get #trouble(): string | null {
    const { write, flush } = this.#troubles;
    return write ?? flush;
  }

  /** The main thread is told once, and that all is well when it is. */
  #setTrouble(kind: TroubleKind, text: string | null): void {
    this.#troubles[kind] = text;
    const told = this.#trouble ?? this.#troubles.letters;
    if (told === this.#told) return;
    this.#told = told;
    this.#post({ kind: 'trouble', slot: this.#slot, text: told });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#wake.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#wake.add(wake);
    });
  }
}

/** A command that was not tried before. */
const newItem = (command: QueuedCommand): Item => ({ command, attempts: [] });

const attemptsAfter = (item: Item, outcome: FailedOutcome, now: number): readonly Attempt[] => [
  ...item.attempts,
  { time: now, text: attemptText(outcome) },
];

/** The dead letter's text: one line for expected failures, with the stack for others. */
function attemptText(outcome: FailedOutcome): string {
  if (outcome.stack.length === 0) return outcome.error;
  return [outcome.exception === '' ? outcome.error : `${outcome.exception}: ${outcome.error}`, ...outcome.stack].join(
    '\n',
  );
}

const stackOf = (error: unknown): string[] =>
  error instanceof Error && error.stack !== undefined ? error.stack.split('\n').slice(1) : [];

/** Errors of the file system and of LMDB about its files, by code or number (28: no space, 5: input/output, 30: read only). */
const systemCodes: ReadonlySet<unknown> = new Set<unknown>([
  'ENOSPC',
  'EIO',
  'EROFS',
  'EDQUOT',
  'ENOMEM',
  'EMFILE',
  'EAGAIN',
  5,
  12,
  28,
  30,
  122,
  -30792, // MDB_MAP_FULL
]);

const isOutOfRoom = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === 'ENOSPC';

function isSystemError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return systemCodes.has((error as { code?: unknown }).code) || /^No space left|MDB_MAP_FULL/.test(error.message);
}
