// What an actor knows of the commands that its partition holds (held-command.ts): those that wait for their next attempt, those that belong
// to another partition, those that are given up. The table in the partition says the same; memory follows it after each commit.

import type { Attempt } from '../../engine/inbox/dead-letters.ts';
import type { ApplyOutcome, FailedOutcome, QueuedCommand } from '../../engine/ingest/command/types.ts';
import { monotonicMs } from '../system/clock.ts';
import { decodeHeld, encodeHeld } from './held-command.ts';
import type { Decision, Held } from './messages.ts';
import type { HeldChange, PartitionHost } from './partition-host.ts';

/** Delayed attempts of a retryable command after the first one (spec/commands.md 2.5). */
const DELAYS_MAX = 5;
/** Beyond this many held commands the next one is given up at once: they cost room, and a sender can produce any number. */
const WAITING_MAX = 10_000;

/** A command to be applied. */
export interface Item {
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

export class HeldMemory {
  readonly #host: PartitionHost;
  readonly #retryDelay: number;
  /** For their next attempt, by seq. */
  readonly waiting = new Map<number, WaitingCommand>();
  /** To go to the partition of that certname, by seq. */
  readonly moving = new Map<number, string>();
  /** Given up, letter not written yet. */
  readonly dead = new Set<number>();

  /** `retryDelay`: milliseconds between the attempts of a command. */
  constructor(host: PartitionHost, retryDelay: number) {
    this.#host = host;
    this.#retryDelay = retryDelay;
  }

  /** Reads what an earlier actor left. Attempts start again; what had been given up still is. */
  takeOver(givenUp: ReadonlyMap<number, string>, now: number): readonly Held[] {
    const found: Held[] = [];
    const due = monotonicMs();
    for (const seq of this.#host.heldSeqs()) {
      const bytes = this.#host.readHeld(seq);
      if (bytes === null) continue;
      const held = decodeHeld(bytes);
      const reason = held.state === 'waiting' ? givenUp.get(seq) : undefined;
      const state = reason === undefined ? held.state : 'dead';
      const { command, version } = held.envelope;
      found.push({ seq, command, version, state, certname: held.certname });
      if (reason !== undefined) {
        const attempts = [...held.attempts, { time: now, text: reason }];
        this.#host.writeHeld([{ seq, bytes: encodeHeld({ ...held, attempts, state }) }], 0);
      }
      if (state === 'waiting') this.waiting.set(seq, { seq, due, attempts: [] });
      else if (state === 'moving') this.moving.set(seq, held.certname);
      else this.dead.add(seq);
    }
    return found;
  }

  /** What becomes of the command after this outcome; null: nothing holds it. */
  decide(item: Item, outcome: ApplyOutcome): Decision | null {
    if (outcome.kind === 'processed') return null;
    if (outcome.kind === 'reroute') return 'moving';
    if (!outcome.retryable || item.attempts.length >= DELAYS_MAX) return 'dead';
    const known = this.waiting.has(item.command.seq);
    return known || this.waiting.size < WAITING_MAX ? 'waiting' : 'dead';
  }

  /** What the table of held commands has to say then, to be written with the outcomes. */
  changes(
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
        if (this.waiting.has(seq)) changes.push({ seq, bytes: null });
        continue;
      }
      const attempts = outcome.kind === 'failed' ? attemptsAfter(items[i]!, outcome, now) : before;
      const certname = outcome.kind === 'reroute' ? outcome.certname : envelope.certname;
      changes.push({ seq, bytes: encodeHeld({ envelope, body, attempts, state, certname }) });
    }
    return changes;
  }

  /** After the commit: memory follows what the table of held commands says now. */
  remember(
    items: readonly Item[],
    outcomes: readonly ApplyOutcome[],
    decisions: readonly (Decision | null)[],
    now: number,
  ): void {
    for (let i = 0; i < items.length; i++) {
      const { seq } = items[i]!.command;
      const outcome = outcomes[i]!;
      this.waiting.delete(seq);
      if (outcome.kind === 'reroute') this.moving.set(seq, outcome.certname);
      if (decisions[i] === 'dead') this.dead.add(seq);
      if (outcome.kind !== 'failed' || decisions[i] !== 'waiting') continue;
      const attempts = attemptsAfter(items[i]!, outcome, now);
      this.waiting.set(seq, { seq, due: monotonicMs() + this.#retryDelay, attempts });
    }
  }

  /** The oldest command that is due. One at a time: batches go in between, and a deadly one is known by name. */
  nextDue(): WaitingCommand | null {
    const now = monotonicMs();
    let next: WaitingCommand | null = null;
    for (const waiting of this.waiting.values()) {
      if (waiting.due <= now && (next === null || waiting.seq < next.seq)) next = waiting;
    }
    return next;
  }

  /** When the next attempt is due, monotonic ms; Infinity: none is. */
  get due(): number {
    let due = Number.POSITIVE_INFINITY;
    for (const waiting of this.waiting.values()) due = Math.min(due, waiting.due);
    return due;
  }
}

/** A command that was not tried before. */
export const newItem = (command: QueuedCommand): Item => ({ command, attempts: [] });

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
