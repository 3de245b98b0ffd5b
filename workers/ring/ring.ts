// The command side of the process: durable inbox, one mailbox per partition, actor threads that own the partitions.
//
//   submit --> command log (durable) --> mailbox of slot(certname) --> batch --> actor --> applied --> waiter, metrics
//                    ^                                                             |
//                    +---- released when the partition has it and has flushed it --+
//
// A partition has at most one batch at its actor. What is at an actor that dies goes back to the front of its mailbox and is
// read from the log again; the partition's stored position says what had been committed. A batch that was being applied
// when its actor died is suspect: its commands are tried one by one, and one that was there three times is given up.

import { join } from 'node:path';
import { isBackedUp } from '../../engine/backup/make.ts';
import type { DeadLetters } from '../../engine/inbox/dead-letters.ts';
import type { CommandLog } from '../../engine/inbox/log.ts';
import type { StoredBody, StreamRecord } from '../../engine/inbox/stream.ts';
import type { CommandOutcome } from '../../engine/ingest/command/types.ts';
import { inboxDir } from '../../engine/store/file/layout.ts';
import { slotOf } from '../../engine/store/file/store-info.ts';
import type { Activity } from '../actor/activity.ts';
import { type ActorTimes, actorTimes } from '../actor/actor-times.ts';
import { actorScript } from '../actor/actor-worker.ts';
import type { BatchMessage, FromActor, Handled, Held, StoredCommand } from '../actor/messages.ts';
import { type Log, silentLog } from '../log.ts';
import { MetricsRegistry } from '../metrics.ts';
import type { Accepted, CommandRing, Maintenance, Submission } from '../types.ts';
import { ActorHandle } from './actor-handle.ts';
import { Admission, stoppingRefusal } from './admission.ts';
import { CommandMetrics } from './command-metrics.ts';
import type { DataLock } from './data-lock.ts';
import { DeadLetterCounts } from './dead-letter-counts.ts';
import { HeldCommands } from './held-commands.ts';
import { type BatchLimits, Mailbox, newEntry, type Waiter } from './mailbox.ts';
import { Outcomes } from './outcomes.ts';
import { type RingLimits, type RingOptions, ringLimits } from './ring-options.ts';
import { QUICK_ENDS_MAX, type RunMarker } from './run-marker.ts';
import { CRASHES_MAX, deadlyText, executed, type Flight, NO_TROUBLES, newSlot, type Slot, troubleOf } from './slot.ts';
import { Suspects } from './suspects.ts';
import { Sweeps } from './sweeps.ts';
import { Trials } from './trials.ts';

const WATCH_MS = 5000;
const READ_AGAIN_MS = 1000;

/** What `startRing` has opened. */
interface RingParts {
  readonly lock: DataLock;
  readonly marker: RunMarker;
  readonly log: CommandLog;
  readonly positions: readonly number[];
  readonly deadLetters: DeadLetters;
}

/** Use `startRing` (start-ring.ts). */
export class Ring implements CommandRing {
  readonly metrics: CommandMetrics;
  readonly deadLetters: DeadLetterCounts;
  readonly #options: RingOptions;
  readonly #limits: RingLimits;
  readonly #times: ActorTimes;
  readonly #log: Log;
  readonly #onExpired: (certname: string) => void;
  readonly #lock: DataLock;
  readonly #marker: RunMarker;
  readonly #stream: CommandLog;
  readonly #admission: Admission;
  readonly #suspects: Suspects;
  readonly #held: HeldCommands;
  readonly #outcomes: Outcomes;
  readonly #sweeps: Sweeps;
  readonly #slots: Slot[] = [];
  readonly #actors: ActorHandle[] = [];
  /** Waiters of submissions that are being written, by uuid. */
  readonly #arriving = new Map<string, Waiter>();
  readonly #watch: NodeJS.Timeout;
  /** When all partitions should be open at the latest; monotonic ms. */
  #openBy = Number.POSITIVE_INFINITY;
  #nextId = 1;
  readonly #trials: Trials;
  #stopping: Promise<void> | null = null;
  /** The process is to end at once. */
  #isEnding = false;
  #hasToldFlights = false;
  #onLanded: (() => void)[] = [];

