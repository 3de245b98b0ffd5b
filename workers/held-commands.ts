// The main thread's picture of what the partitions hold (commands waiting for another attempt, for their dead letter, or to
// move), the figures that follow from it, and the moves.
//
// A move: the payload of a command names a certname of another partition than its submission did. The first partition keeps
// it; when the second one is open it is fetched, applied there, and forgotten here:
//
//   source: held ('moving') --fetch--> main --adopt--> target: applied --> main --forget--> source
//
// An actor that dies in between makes it begin again. Then the command may be applied a second time, which changes nothing:
// commands carry their times with them, and what is not newer is not stored.

import type { CommandMetrics } from './command-metrics.ts';
import type { Waiter } from './mailbox.ts';
import type { FromActor, Handled, Held } from './messages.ts';
import { deadlyText, type Slot } from './slot.ts';
import type { Suspects } from './suspects.ts';

/** Moves on their way into one partition at a time: each has a body in memory. */
const MOVES_AT_ONCE = 4;

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

export class HeldCommands {
  readonly #metrics: CommandMetrics;
  readonly #suspects: Suspects;
  readonly #slotOf: (certname: string) => Slot;
  /** By seq. */
  readonly #moves = new Map<number, Move>();
  /** Moves that wait for an answer, by message id. */
  readonly #pending = new Map<number, Move>();
  #nextId = 1;

  constructor(metrics: CommandMetrics, suspects: Suspects, slotOf: (certname: string) => Slot) {
    this.#metrics = metrics;
    this.#suspects = suspects;
    this.#slotOf = slotOf;
  }

  /** The partition holds the command from now on, or holds it in another state. */
  hold(slot: Slot, held: Held, waiter: Waiter | null = null): void {
    const before = slot.held.get(held.seq)?.state;
    slot.held.set(held.seq, held);
    if (before !== 'waiting' && held.state === 'waiting') this.#metrics.awaiting(held, 1);
    if (before === 'waiting' && held.state !== 'waiting') this.#metrics.awaiting(held, -1);
    if (held.state === 'moving' && !this.#moves.has(held.seq)) {
      const target = this.#slotOf(held.certname);
      const move: Move = { held, source: slot, target, pending: 0, received: 0, waiter };
      this.#moves.set(held.seq, move);
      this.#begin(move);
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

  /** A partition is open (again): moves from and to it can begin. */
  up(): void {
    for (const move of this.#moves.values()) this.#begin(move);
  }

  /** The actor of these partitions died: whatever was asked of it begins again. */
  down(slots: ReadonlySet<Slot>): void {
    for (const [id, move] of this.#pending) {
      if (!slots.has(move.source) && !slots.has(move.target)) continue;
      this.#pending.delete(id);
      move.pending = 0;
    }
  }

  fetched({ id, command, size }: Extract<FromActor, { kind: 'fetched' }>): void {
    const move = this.#pending.get(id);
    if (move === undefined) return;
    const { source, target, held } = move;
    if (command === null) {
      // It went there already, and only the report of that was lost.
      this.#pending.delete(id);
      this.#moves.delete(held.seq);
      if (this.letGo(source, held.seq)) this.#metrics.left(held);
      return;
    }
    move.received = command.received;
    const giveUp = this.#suspects.isDeadly(held.seq) ? deadlyText : null;
    target.actor.post({ kind: 'adopt', slot: target.slot, id, command, size, giveUp });
  }

  adopted(id: number, handled: Handled): void {
    const move = this.#pending.get(id);
    if (move === undefined) return;
    const { source, target, held, waiter } = move;
    const { seq } = held;
    this.#pending.delete(id);
    this.#moves.delete(seq);
    this.#suspects.clear(seq);
    this.letGo(source, seq);
    source.actor.post({ kind: 'forget', slot: source.slot, seq });
    this.#metrics.handled(held, handled, Date.now() - move.received, 0);
    if (handled.decision === null) this.#metrics.left(held);
    else this.hold(target, { ...held, state: handled.decision });
    if (handled.outcome.kind !== 'reroute') waiter?.resolve(handled.outcome);
    this.up();
  }

  /** Tells those who wait for a move that it will not happen any more in this process. */
  close(error: Error): void {
    for (const { waiter } of this.#moves.values()) waiter?.reject(error);
  }

  #begin(move: Move): void {
    const { source, target, held } = move;
    if (move.pending !== 0 || !source.up || !target.up) return;
    let busy = 0;
    for (const other of this.#pending.values()) if (other.target === target) busy++;
    if (busy >= MOVES_AT_ONCE) return;
    move.pending = this.#nextId++;
    this.#pending.set(move.pending, move);
    source.actor.post({ kind: 'fetch', slot: source.slot, id: move.pending, seq: held.seq });
  }
}
