// The command side of the process: durable inbox, one mailbox per partition, actor threads that own the partitions.
//
//   submit --> command log (durable) --> mailbox of slot(certname) --> batch --> actor --> applied --> waiter, metrics
//                    ^                                                             |
//                    +---- released when the partition has it and has flushed it --+
//
// A partition has at most one batch at its actor. What is at an actor that dies goes back to the front of its mailbox and is
// read from the log again; the partition's stored position says what had been committed. A batch that was being applied
// when its actor died is suspect: its commands are tried one by one, and one that was there three times is given up.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { DeadLetters } from '../engine/inbox/dead-letters.ts';
import { type CommandLog, openLog } from '../engine/inbox/log.ts';
import { type Envelope, type StreamRecord, StreamUnavailable } from '../engine/inbox/stream.ts';
import type { CommandOutcome, QueuedCommand } from '../engine/ingest/types.ts';
import { openPartition } from '../engine/store/partition.ts';
import { openStoreInfo, partitionDir, type StoreInfo, slotOf } from '../engine/store/store.ts';
import type { Activity } from './activity.ts';
import { discardedDir } from './actor.ts';
import { ActorHandle } from './actor-handle.ts';
import { CommandMetrics } from './command-metrics.ts';
import { type DataLock, lockDataDirectory } from './data-lock.ts';
import { type Log, silentLog } from './log.ts';
import { type BatchLimits, BodyBudget, type Entry, Mailbox, newEntry, type Waiter } from './mailbox.ts';
import type { BatchMessage, FromActor, Handled, Held, SlotCounts, SweepKind } from './messages.ts';
import { MetricsRegistry } from './metrics.ts';
import { type ActorTimes, actorTimes } from './partition-actor.ts';
import { type ThreadScript, threadScript } from './thread-script.ts';
import { type Accepted, type CommandRing, type Maintenance, type Submission, SubmissionRefused } from './types.ts';

export interface RingOptions {
  /** Data directory; created when missing. One process at a time. */
  readonly dir: string;
  /** Partitions of a directory that is created now; an existing one keeps its number. */
  readonly partitions?: number;
  /** Actor threads, at most one per partition. Default: the cores less one, at least one. */
  readonly threads?: number;
  /** What the engine needs to know to apply commands and run retention; see engine-host.ts. */
  readonly engine?: unknown;
  readonly limits?: Partial<RingLimits>;
  readonly metrics?: MetricsRegistry;
  readonly log?: Log;
  readonly times?: Partial<ActorTimes>;
  /**
   * An actor hangs inside a write transaction and cannot be ended: only a new process can go on. What it was doing is
   * noted for that process. Default: throws where nobody catches, which ends the process.
   */
  readonly onFatal?: (error: Error) => void;
  /** Tests only: another thread entry. */
  readonly script?: ThreadScript;
}

/** Everything that can grow, and how far. */
export interface RingLimits {
  /** Commands that may wait to be processed. A waiting command costs about half a kilobyte of memory. */
  readonly waitingMax: number;
  /** Commands that may wait of one certname: a node gone wild must not use up the room of all others. */
  readonly waitingPerCertnameMax: number;
  /** Bytes of the bodies of waiting commands; on disk, except for `memoryMax`. */
  readonly waitingSizeMax: number;
  /** Bytes of bodies that wait in memory, so that they need not be read back. */
  readonly memoryMax: number;
  /** Bytes of bodies on their way to the log. */
  readonly writingSizeMax: number;
  /** Commands and bytes of a batch. */
  readonly batchMax: number;
  readonly batchSizeMax: number;
  /** Milliseconds one batch or maintenance step may take before its actor counts as hung. */
  readonly hangMax: number;
  /** MiB of an actor's heap; 0: Node's default. */
  readonly actorHeapMax: number;
}

export const ringLimits: RingLimits = {
  waitingMax: 200_000,
  waitingPerCertnameMax: 20_000,
  waitingSizeMax: 8 * 2 ** 30,
  memoryMax: 64 << 20,
  writingSizeMax: 128 << 20,
  batchMax: 64,
  batchSizeMax: 4 << 20,
  hangMax: 300_000,
  actorHeapMax: 0,
};

export interface RingStats {
  readonly partitions: readonly SlotCounts[];
  /** Segments and bytes of the command log. */
  readonly segments: number;
  readonly logSize: number;
  readonly waiting: number;
  readonly waitingSize: number;
  /** Commands waiting for another attempt. */
  readonly held: number;
  /** Why something does not work now; empty when all is well. */
  readonly trouble: readonly string[];
}

/** A batch that left its mailbox. */
interface Flight {
  readonly id: number;
  readonly entries: readonly Entry[];
  /** false while bodies are read from the log. */
  sent: boolean;
}

interface Slot {
  readonly slot: number;
  readonly mailbox: Mailbox;
  readonly actor: ActorHandle;
  up: boolean;
  flight: Flight | null;
  planned: boolean;
  readonly held: Map<number, Held>;
  /** Applied, not yet known to be flushed; in stream order. */
  unflushed: StreamRecord[];
  trouble: string | null;
}