  constructor(options: RingOptions, parts: RingParts) {
    this.#options = options;
    this.#limits = { ...ringLimits, ...options.limits };
    this.#times = { ...actorTimes, ...options.times };
    this.#log = options.log ?? silentLog;
    this.#onExpired = options.onExpired ?? (() => {});
    this.#lock = parts.lock;
    this.#marker = parts.marker;
    this.#stream = parts.log;
    this.metrics = new CommandMetrics(options.metrics ?? new MetricsRegistry());
    this.deadLetters = new DeadLetterCounts({ letters: parts.deadLetters, metrics: this.metrics, log: this.#log });
    this.#admission = new Admission({
      limits: this.#limits,
      stream: this.#stream,
      rate: () => this.metrics.processedRate,
      moving: () => this.#held.moving,
      onWaiting: options.onWaiting ?? (() => {}),
      log: this.#log,
    });
    this.#suspects = new Suspects(join(inboxDir(options.dir), 'suspects.json'));
    const home = (certname: string): Slot => this.#slotOf(certname);
    this.#trials = new Trials({
      suspects: this.#suspects,
      isFeared: parts.marker.quickEnds >= QUICK_ENDS_MAX,
      clock: () => performance.now(),
      mayTryHeld: () => this.#stopping === null && !(this.#trials.isFeared && this.#slots.some(hasFeared)),
      onEnd: (except) => this.#tryNext(except),
    });
    this.#held = new HeldCommands({
      metrics: this.metrics,
      suspects: this.#suspects,
      log: this.#log,
      slotOf: home,
      trials: this.#trials,
      isBackedUp: () => isBackedUp(options.dir, Date.now()),
    });
    this.#outcomes = new Outcomes({
      metrics: this.metrics,
      held: this.#held,
      suspects: this.#suspects,
      deadLetters: this.deadLetters,
      log: this.#log,
    });
    this.#sweeps = new Sweeps(this.#slots, home);
    this.#makeSlots(parts.positions);
    // What was in the log before this process is delivered at once.
    let { isFeared } = this.#trials;
    this.#stream.subscribe((record) => this.#delivered(record, isFeared));
    isFeared = false;
    if (this.#trials.isFeared && this.depth > 0) {
      const why = 'the last runs ended soon and not in order, and one of these commands may be why';
      this.#log.warn(`${this.depth} commands that wait are tried batch by batch: ${why}`);
    }
    if (options.actorsAfter === undefined) this.#startActors();
    else void options.actorsAfter.then(() => this.#startActors());
    this.#watch = setInterval(() => this.#checkActors(), Math.min(WATCH_MS, this.#limits.hangMax / 4));
    this.#watch.unref();
  }

  get depth(): number {
    return this.metrics.depth;
  }

  get busyPartitions(): number {
    let count = 0;
    for (const { flight, mailbox } of this.#slots) if (flight !== null || mailbox.count > 0) count++;
    return count;
  }

  get healthy(): boolean {
    if (this.#stopping !== null || !this.#admission.isWell) return false;
    return this.#slots.every((slot) => troubleOf(slot) === null && (slot.up || slot.opening));
  }

  // ------------------------------------------------------------------ submissions

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    const { envelope, body } = submission;
    const { uuid, certname, size } = envelope;
    if (this.#stopping !== null) throw stoppingRefusal();
    const bytes = body.length;
    this.#admission.check(certname, bytes);
    const outcome = wait ? this.#outcomeOf(uuid) : null;
    const start = performance.now();
    this.#admission.writing(bytes);
    this.metrics.writing(1);
    try {
      const seq = await this.#stream.append(envelope, body);
      this.metrics.persisted(envelope, size ?? bytes, performance.now() - start);
      return { seq, outcome };
    } catch (error) {
      this.#arriving.delete(uuid);
      throw this.#stopping === null ? this.#admission.failed(error) : stoppingRefusal();
    } finally {
      this.#admission.written(bytes);
      this.metrics.writing(-1);
    }
  }

  #outcomeOf(uuid: string): Promise<CommandOutcome> {
    const outcome = new Promise<CommandOutcome>((resolve, reject) => this.#arriving.set(uuid, { resolve, reject }));
    // The caller may have stopped waiting when the ring stops.
    outcome.catch(() => {});
    return outcome;
  }

  // ------------------------------------------------------------------ from the stream to the actors

  #slotOf(certname: string): Slot {
    return this.#slots[slotOf(certname, this.#slots.length)]!;
  }

  #delivered(record: StreamRecord, feared: boolean): void {
    const { envelope } = record;
    const slot = this.#slotOf(envelope.certname);
    if (record.seq <= slot.begunAt) {
      // Applied before this start; the log only keeps it until the partition has flushed.
      slot.unflushed.push(record);
      return;
    }
    const entry = newEntry(record, this.#arriving.get(envelope.uuid) ?? null);
    entry.crashes = this.#suspects.crashes(record.seq);
    entry.feared = feared;
    if (entry.waiter !== null) this.#arriving.delete(envelope.uuid);
    const { obsolete, superseded } = slot.mailbox.push(entry);
    this.metrics.entered(envelope);
    this.#admission.entered(entry);
    if (obsolete) this.metrics.superseded(envelope, false);
    if (superseded !== null) {
      this.metrics.superseded(superseded.record.envelope, true);
      this.#admission.superseded(superseded);
    }
    this.#plan(slot);
  }

  /**
   * Sends a batch when this turn of the event loop is over, so that commands that arrive together travel together. Those that
   * come soon after a batch wait a moment for more: each batch is a commit and a flush of its own.
   */
  #plan(slot: Slot): void {
    const { mailbox } = slot;
    if (slot.planned || slot.flight !== null || !slot.up || mailbox.count === 0) return;
    const pause = mailbox.isPressing ? 0 : slot.tookAt + this.#limits.batchPause - performance.now();
    if (pause > 0) {
      slot.pause ??= setTimeout(() => this.#dispatch(slot), pause);
      return;
    }
    slot.planned = true;
    setImmediate(() => {
      slot.planned = false;
      this.#dispatch(slot);
    });
  }

  #dispatch(slot: Slot): void {
    if (slot.pause !== null) clearTimeout(slot.pause);
    slot.pause = null;
    if (slot.flight !== null || !slot.up || this.#stopping !== null) return;
    // One batch at a time in all partitions, so that it is known which.
    if (this.#trials.isBusy && slot.mailbox.isNextFeared) return;
    const entries = slot.mailbox.take();
    if (entries.length === 0) return;
    slot.tookAt = performance.now();
    slot.flight = { id: this.#nextId++, entries };
    const tried = executed(slot.flight);
    if (tried[0]?.feared === true && tried[0].crashes < CRASHES_MAX) {
      this.#trials.begin(
        slot,
        slot.flight,
        tried.map(({ record }) => record.seq),
      );
    }
    this.#send(slot, slot.flight, null);
  }

  /** What is feared goes on, of all partitions but that one, and once there is none what is held does. */
  #tryNext(except: Slot | null): void {
    for (const slot of this.#slots) if (slot !== except) this.#plan(slot);
    this.#held.up();
  }

  /** `unreadable`: why the only command to be executed has no body. */
  #send(slot: Slot, flight: Flight, unreadable: string | null): void {
    const commands: StoredCommand[] = [];
    const bodies: (StoredBody | null)[] = [];
    let reason = unreadable;
    for (const entry of executed(flight)) {
      const { seq, envelope } = entry.record;
      commands.push({ seq, envelope });
      bodies.push(unreadable === null ? this.#stream.locate(entry.record) : null);
      if (entry.crashes >= CRASHES_MAX) reason ??= deadlyText;
    }
    const position = flight.entries.at(-1)!.record.seq;
    const message: BatchMessage = {
      kind: 'batch',
      slot: slot.slot,
      id: flight.id,
      position,
      commands,
      bodies,
      giveUp: reason,
    };
    slot.actor.post(message);
  }

  // ------------------------------------------------------------------ from the actors

  #received(message: FromActor): void {
    switch (message.kind) {
      case 'ready':
        this.#ready(this.#slots[message.slot]!, message.position, message.held);
        break;
      case 'applied':
        this.#applied(this.#slots[message.slot]!, message.id, message.handled);
        this.metrics.timings(message.timings);
        break;
      case 'unread':
        this.#unread(this.#slots[message.slot]!, message);
        break;
      case 'retrying':
        this.#held.asked(this.#slots[message.slot]!, message.seq);
        break;
      case 'retried':
        for (const result of message.results) this.#outcomes.retried(this.#slots[message.slot]!, result);
        this.#trials.end(message.seq);
        this.metrics.timings(message.timings);
        break;
      case 'flushed':
        this.#flushed(this.#slots[message.slot]!, message.position);
        break;
      case 'discarded':
        this.#outcomes.discarded(this.#slots[message.slot]!, message.letters);
        break;
      case 'trouble':
        this.#troubled(this.#slots[message.slot]!, { actor: message.text });
        break;
      case 'lost':
        this.#lost(message.slot);
        break;
      case 'swept':
        this.#sweeps.finished(message);
        break;
      case 'expired':
        for (const certname of message.certnames) this.#onExpired(certname);
        break;
      case 'fetched':
        this.#held.fetched(message);
        break;
      case 'adopted':
        this.#held.adopted(message.id, message.handled);
        break;
      case 'stopped':
        break;
    }
  }

  #ready(slot: Slot, position: number, held: readonly Held[]): void {
    slot.up = true;
    slot.opening = false;
    const queued = new Set<number>();
    for (const entry of slot.mailbox.entries()) queued.add(entry.record.seq);
    this.#held.replace(slot, held, queued);
    for (const entry of slot.mailbox.dropThrough(position)) {
      this.#admission.left(entry);
      slot.unflushed.push(entry.record);
      this.#outcomes.lost(slot, entry);
    }
    this.#troubled(slot, NO_TROUBLES);
    this.#sweeps.up(slot);
    this.#held.up();
    this.#plan(slot);
  }

  #applied(slot: Slot, id: number, handled: readonly Handled[]): void {
    const { flight } = slot;
    if (flight === null || flight.id !== id) return;
    slot.flight = null;
    this.#troubled(slot, { log: null });
    slot.mailbox.worked(
      handled.length,
      handled.reduce((sum, { duration }) => sum + duration, 0),
    );
    const now = Date.now();
    let next = 0;
    for (const entry of flight.entries) {
      this.#admission.left(entry);
      slot.unflushed.push(entry.record);
      this.#suspects.clear(entry.record.seq);
      if (entry.obsolete) this.#outcomes.obsolete(entry);
      else this.#outcomes.finished(slot, entry, handled[next++]!, now);
    }
    this.#trials.end(flight);
    this.#letHeld();
    this.#landed();
    this.#plan(slot);
  }

  /** What goes next from the logs may be nothing to fear any more, so that what is held may be tried. */
  #letHeld(): void {
    if (this.#trials.isFeared) this.#held.up();
  }

  /** A stored command cannot be read. When its bytes are damaged it is given up, without its body; else it is read again. */
  #unread(slot: Slot, { id, index, isDamaged, text }: Extract<FromActor, { kind: 'unread' }>): void {
    const { flight } = slot;
    if (flight === null || flight.id !== id) return;
    slot.flight = null;
    slot.mailbox.putBack(flight.entries);
    this.#trials.end(flight);
    if (this.#stopping !== null) {
      this.#landed();
      return;
    }
    if (!isDamaged) {
      this.#troubled(slot, { log: `commands cannot be read from the log: ${text}` });
      setTimeout(() => this.#plan(slot), READ_AGAIN_MS).unref();
      return;
    }
    const entries = executed(flight);
    const entry = entries[index]!;
    this.#log.error(`command ${entry.record.seq} cannot be read back from the log: ${text}`);
    entry.crashes = CRASHES_MAX;
    if (index > 0) {
      // What is before it goes first. It comes again then, as one that killed its actor would: alone but for obsolete ones.
      this.#plan(slot);
      return;
    }
    slot.flight = { id, entries: slot.mailbox.take() };
    this.#send(slot, slot.flight, `the command could not be read back: ${text}`);
  }

  #flushed(slot: Slot, position: number): void {
    const { unflushed } = slot;
    let count = 0;
    while (count < unflushed.length && unflushed[count]!.seq <= position) this.#stream.release(unflushed[count++]!);
    if (count > 0) slot.unflushed = unflushed.slice(count);
  }

  /** `told`: what is known of them now. */
  #troubled(slot: Slot, told: Partial<Slot['troubles']>): void {
    const before = troubleOf(slot);
    slot.troubles = { ...slot.troubles, ...told };
    const text = troubleOf(slot);
    if (text === before) return;
    if (text === null) this.#log.info(`partition ${slot.slot}: works again`);
    else this.#log.error(`partition ${slot.slot}: ${text}`);
    // What hangs on one partition must not keep the others from theirs.
    if (text !== null && slot.flight !== null) this.#trials.end(slot.flight);
    if (text !== null) this.#trials.endHeld(slot);
    if (slot.troubles.actor !== null && !slot.up) this.#sweeps.troubled(slot);
    this.#held.up();
    // A stop does not wait for a batch that has no place to land.
    this.#landed();
  }

  // ------------------------------------------------------------------ supervision

  #startActors(): void {
    this.#openBy = performance.now() + this.#limits.openMax;
    for (const actor of this.#actors) actor.start();
  }

  #makeSlots(positions: readonly number[]): void {
    const { batchMax: countMax, batchSizeMax: sizeMax, batchWorkMax: workMax } = this.#limits;
    const limits: BatchLimits = { countMax, sizeMax, workMax };
    const threads = Math.min(Math.max(1, this.#options.threads), positions.length);
    for (let index = 0; index < threads; index++) {
      const slots: number[] = [];
      for (let slot = index; slot < positions.length; slot += threads) slots.push(slot);
      const actor = this.#newActor(index, slots);
      this.#actors.push(actor);
      for (const slot of slots) {
        this.#slots[slot] = newSlot({ slot, begunAt: positions[slot]!, mailbox: new Mailbox(limits), actor });
      }
    }
  }

  #newActor(index: number, slots: readonly number[]): ActorHandle {
    const { dir, engine, priority = 'low', script = actorScript() } = this.#options;
    const actor: ActorHandle = new ActorHandle({
      index,
      slots,
      script,
      hangMax: this.#limits.hangMax,
      data: (activity) => ({
        dir,
        slots,
        activity,
        times: this.#times,
        priority,
        givenUp: this.#suspects.givenUp(),
        isFeared: this.#trials.isFeared,
        engine,
      }),
      onMessage: (message) => this.#received(message),
      onDown: (activity, reason, requested) => this.#down(actor, activity, reason, requested),
      onStuck: (activity, reason) => this.#stuck(actor, activity, reason),
      log: this.#log,
    });
    return actor;
  }

  #down(actor: ActorHandle, activity: Activity, reason: string, requested: boolean): void {
    if (!requested) this.#accuse(activity);
    const slots = new Set(actor.slots.map((number) => this.#slots[number]!));
    for (const slot of slots) {
      slot.up = false;
      slot.opening = false;
      if (slot.flight === null) continue;
      const { flight } = slot;
      slot.flight = null;
      for (const entry of flight.entries) entry.crashes = this.#suspects.crashes(entry.record.seq);
      slot.mailbox.putBack(flight.entries);
      this.#trials.end(flight);
    }
    this.#landed();
    this.#sweeps.down(activity, reason);
    this.#held.down(slots);
    this.#letHeld();
  }

  /** Notes which commands an actor was applying when it died or hung. */
  #accuse({ kind, slot, id }: Activity): void {
    if (kind === 'retry') this.#suspects.accuse(slot, id);
    const flight = this.#slots[slot]?.flight ?? null;
    if (kind !== 'batch' || flight?.id !== id) return;
    for (const entry of flight.entries) if (!entry.obsolete) this.#suspects.accuse(slot, entry.record.seq);
  }

  #stuck(actor: ActorHandle, activity: Activity, reason: string): void {
    const error = new Error(`actor ${actor.index} cannot be ended (${reason}); the process must be started again`);
    this.#accuse(activity);
    this.#suspects.save();
    this.#end(error);
  }

  /** No command is to blame that the process ends, and no file. */
  #lost(slot: number): void {
    if (this.#isEnding) return;
    this.#trials.close();
    this.#marker.leave();
    this.#end(new Error(`partition ${slot} is of no use to this process any more; the process must be started again`));
  }

  #end(error: Error): void {
    this.#isEnding = true;
    this.#log.error(error.message);
    const { onFatal = throwInTheOpen } = this.#options;
    onFatal(error);
  }

  #checkActors(): void {
    const now = performance.now();
    for (const actor of this.#actors) actor.checkHang(now);
    if (this.#stopping !== null) this.#tellFlights();
    if (now < this.#openBy) return;
    for (const slot of this.#slots) {
      if (!slot.opening) continue;
      slot.opening = false;
      this.#log.error(`partition ${slot.slot} is still not open`);
    }
    this.#letHeld();
  }

  /** A stop that may not come to its end says once what it waits for. */
  #tellFlights(): void {
    if (this.#hasToldFlights) return;
    this.#hasToldFlights = true;
    const flying = this.#slots.filter(isFlying).map(({ slot, flight }) => `${flight!.id} of partition ${slot}`);
    this.#log.warn(`the stop waits for batch ${flying.join(', ')}`);
  }

  /** Ends an actor thread as a crash would, except that no command is suspected of it. For tests and fault drills. */
  killActor(index: number): void {
    this.#actors[index]?.kill('killed on request', true);
  }

  // ------------------------------------------------------------------ maintenance

  maintain(step: Maintenance): Promise<number> {
    return this.#sweeps.run(step);
  }

  endMaintenance(): void {
    this.#sweeps.close();
  }

  // ------------------------------------------------------------------ the end

  stop(): Promise<void> {
    if (this.#stopping !== null) return this.#stopping;
    // What only waits for more to come goes now.
    for (const slot of this.#slots) if (slot.pause !== null) this.#dispatch(slot);
    this.#stopping = this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    this.deadLetters.stop();
    this.#admission.close();
    await this.#allLanded();
    clearInterval(this.#watch);
    this.#sweeps.close();
    await Promise.all(this.#actors.map((actor) => actor.stop()));
    this.#trials.close();
    await this.#stream.close();
    const refusal = stoppingRefusal();
    for (const slot of this.#slots) {
      for (const entry of slot.flight?.entries ?? []) entry.waiter?.reject(refusal);
      for (const entry of slot.mailbox.entries()) entry.waiter?.reject(refusal);
    }
    this.#held.close(refusal);
    this.#marker.end();
    await this.#lock.release();
  }

  #landed(): void {
    for (const landed of this.#onLanded) landed();
  }

  /** Resolves when no batch is at an actor. A partition that cannot be written gives its batch up when its actor stops. */
  #allLanded(): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (this.#slots.some(isFlying)) return;
        this.#onLanded = [];
        resolve();
      };
      this.#onLanded.push(check);
      check();
    });
  }
}

const throwInTheOpen = (error: Error): void => {
  setImmediate(() => {
    throw error;
  });
};

/** Whether a batch is at its actor, and nothing is known that keeps it there. */
const isFlying = (slot: Slot): boolean => slot.flight !== null && troubleOf(slot) === null;

/** Whether commands of the log that are feared go next there, and nothing is known to be wrong with the partition. */
const hasFeared = (slot: Slot): boolean =>
  slot.mailbox.isNextFeared && troubleOf(slot) === null && (slot.up || slot.opening);
