// The main thread's picture of what the partitions hold (commands waiting for another attempt, for their dead letter, or to
// move), the figures that follow from it, the moves, and the leave that partitions ask for where what is held is feared (trials.ts).
//
// A move: the payload of a command names a certname of another partition than its submission did. The first partition keeps
// it; when the second one is open it is fetched, applied there, and forgotten here:
//
//   source: held ('moving') --fetch--> main --adopt--> target: applied --> main --forget--> source
//
// While a backup is made the last step waits: else the command could be in neither partition's copy.
// An actor that dies in between makes it begin again. Then the command may be applied a second time, which changes nothing:
// commands carry their times with them, and what is not newer is not stored.

import type { FromActor, Handled, Held } from '../actor/messages.ts';
import type { Log } from '../log.ts';
import { logCommand } from './command-line.ts';
import type { CommandMetrics } from './command-metrics.ts';
import type { Waiter } from './mailbox.ts';
import { deadlyText, type Slot, troubleOf } from './slot.ts';
import type { Suspects } from './suspects.ts';
import type { Trials } from './trials.ts';

/** Moves on their way into one partition at a time: each has a body in memory. */
const MOVES_AT_ONCE = 4;
/** Milliseconds between two looks whether a backup is over. */
const BACKUP_LOOK_MS = 1000;

interface Move {
  readonly held: Held;
  readonly source: Slot;
  readonly target: Slot;
  /** Epoch ms, and that of its producer; known once the command was fetched. */
  received: number;
  producerTimestamp: number | null;
  waiter: Waiter | null;
}

/** The way into a partition. */
interface Door {
  /** Moves that wait for their turn, the oldest first. */
  readonly waiting: Set<Move>;
  /** Moves that are on their way. */
  busy: number;
}

interface HeldCommandsOptions {
  readonly metrics: CommandMetrics;
  readonly suspects: Suspects;
  readonly log: Log;
  readonly slotOf: (certname: string) => Slot;
  /** `up` is called when what is held may be tried again. */
  readonly trials: Trials;
  /** Whether the partitions may be being copied, one after the other. */
  readonly isBackedUp: () => boolean;
}

export class HeldCommands {
  readonly #metrics: CommandMetrics;
  readonly #suspects: Suspects;
  readonly #log: Log;
  readonly #slotOf: (certname: string) => Slot;
  readonly #trials: Trials;
  /** By seq. */
  readonly #moves = new Map<number, Move>();
  /** Moves that wait for an answer, by message id. */
  readonly #pending = new Map<number, Move>();
  readonly #doors = new Map<Slot, Door>();
  /** Commands whose partitions ask for leave to try them. */
  readonly #asked = new Map<Slot, number>();
  readonly #isBackedUp: () => boolean;
  /** Seqs of commands that have moved, which their partitions keep until no backup is made any more. */
  readonly #moved = new Map<Slot, number[]>();
  #look: NodeJS.Timeout | null = null;
  #nextId = 1;

  constructor({ metrics, suspects, log, slotOf, trials, isBackedUp }: HeldCommandsOptions) {
    this.#isBackedUp = isBackedUp;
    this.#log = log;
    this.#metrics = metrics;
    this.#suspects = suspects;
    this.#slotOf = slotOf;
    this.#trials = trials;
  }

  /** Commands that are to move, or are on their way. */
  get moving(): number {
    return this.#moves.size;
  }

  /** The partition holds the command from now on, or holds it in another state. */
  hold(slot: Slot, held: Held, waiter: Waiter | null = null): void {
    const before = slot.held.get(held.seq)?.state;
    slot.held.set(held.seq, held);
    if (before !== 'waiting' && held.state === 'waiting') this.#metrics.awaiting(held, 1);
    if (before === 'waiting' && held.state !== 'waiting') this.#metrics.awaiting(held, -1);
    if (held.state === 'moving' && !this.#moves.has(held.seq)) {
      const target = this.#slotOf(held.certname);
      const move: Move = { held, source: slot, target, received: 0, producerTimestamp: null, waiter };
      this.#moves.set(held.seq, move);
      this.#doorOf(target).waiting.add(move);
      this.#begin(target);
    }
  }

  /** The partition holds it no more; false when it was not known to. */
  letGo(slot: Slot, seq: number): boolean {
    const held = slot.held.get(seq);
    if (held === undefined) return false;
    slot.held.delete(seq);
    if (held.state === 'waiting') this.#metrics.awaiting(held, -1);
    return true;
  }

  /** What the partition really holds, told by a new actor. `queued` says which seqs were counted when they entered. */
  replace(slot: Slot, held: readonly Held[], queued: ReadonlySet<number>): void {
    const before = new Map(slot.held);
    for (const one of held) {
      if (!before.has(one.seq) && !queued.has(one.seq)) this.#metrics.entered(one);
      before.delete(one.seq);
      this.hold(slot, one);
    }
    for (const one of before.values()) {
      this.letGo(slot, one.seq);
      this.#metrics.left(one);
    }
  }