interface Swept {
  readonly changed: number;
  readonly day: number | null;
}

interface SweepRequest {
  readonly slot: Slot;
  readonly sweep: SweepKind;
  crashes: number;
  readonly resolve: (swept: Swept) => void;
  readonly reject: (error: Error) => void;
}

/** A command on its way from the partition its submission named to the one its payload names. */
interface Move {
  readonly held: Held;
  readonly source: Slot;
  readonly target: Slot;
  /** Id of the message that waits for an answer; 0: none does. */
  pending: number;
  /** Epoch ms; known once the command was fetched. */
  received: number;
  waiter: Waiter | null;
}

interface CountsRequest {
  readonly actor: ActorHandle;
  readonly resolve: (counts: readonly SlotCounts[]) => void;
}

const CRASHES_MAX = 3;
const PROBE_MS = 1000;
const WATCH_MS = 5000;
/** How long a failed write keeps the ring from calling itself healthy. */
const UNWELL_MS = 10_000;
const UNAVAILABLE_RETRY_AFTER = 5;

/**
 * Opens the inbox and starts the actors. Resolves as soon as submissions can be taken: partitions open and replay in the
 * background. Throws when another process has the directory, when it was written by a newer version, or when the log is
 * damaged (StreamCorrupt, with file and offset).
 */
