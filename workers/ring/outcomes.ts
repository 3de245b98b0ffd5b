// How commands went, as the main thread hears of it from the actors: told to metrics, the log and whoever waits for them, and to the list of
// those that partitions hold.

import type { Envelope } from '../../engine/inbox/envelope.ts';
import type { StreamRecord } from '../../engine/inbox/stream.ts';
import { failedOutcome } from '../../engine/ingest/command/errors.ts';
import type { CommandOutcome } from '../../engine/ingest/command/types.ts';
import type { Discarded, Handled, Held } from '../actor/messages.ts';
import type { Log } from '../log.ts';
import { logCommand } from './command-line.ts';
import type { CommandMetrics } from './command-metrics.ts';
import type { DeadLetterCounts } from './dead-letter-counts.ts';
import type { HeldCommands } from './held-commands.ts';
import type { Entry } from './mailbox.ts';
import type { Slot } from './slot.ts';
import type { Suspects } from './suspects.ts';

interface OutcomesOptions {
  readonly metrics: CommandMetrics;
  readonly held: HeldCommands;
  readonly suspects: Suspects;
  readonly deadLetters: DeadLetterCounts;
  readonly log: Log;
}

export class Outcomes {
  readonly #metrics: CommandMetrics;
  readonly #held: HeldCommands;
  readonly #suspects: Suspects;
  readonly #deadLetters: DeadLetterCounts;
  readonly #log: Log;

  constructor({ metrics, held, suspects, deadLetters, log }: OutcomesOptions) {
    this.#metrics = metrics;
    this.#held = held;
    this.#suspects = suspects;
    this.#deadLetters = deadLetters;
    this.#log = log;
  }

  /** Committed by an earlier actor whose report was lost. */
  lost(slot: Slot, entry: Entry): void {
    if (entry.obsolete) {
      this.obsolete(entry);
      return;
    }
    const { record, waiter } = entry;
    const held = slot.held.get(record.seq);
    this.#suspects.clear(record.seq);
    if (held === undefined) this.#metrics.left(record.envelope);
    if (!this.#held.awaitMove(record.seq, waiter)) waiter?.resolve(lostOutcome(record, held));
  }

  /** A batch had it executed. `now`: epoch ms. */
  finished(slot: Slot, entry: Entry, handled: Handled, now: number): void {
    const { seq, envelope } = entry.record;
    if (handled.outcome.kind === 'reroute') {
      this.#held.hold(slot, heldOf(seq, envelope, handled.outcome.certname, 'moving'), entry.waiter);
      return;
    }
    this.#metrics.handled(envelope, handled, now - envelope.received, 0);
    this.#settle(slot, seq, envelope, handled);
    logCommand(this.#log, seq, envelope, handled, 1);
    entry.waiter?.resolve(handled.outcome);
  }

  /** Where the command is now: in `slot`, held, or nowhere any more. */
  #settle(slot: Slot, seq: number, envelope: Envelope, { decision }: Handled): void {
    if (decision !== null) this.#held.hold(slot, heldOf(seq, envelope, envelope.certname, decision));
    else {
      this.#held.letGo(slot, seq);
      this.#metrics.left(envelope);
    }
  }

  /** A newer one superseded it, so it was not executed. */
  obsolete(entry: Entry): void {
    const { seq, envelope } = entry.record;
    this.#metrics.dropped(envelope);
    this.#metrics.left(envelope);
    const outcome: CommandOutcome = {
      kind: 'processed',
      seq,
      detail: 'obsolete',
      certname: envelope.certname,
      hash: null,
    };
    logCommand(this.#log, seq, envelope, { outcome, decision: null, duration: 0 }, 1);
    entry.waiter?.resolve(outcome);
  }

  /** An attempt at a held one. */
  retried(slot: Slot, result: Handled & { readonly envelope: Envelope; readonly attempts: number }): void {
    const { envelope, outcome, attempts } = result;
    const { seq } = outcome;
    this.#suspects.clear(seq);
    this.#metrics.handled(envelope, result, Date.now() - envelope.received, attempts);
    this.#settle(slot, seq, envelope, result);
    logCommand(this.#log, seq, envelope, result, attempts + 1);
  }

  /** Letters of commands that the partition had given up are written. */
  discarded(slot: Slot, letters: readonly Discarded[]): void {
    for (const letter of letters) {
      this.#suspects.clear(letter.seq);
      if (this.#held.letGo(slot, letter.seq)) this.#metrics.left(letter);
      this.#metrics.discarded(letter);
      this.#deadLetters.added(letter.command, letter.added);
      this.#log.error(`[${letter.seq}] '${letter.command}' command for ${letter.certname} moved to the dead letters`);
    }
  }
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
  return failedOutcome(seq, {
    retryable: held.state === 'waiting',
    error: 'the command failed and its actor died before it could say why',
    exception: 'ActorDied',
  });
}