  /** Lets the waiter of a command hear of its move; false when it is not moving. */
  awaitMove(seq: number, waiter: Waiter | null): boolean {
    const move = this.#moves.get(seq);
    if (move === undefined) return false;
    move.waiter ??= waiter;
    return true;
  }

  /** A partition is open (again), or a trial is over: what waits for that can begin. */
  up(): void {
    for (const target of this.#doors.keys()) this.#begin(target);
    for (const [slot, seq] of this.#asked) {
      if (!this.#trials.mayTryHeld) return;
      if (!this.#isWell(slot)) continue;
      this.#asked.delete(slot);
      this.#trials.beginHeld([slot], seq);
      slot.actor.post({ kind: 'retry', slot: slot.slot, seq });
    }
  }

  /** A partition asks for leave to try a command. */
  asked(slot: Slot, seq: number): void {
    this.#asked.set(slot, seq);
    this.up();
  }

  /** The actor of these partitions died: whatever was asked of it begins again. */
  down(slots: ReadonlySet<Slot>): void {
    for (const slot of slots) {
      this.#asked.delete(slot);
      this.#trials.endHeld(slot);
    }
    for (const [id, move] of this.#pending) {
      if (!slots.has(move.source) && !slots.has(move.target)) continue;
      this.#ended(id, move);
      this.#doorOf(move.target).waiting.add(move);
    }
  }

  fetched({ id, command }: Extract<FromActor, { kind: 'fetched' }>): void {
    const move = this.#pending.get(id);
    if (move === undefined) return;
    const { source, target, held } = move;
    if (command === null) {
      // It went there already, and only the report of that was lost.
      this.#ended(id, move);
      this.#moves.delete(held.seq);
      if (this.letGo(source, held.seq)) this.#metrics.left(held);
      this.#begin(target);
      return;
    }
    move.received = command.envelope.received;
    move.producerTimestamp = command.envelope.producerTimestamp;
    const giveUp = this.#suspects.isDeadly(held.seq) ? deadlyText : null;
    target.actor.post({ kind: 'adopt', slot: target.slot, id, command, giveUp });
  }

  adopted(id: number, handled: Handled): void {
    const move = this.#pending.get(id);
    if (move === undefined) return;
    const { source, target, held, waiter, received, producerTimestamp } = move;
    const { seq } = held;
    this.#suspects.clear(seq);
    this.#ended(id, move);
    this.#moves.delete(seq);
    this.letGo(source, seq);
    this.#forget(source, seq);
    this.#metrics.handled(held, handled, Date.now() - received, 0);
    logCommand(this.#log, seq, { ...held, received, producerTimestamp }, handled, 1);
    if (handled.decision === null) this.#metrics.left(held);
    else this.hold(target, { ...held, state: handled.decision });
    if (handled.outcome.kind !== 'reroute') waiter?.resolve(handled.outcome);
    this.#begin(target);
  }

  /** The partition need not hold the command any more, which another one has. */
  #forget(source: Slot, seq: number): void {
    const moved = this.#moved.get(source);
    if (moved === undefined) this.#moved.set(source, [seq]);
    else moved.push(seq);
    if (this.#look === null) this.#forgetMoved();
  }

  #forgetMoved(): void {
    this.#look = null;
    if (this.#isBackedUp()) {
      this.#look = setTimeout(() => this.#forgetMoved(), BACKUP_LOOK_MS).unref();
      return;
    }
    for (const [{ slot, actor }, seqs] of this.#moved)
      for (const seq of seqs) actor.post({ kind: 'forget', slot, seq });
    this.#moved.clear();
  }

  /** Tells those who wait for a move that it will not happen any more in this process. What has moved and is still held moves again in the next one. */
  close(error: Error): void {
    if (this.#look !== null) clearTimeout(this.#look);
    for (const { waiter } of this.#moves.values()) waiter?.reject(error);
  }

  /** Lets in as many as may be on their way, passing over those whose source is not open. */
  #begin(target: Slot): void {
    const door = this.#doorOf(target);
    if (!this.#isWell(target)) return;
    for (const move of door.waiting) {
      if (door.busy >= MOVES_AT_ONCE || !this.#trials.mayTryHeld) return;
      const { source, held } = move;
      if (!this.#isWell(source)) continue;
      door.waiting.delete(move);
      door.busy++;
      const id = this.#nextId++;
      this.#pending.set(id, move);
      this.#trials.beginHeld([target, source], held.seq);
      source.actor.post({ kind: 'fetch', slot: source.slot, id, seq: held.seq });
    }
  }

  /** Open; and no trial would hang on it. */
  #isWell(slot: Slot): boolean {
    return slot.up && (troubleOf(slot) === null || !this.#trials.isHeldFeared);
  }

  /** Nothing of the move is on its way any more. */
  #ended(id: number, move: Move): void {
    this.#pending.delete(id);
    this.#doorOf(move.target).busy--;
    this.#trials.end(move.held.seq);
  }

  #doorOf(target: Slot): Door {
    let door = this.#doors.get(target);
    if (door === undefined) this.#doors.set(target, (door = { waiting: new Set(), busy: 0 }));
    return door;
  }
}