export async function startRing(options: RingOptions): Promise<Ring> {
  const lock = await lockDataDirectory(options.dir);
  try {
    const info = openStoreInfo(options.dir, options.partitions === undefined ? {} : { partitions: options.partitions });
    const deadLetters = new DeadLetters(discardedDir(options.dir));
    await deadLetters.open();
    const log = await openLog({
      dir: join(options.dir, 'inbox'),
      seqAfter: await lastPosition(options.dir, info),
      random: () => crypto.getRandomValues(new Uint32Array(1))[0]!,
    });
    const ring = new Ring(options, { lock, log, partitions: info.partitions });
    for (const [command, { messages, filesize }] of await deadLetters.count()) {
      ring.metrics.deadLetters(command, messages, filesize);
    }
    return ring;
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** The largest stream position of all partitions: what the log gives out must come after it, whatever became of the log. */
async function lastPosition(dir: string, info: StoreInfo): Promise<number> {
  let last = 0;
  for (let slot = 0; slot < info.partitions; slot++) {
    const partition = openPartition(partitionDir(dir, slot));
    last = Math.max(last, partition.position);
    await partition.close();
  }
  return last;
}

/** Use `startRing`. */
export class Ring implements CommandRing {
  readonly metrics: CommandMetrics;
  readonly #dir: string;
  readonly #engine: unknown;
  readonly #limits: RingLimits;
  readonly #times: ActorTimes;
  readonly #log: Log;
  readonly #lock: DataLock;
  readonly #stream: CommandLog;
  readonly #budget: BodyBudget;
  readonly #slots: Slot[] = [];
  readonly #actors: ActorHandle[] = [];
  /** Waiters of submissions that are being written, by uuid. */
  readonly #arriving = new Map<string, Waiter>();
  readonly #sweeps = new Map<number, SweepRequest>();
  /** By seq. */
  readonly #moves = new Map<number, Move>();
  readonly #counting = new Map<number, CountsRequest>();
  /** How often an actor died on a held command, by seq. */
  readonly #heldCrashes = new Map<number, number>();
  readonly #givenUp: { slot: number; seq: number; reason: string }[] = [];
  /** Commands that an earlier process hung on, by seq: how often. */
  readonly #suspects: ReadonlyMap<number, number>;
  readonly #onFatal: (error: Error) => void;
  readonly #watch: NodeJS.Timeout;
  #probe: NodeJS.Timeout | null = null;
  #nextId = 1;
  #writing = 0;
  #writingSize = 0;
  #waiting = 0;
  #waitingSize = 0;
  readonly #waitingByCertname = new Map<string, number>();
  #failedAt = Number.NEGATIVE_INFINITY;
  #stopping: Promise<void> | null = null;
  #onLanded: (() => void)[] = [];

  constructor(options: RingOptions, parts: { lock: DataLock; log: CommandLog; partitions: number }) {
    this.#dir = options.dir;
    this.#engine = options.engine ?? null;
    this.#limits = { ...ringLimits, ...options.limits };
    this.#times = { ...actorTimes, ...options.times };
    this.#log = options.log ?? silentLog;
    this.#lock = parts.lock;
    this.#stream = parts.log;
    this.#budget = new BodyBudget(this.#limits.memoryMax);
    this.metrics = new CommandMetrics(options.metrics ?? new MetricsRegistry());
    this.#suspects = takeSuspects(options.dir);
    this.#onFatal = options.onFatal ?? throwInTheOpen;
    this.#startActors(options, parts.partitions);
    this.#stream.subscribe((record, body) => this.#delivered(record, body));
    this.#watch = setInterval(() => this.#checkActors(), Math.min(WATCH_MS, this.#limits.hangMax / 4));
    this.#watch.unref();
  }

  get depth(): number {
    return this.metrics.depth;
  }

  get healthy(): boolean {
    return this.#troubles().length === 0;
  }

  /** Counts of every open partition, and the state of the queue. */
  async stats(): Promise<RingStats> {
    const partitions = await Promise.all(this.#actors.map((actor) => this.#countsOf(actor)));
    const { segments, size } = this.#stream.stats();
    return {
      partitions: partitions.flat().sort((a, b) => a.slot - b.slot),
      segments,
      logSize: size,
      waiting: this.#waiting,
      waitingSize: this.#waitingSize,
      held: this.#slots.reduce((sum, slot) => sum + slot.held.size, 0),
      trouble: this.#troubles(),
    };
  }

  // ------------------------------------------------------------------ submissions

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    const { body, uuid, command, version, certname, received, producerTimestamp, gzip, size } = submission;
    this.#refuseIfNeeded(certname, body.length);
    const envelope: Envelope = { uuid, command, version, certname, received, producerTimestamp, gzip, size };
    let outcome: Promise<CommandOutcome> | null = null;
    if (wait) {
      outcome = new Promise((resolve, reject) => this.#arriving.set(uuid, { resolve, reject }));
      // The caller may have stopped waiting when the ring stops.
      outcome.catch(() => {});
    }
    const bytes = body.length;
    const start = performance.now();
    this.#beginWriting(1, bytes);
    try {
      const seq = await this.#stream.append(envelope, body);
      this.metrics.persisted(envelope, size ?? bytes, performance.now() - start);
      return { seq, outcome };
    } catch (error) {
      this.#arriving.delete(uuid);
      throw this.#refusal(error);
    } finally {
      this.#beginWriting(-1, -bytes);
    }
  }

  #beginWriting(count: 1 | -1, size: number): void {
    this.#writing += count;
    this.#writingSize += size;
    this.metrics.writing(count);
  }

  #refuseIfNeeded(certname: string, size: number): void {
    if (this.#stopping !== null) throw new SubmissionRefused('stopping', 'the service is shutting down', 5);
    const { trouble } = this.#stream;
    if (trouble !== null) throw this.#refusal(trouble);
    const { waitingMax, waitingPerCertnameMax, waitingSizeMax, writingSizeMax } = this.#limits;
    const count = this.#waiting + this.#writing;
    if (count >= waitingMax) throw this.#full(`${count} commands are waiting to be processed`);
    const own = this.#waitingByCertname.get(certname) ?? 0;
    if (own >= waitingPerCertnameMax) throw this.#full(`${own} commands of ${certname} are waiting to be processed`);
    // A command larger than a limit is still taken when nothing else is there.
    if (this.#waiting > 0 && this.#waitingSize + this.#writingSize + size > waitingSizeMax) {
      throw this.#full(`${this.#waitingSize} bytes of commands are waiting to be processed`);
    }
    if (this.#writing > 0 && this.#writingSize + size > writingSizeMax) {
      throw this.#full(`${this.#writingSize} bytes of commands are waiting to be written`);
    }
  }

  /** Back when about a tenth of what waits has been processed. */
  #full(message: string): SubmissionRefused {
    const seconds = this.#waiting / 10 / Math.max(this.metrics.processedRate, 1);
    return new SubmissionRefused('full', message, Math.min(Math.max(Math.ceil(seconds), 1), 60));
  }

  #refusal(error: unknown): Error {
    if (this.#stopping !== null) return new SubmissionRefused('stopping', 'the service is shutting down', 5);
    if (error instanceof RangeError) return error;
    const message = error instanceof Error ? error.message : String(error);
    const now = performance.now();
    if (now - this.#failedAt > UNWELL_MS) this.#log.error(`commands are refused: ${message}`);
    this.#failedAt = now;
    if (this.#stream.trouble !== null) this.#probeStream();
    const text = error instanceof StreamUnavailable ? message : `the command log cannot be written: ${message}`;
    return new SubmissionRefused('unavailable', text, UNAVAILABLE_RETRY_AFTER);
  }

  /** Asks the log to recover, now and then, until it has. */
  #probeStream(): void {
    if (this.#probe !== null) return;
    this.#probe = setInterval(() => {
      void this.#stream.recover().then((recovered) => {
        if (!recovered || this.#probe === null) return;
        clearInterval(this.#probe);
        this.#probe = null;
        this.#failedAt = Number.NEGATIVE_INFINITY;
        this.#log.info('the command log can be written again');
      });
    }, PROBE_MS);
    this.#probe.unref();
  }

  // ------------------------------------------------------------------ from the stream to the actors

  #delivered(record: StreamRecord, body: Uint8Array | null): void {
    const { envelope } = record;
    const slot = this.#slots[slotOf(envelope.certname, this.#slots.length)]!;
    const entry = newEntry(record, this.#arriving.get(envelope.uuid) ?? null);
    entry.crashes = this.#suspects.get(record.seq) ?? 0;
    if (entry.waiter !== null) this.#arriving.delete(envelope.uuid);
    const { obsolete, superseded } = slot.mailbox.push(entry);
    this.metrics.entered(envelope);
    this.#waiting++;
    this.#waitingByCertname.set(envelope.certname, (this.#waitingByCertname.get(envelope.certname) ?? 0) + 1);
    if (obsolete) this.metrics.superseded(envelope, false);
    else this.#waitingSize += record.bytes;
    if (superseded !== null) {
      this.metrics.superseded(superseded.record.envelope, true);
      this.#waitingSize -= superseded.record.bytes;
    }
    if (body !== null) this.#budget.keep(entry, body);
    this.#plan(slot);
  }

  /** Sends a batch when this turn of the event loop is over, so that commands that arrive together travel together. */
  #plan(slot: Slot): void {
    if (slot.planned || slot.flight !== null || !slot.up) return;
    slot.planned = true;
    setImmediate(() => {
      slot.planned = false;
      this.#dispatch(slot);
    });
  }

  #dispatch(slot: Slot): void {
    if (slot.flight !== null || !slot.up || this.#stopping !== null) return;
    const entries = slot.mailbox.take();
    if (entries.length === 0) return;
    const flight: Flight = { id: this.#nextId++, entries, sent: false };
    slot.flight = flight;
    const bodies: (Uint8Array | null)[] = [];
    let missing = false;
    for (const entry of entries) {
      if (entry.obsolete) continue;
      const body = this.#budget.take(entry);
      missing ||= body === null;
      bodies.push(body);
    }
    if (missing) void this.#readAndSend(slot, flight, bodies);
    else this.#send(slot, flight, bodies as Uint8Array[], null);
  }

  async #readAndSend(slot: Slot, flight: Flight, bodies: (Uint8Array | null)[]): Promise<void> {
    const executed = flight.entries.filter((entry) => !entry.obsolete);
    for (let i = 0; i < executed.length; i++) {
      if (bodies[i] !== null) continue;
      try {
        bodies[i] = await this.#stream.read(executed[i]!.record);
      } catch (error) {
        this.#unreadable(slot, flight, executed[i]!, error as Error);
        return;
      }
      if (slot.flight !== flight) return; // the actor died meanwhile and the batch was put back
    }
    this.#send(slot, flight, bodies as Uint8Array[], null);
  }

  /** A stored command cannot be read back: it is given up, without its body; the rest of its batch goes on. */
  #unreadable(slot: Slot, flight: Flight, entry: Entry, error: Error): void {
    if (slot.flight !== flight) return;
    const { seq } = entry.record;
    this.#log.error(`command ${seq} cannot be read back from the log: ${error.message}`);
    slot.flight = null;
    const index = flight.entries.indexOf(entry);
    slot.mailbox.putBack(flight.entries.slice(index + 1));
    // Everything before it first, in a batch of its own.
    if (index > 0) {
      entry.crashes = CRASHES_MAX;
      slot.mailbox.putBack(flight.entries.slice(0, index + 1));
      this.#plan(slot);
      return;
    }
    slot.flight = { id: flight.id, entries: [entry], sent: false };
    this.#send(slot, slot.flight, [new Uint8Array(0)], `the command could not be read back: ${error.message}`);
  }

  #send(slot: Slot, flight: Flight, bodies: readonly Uint8Array[], giveUp: string | null): void {
    const commands: QueuedCommand[] = [];
    const sizes: (number | null)[] = [];
    const transfer: ArrayBuffer[] = [];
    let reason = giveUp;
    for (const entry of flight.entries) {
      if (entry.obsolete) continue;
      const { seq, envelope } = entry.record;
      const { uuid, command, version, certname, received, producerTimestamp, gzip, size } = envelope;
      const body = ownMemory(bodies[commands.length]!);
      transfer.push(body.buffer as ArrayBuffer);
      commands.push({ seq, uuid, command, version, certname, received, producerTimestamp, gzip, body, attempts: 0 });
      sizes.push(size);
      if (entry.crashes >= CRASHES_MAX) reason ??= `it was being applied ${CRASHES_MAX} times when its thread died`;
    }
    const position = flight.entries.at(-1)!.record.seq;
    const message: BatchMessage = {
      kind: 'batch',
      slot: slot.slot,
      id: flight.id,
      position,
      commands,
      sizes,
      giveUp: reason,
    };
    flight.sent = true;
    slot.actor.post(message, transfer);
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
      case 'retried':
        for (const result of message.results) this.#retried(this.#slots[message.slot]!, result);
        this.metrics.timings(message.timings);
        break;
      case 'flushed':
        this.#flushed(this.#slots[message.slot]!, message.position);
        break;
      case 'discarded':
        this.#discarded(message);
        break;
      case 'trouble':
        this.#troubled(this.#slots[message.slot]!, message.text);
        break;
      case 'swept':
        this.#swept(message);
        break;
      case 'fetched':
        this.#fetched(message);
        break;
      case 'adopted':
        this.#adopted(message.id, message.handled);
        break;
      case 'counts':
        this.#counting.get(message.id)?.resolve(message.counts);
        this.#counting.delete(message.id);
        break;
      case 'stopped':
        break;
    }
  }

  #ready(slot: Slot, position: number, held: readonly Held[]): void {
    slot.up = true;
    slot.trouble = null;
    this.#replaceHeld(slot, held);
    for (const entry of slot.mailbox.dropThrough(position)) {
      this.#leftMailbox(entry);
      slot.unflushed.push(entry.record);
      this.#lost(slot, entry);
    }
    for (const [id, request] of this.#sweeps) if (request.slot === slot) this.#sendSweep(id, request);
    for (const move of this.#moves.values()) this.#advance(move);
    this.#plan(slot);
  }

  /** Committed by an earlier actor whose report was lost. */
  #lost(slot: Slot, { record, waiter }: Entry): void {
    const held = slot.held.get(record.seq);
    if (held === undefined) this.metrics.left(record.envelope);
    const move = this.#moves.get(record.seq);
    if (move !== undefined) move.waiter ??= waiter;
    else waiter?.resolve(lostOutcome(record, held));
  }

  /** The figures follow what the partition really holds. Commands still in the mailbox were counted when they entered. */
  #replaceHeld(slot: Slot, held: readonly Held[]): void {
    const before = new Map(slot.held);
    const queued = new Set<number>();
    for (const entry of slot.mailbox.entries()) queued.add(entry.record.seq);
    for (const one of held) {
      if (!before.has(one.seq) && !queued.has(one.seq)) this.metrics.entered(one);
      this.#hold(slot, one, null);
    }
    const present = new Set(held.map((one) => one.seq));
    for (const one of before.values()) {
      if (present.has(one.seq)) continue;
      this.#letGo(slot, one.seq);
      this.metrics.left(one);
    }
  }

  #hold(slot: Slot, held: Held, waiter: Waiter | null): void {
    const before = slot.held.get(held.seq)?.state;
    slot.held.set(held.seq, held);
    if (before !== 'waiting' && held.state === 'waiting') this.metrics.awaiting(held, 1);
    if (before === 'waiting' && held.state !== 'waiting') this.metrics.awaiting(held, -1);
    if (held.state !== 'moving') return;
    const move = this.#moves.get(held.seq);
    if (move !== undefined) return;
    const target = this.#slots[slotOf(held.certname, this.#slots.length)]!;
    const created: Move = { held, source: slot, target, pending: 0, received: 0, waiter };
    this.#moves.set(held.seq, created);
    this.#advance(created);
  }

  /** Forgets a held command; false when it was not known. */
  #letGo(slot: Slot, seq: number): boolean {
    const held = slot.held.get(seq);
    if (held === undefined) return false;
    slot.held.delete(seq);
    this.#moves.delete(seq);
    if (held.state === 'waiting') this.metrics.awaiting(held, -1);
    return true;
  }

  #applied(slot: Slot, id: number, handled: readonly Handled[]): void {
    const { flight } = slot;
    if (flight === null || flight.id !== id) return;
    slot.flight = null;
    const now = Date.now();
    let next = 0;
    for (const entry of flight.entries) {
      this.#leftMailbox(entry);
      slot.unflushed.push(entry.record);
      if (entry.obsolete) this.#obsolete(entry);
      else this.#finished(slot, entry, handled[next++]!, now);
    }
    for (const landed of this.#onLanded) landed();
    this.#plan(slot);
  }

  #finished(slot: Slot, entry: Entry, handled: Handled, now: number): void {
    const { seq, envelope } = entry.record;
    if (handled.outcome.kind === 'reroute') {
      this.#hold(slot, heldOf(seq, envelope, handled.outcome.certname, 'moving'), entry.waiter);
      return;
    }
    this.metrics.handled(envelope, handled, now - envelope.received, 0);
    this.#settle(slot, seq, envelope, handled);
    this.#report(seq, envelope, handled, 1);
    entry.waiter?.resolve(handled.outcome);
  }

  /** Where the command is now: in `slot`, held, or nowhere any more. */
  #settle(slot: Slot, seq: number, envelope: Envelope, { decision }: Handled): void {
    if (decision !== null) this.#hold(slot, heldOf(seq, envelope, envelope.certname, decision), null);
    else {
      this.#letGo(slot, seq);
      this.metrics.left(envelope);
    }
  }

  #obsolete(entry: Entry): void {
    const { seq, envelope } = entry.record;
    this.metrics.dropped(envelope);
    this.metrics.left(envelope);
    const outcome: CommandOutcome = {
      kind: 'processed',
      seq,
      detail: 'obsolete',
      certname: envelope.certname,
      hash: null,
    };
    this.#report(seq, envelope, { outcome, decision: null, duration: 0 }, 1);
    entry.waiter?.resolve(outcome);
  }

  #retried(slot: Slot, result: Handled & { readonly envelope: Envelope; readonly attempts: number }): void {
    const { envelope, outcome, attempts } = result;
    const { seq } = outcome;
    this.#heldCrashes.delete(seq);
    this.metrics.handled(envelope, result, Date.now() - envelope.received, attempts);
    this.#settle(slot, seq, envelope, result);
    this.#report(seq, envelope, result, attempts + 1);
  }

  #discarded(message: Extract<FromActor, { kind: 'discarded' }>): void {
    const slot = this.#slots[message.slot]!;
    for (const letter of message.letters) {
      if (this.#letGo(slot, letter.seq)) this.metrics.left(letter);
      this.metrics.discarded(letter);
      this.#log.error(`[${letter.seq}] '${letter.command}' command for ${letter.certname} moved to the dead letters`);
    }
  }

  #leftMailbox(entry: Entry): void {
    const { certname } = entry.record.envelope;
    const own = this.#waitingByCertname.get(certname) ?? 1;
    if (own === 1) this.#waitingByCertname.delete(certname);
    else this.#waitingByCertname.set(certname, own - 1);
    this.#waiting--;
    if (!entry.obsolete) this.#waitingSize -= entry.record.bytes;
  }

  #flushed(slot: Slot, position: number): void {
    const { unflushed } = slot;
    let count = 0;
    while (count < unflushed.length && unflushed[count]!.seq <= position) this.#stream.release(unflushed[count++]!);
    if (count > 0) slot.unflushed = unflushed.slice(count);
  }

  #troubled(slot: Slot, text: string | null): void {
    if (slot.trouble === text) return;
    slot.trouble = text;
    if (text === null) this.#log.info(`partition ${slot.slot}: works again`);
    else this.#log.error(`partition ${slot.slot}: ${text}`);
  }

  /** One line per command (spec/commands.md 2.8). */
  #report(seq: number, envelope: Envelope, handled: Handled, attempt: number): void {
    const { outcome, decision, duration } = handled;
    const { received, producerTimestamp, command, certname } = envelope;
    if (outcome.kind === 'reroute') return;
    if (outcome.kind === 'failed') {
      const what = decision === 'waiting' ? 'will be tried again' : 'is given up';
      this.#log.warn(
        `[${seq}-${received}] '${command}' command for ${certname} failed, attempt ${attempt}, ${what}: ${outcome.error}`,
      );
      return;
    }
    if (!this.#log.isLevelEnabled('info')) return;
    const id = producerTimestamp === null ? `${seq}-${received}` : `${seq}-${received}-${producerTimestamp}`;
    const hash = outcome.hash === null ? '' : ` (${outcome.hash.slice(0, 8)})`;
    const done = outcome.detail === 'stored' ? 'processed' : `ignored (${outcome.detail})`;
    this.#log.info(`[${id}] [${Math.round(duration)} ms] '${command}' command${hash} ${done} for ${outcome.certname}`);
  }

  // ------------------------------------------------------------------ supervision

  #startActors(options: RingOptions, partitions: number): void {
    const limits: BatchLimits = { countMax: this.#limits.batchMax, sizeMax: this.#limits.batchSizeMax };
    const threads = Math.min(Math.max(1, options.threads ?? defaultThreads()), partitions);
    const script = options.script ?? threadScript('actor-thread', import.meta.url);
    for (let index = 0; index < threads; index++) {
      const slots: number[] = [];
      for (let slot = index; slot < partitions; slot += threads) slots.push(slot);
      const actor: ActorHandle = new ActorHandle({
        index,
        script,
        slots,
        heapMax: this.#limits.actorHeapMax === 0 ? undefined : this.#limits.actorHeapMax,
        hangMax: this.#limits.hangMax,
        data: (activity) => ({
          dir: this.#dir,
          slots,
          activity,
          times: this.#times,
          givenUp: this.#givenUp,
          engine: this.#engine,
        }),
        onMessage: (message) => this.#received(message),
        onDown: (activity, reason) => this.#down(actor, activity, reason),
        onStuck: (activity, reason) => this.#stuck(actor, activity, reason),
        log: this.#log,
      });
      this.#actors.push(actor);
      for (const slot of slots) {
        this.#slots[slot] = {
          slot,
          mailbox: new Mailbox(this.#budget, limits),
          actor,
          up: false,
          flight: null,
          planned: false,
          held: new Map(),
          unflushed: [],
          trouble: null,
        };
      }
    }
  }

  #down(actor: ActorHandle, activity: Activity, reason: string): void {
    for (const number of actor.slots) {
      const slot = this.#slots[number]!;
      slot.up = false;
      const { flight } = slot;
      if (flight === null) continue;
      if (activity.kind === 'batch' && activity.id === flight.id) {
        for (const entry of flight.entries) entry.crashes++;
      }
      slot.flight = null;
      slot.mailbox.putBack(flight.entries);
    }
    for (const landed of this.#onLanded) landed();
    if (activity.kind === 'retry') this.#diedOnHeld(activity.slot, activity.id, reason);
    for (const [id, request] of this.#sweeps) {
      if (activity.kind !== 'sweep' || activity.id !== id || ++request.crashes < CRASHES_MAX) continue;
      this.#sweeps.delete(id);
      request.reject(new Error(`its thread died ${CRASHES_MAX} times: ${reason}`));
    }
    for (const move of this.#moves.values()) {
      if (move.source.actor === actor || move.target.actor === actor) move.pending = 0;
    }
    for (const [id, request] of this.#counting) {
      if (request.actor !== actor) continue;
      this.#counting.delete(id);
      request.resolve([]);
    }
  }

  #stuck(actor: ActorHandle, activity: Activity, reason: string): void {
    const error = new Error(`actor ${actor.index} cannot be ended (${reason}); the process must be started again`);
    this.#log.error(error.message);
    const seqs = new Map<number, number>();
    if (activity.kind === 'batch') {
      const { flight } = this.#slots[activity.slot]!;
      for (const entry of flight?.entries ?? []) seqs.set(entry.record.seq, entry.crashes + 1);
    }
    writeSuspects(this.#dir, seqs);
    this.#onFatal(error);
  }

  #diedOnHeld(slot: number, seq: number, reason: string): void {
    const crashes = (this.#heldCrashes.get(seq) ?? 0) + 1;
    this.#heldCrashes.set(seq, crashes);
    if (crashes < CRASHES_MAX) return;
    this.#heldCrashes.delete(seq);
    this.#givenUp.push({ slot, seq, reason: `its thread died ${CRASHES_MAX} times while applying it: ${reason}` });
  }

  #checkActors(): void {
    const now = performance.now();
    for (const actor of this.#actors) actor.checkHang(now);
  }

  /** Ends an actor thread as a crash would. For tests and fault drills. */
  killActor(index: number): void {
    this.#actors[index]?.kill('killed on request');
  }

  #troubles(): string[] {
    const troubles: string[] = [];
    if (this.#stopping !== null) troubles.push('stopping');
    if (this.#stream.trouble !== null) troubles.push(`inbox: ${this.#stream.trouble.message}`);
    else if (performance.now() - this.#failedAt < UNWELL_MS) troubles.push('inbox: writes fail');
    for (const slot of this.#slots) {
      if (slot.trouble !== null) troubles.push(`partition ${slot.slot}: ${slot.trouble}`);
      else if (!slot.up) troubles.push(`partition ${slot.slot}: not open`);
    }
    return troubles;
  }

  // ------------------------------------------------------------------ commands that belong to another partition

  /** Takes the move as far as it can go now: the body is fetched when the target can take it, and not kept here. */
  #advance(move: Move): void {
    const { source, target, held } = move;
    if (move.pending !== 0 || !source.up || !target.up || this.#stopping !== null) return;
    move.pending = this.#nextId++;
    source.actor.post({ kind: 'fetch', slot: source.slot, id: move.pending, seq: held.seq });
  }

  #moveOf(id: number): Move | undefined {
    for (const move of this.#moves.values()) if (move.pending === id) return move;
    return undefined;
  }

  #fetched({ id, command, size }: Extract<FromActor, { kind: 'fetched' }>): void {
    const move = this.#moveOf(id);
    if (move === undefined || command === null) return;
    const { target, held } = move;
    move.received = command.received;
    const died = (this.#heldCrashes.get(held.seq) ?? 0) >= CRASHES_MAX;
    const giveUp = died ? `it was being applied ${CRASHES_MAX} times when its thread died` : null;
    target.actor.post({ kind: 'adopt', slot: target.slot, id, command, size, giveUp });
  }

  #adopted(id: number, handled: Handled): void {
    const move = this.#moveOf(id);
    if (move === undefined) return;
    const { source, target, held, waiter } = move;
    const { seq, command, version, certname } = held;
    this.#heldCrashes.delete(seq);
    this.#letGo(source, seq);
    source.actor.post({ kind: 'forget', slot: source.slot, seq });
    const named = { command, version };
    this.metrics.handled(named, handled, Date.now() - move.received, 0);
    if (handled.decision === null) this.metrics.left(named);
    else this.#hold(target, { seq, command, version, certname, state: handled.decision }, null);
    if (handled.outcome.kind !== 'reroute') waiter?.resolve(handled.outcome);
  }

  // ------------------------------------------------------------------ maintenance and counts

  async maintain(step: Maintenance): Promise<number> {
    switch (step.kind) {
      case 'delete':
        return (await this.#sweep(this.#slots[slotOf(step.certname, this.#slots.length)]!, step)).changed;
      case 'purge_nodes':
        return this.#purgeNodes(step.batchLimit);
      case 'purge_reports':
        return this.#purgeDay('find_report_day', 'purge_report_day');
      case 'purge_resource_events':
        return this.#purgeDay('find_event_day', 'purge_event_day');
      default:
        return this.#sweepAll(step);
    }
  }

  /** One partition after the other: maintenance is never in a hurry. */
  async #sweepAll(sweep: SweepKind): Promise<number> {
    let changed = 0;
    for (const slot of this.#slots) changed += (await this.#sweep(slot, sweep)).changed;
    return changed;
  }

  /** The limit is for all partitions together; 0: none. */
  async #purgeNodes(limit: number): Promise<number> {
    let changed = 0;
    for (const slot of this.#slots) {
      if (limit > 0 && changed >= limit) break;
      const batchLimit = limit === 0 ? 0 : limit - changed;
      changed += (await this.#sweep(slot, { kind: 'purge_nodes', batchLimit })).changed;
    }
    return changed;
  }

  /** Only the oldest expired day goes, and that in every partition. */
  async #purgeDay(
    find: 'find_report_day' | 'find_event_day',
    purge: 'purge_report_day' | 'purge_event_day',
  ): Promise<number> {
    let oldest: number | null = null;
    for (const slot of this.#slots) {
      const { day } = await this.#sweep(slot, { kind: find });
      if (day !== null && (oldest === null || day < oldest)) oldest = day;
    }
    return oldest === null ? 0 : this.#sweepAll({ kind: purge, day: oldest });
  }

  #sweep(slot: Slot, sweep: SweepKind): Promise<Swept> {
    if (this.#stopping !== null) return Promise.reject(new Error('stopping'));
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const request: SweepRequest = { slot, sweep, crashes: 0, resolve, reject };
      this.#sweeps.set(id, request);
      if (slot.up) this.#sendSweep(id, request);
    });
  }

  #sendSweep(id: number, { slot, sweep }: SweepRequest): void {
    slot.actor.post({ kind: 'sweep', slot: slot.slot, id, sweep });
  }

  #swept({ id, changed, day, error }: Extract<FromActor, { kind: 'swept' }>): void {
    const request = this.#sweeps.get(id);
    if (request === undefined) return;
    this.#sweeps.delete(id);
    if (error === null) request.resolve({ changed, day });
    else request.reject(new Error(`partition ${request.slot.slot}: ${error}`));
  }

  #countsOf(actor: ActorHandle): Promise<readonly SlotCounts[]> {
    if (!actor.alive || this.#stopping !== null) return Promise.resolve([]);
    return new Promise((resolve) => {
      const id = this.#nextId++;
      this.#counting.set(id, { actor, resolve });
      actor.post({ kind: 'counts', id });
    });
  }

  // ------------------------------------------------------------------ the end

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    clearInterval(this.#watch);
    if (this.#probe !== null) clearInterval(this.#probe);
    await this.#allLanded();
    await Promise.all(this.#actors.map((actor) => actor.stop()));
    await this.#stream.close();
    const stopped = new SubmissionRefused('stopping', 'the service is shutting down', 5);
    for (const slot of this.#slots) {
      for (const entry of slot.flight?.entries ?? []) entry.waiter?.reject(stopped);
      for (const entry of slot.mailbox.entries()) entry.waiter?.reject(stopped);
    }
    for (const request of this.#sweeps.values()) request.reject(new Error('stopping'));
    for (const move of this.#moves.values()) move.waiter?.reject(stopped);
    for (const request of this.#counting.values()) request.resolve([]);
    await this.#lock.release();
  }

  /** Resolves when no batch is at an actor. A partition that cannot be written gives its batch up when its actor stops. */
  #allLanded(): Promise<void> {
    const flying = (): boolean => this.#slots.some((slot) => slot.flight?.sent === true && slot.trouble === null);
    return new Promise((resolve) => {
      const check = (): void => {
        if (flying()) return;
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

const suspectsFile = (dir: string): string => join(dir, 'inbox', 'suspects.json');

/** Notes for the next process on which commands this one hung. */
function writeSuspects(dir: string, seqs: ReadonlyMap<number, number>): void {
  if (seqs.size > 0) writeFileSync(suspectsFile(dir), JSON.stringify([...seqs]), { mode: 0o600, flush: true });
}

function takeSuspects(dir: string): Map<number, number> {
  const file = suspectsFile(dir);
  if (!existsSync(file)) return new Map();
  const text = readFileSync(file, 'utf8');
  rmSync(file);
  try {
    return new Map(JSON.parse(text) as [number, number][]);
  } catch {
    return new Map(); // cut short by the end of that process
  }
}

const defaultThreads = (): number => Math.max(1, availableParallelism() - 1);

/** The body in memory of its own, which can be transferred: small buffers of Node share theirs. */
function ownMemory(body: Uint8Array): Uint8Array {
  return body.byteLength === body.buffer.byteLength && body.buffer instanceof ArrayBuffer
    ? body
    : Uint8Array.from(body);
}

const heldOf = (seq: number, { command, version }: Envelope, certname: string, state: Held['state']): Held => ({
  seq,
  command,
  version,
  certname,
  state,
});

/** What is known of a command that an earlier actor committed without being able to say how it went. */
function lostOutcome({ seq, envelope }: StreamRecord, held: Held | undefined): CommandOutcome {
  if (held === undefined) {
    return { kind: 'processed', seq, detail: 'stored', certname: envelope.certname, hash: null };
  }
  return {
    kind: 'failed',
    seq,
    retryable: held.state === 'waiting',
    validation: false,
    error: 'the command failed and its actor died before it could say why',
    exception: 'ActorDied',
    stack: [],
  };
}
