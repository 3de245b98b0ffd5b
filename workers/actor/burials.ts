// What a partition has given up, on its way to the dead letter office: first the letter, then the entry in the table of held commands.
// While letters cannot be written they are tried again with growing pauses.

import type { DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { messageOf } from '../../engine/reason.ts';
import type { ActorTimes } from './actor-times.ts';
import { decodeHeld, type HeldCommand } from './held-command.ts';
import type { Discarded, FromActor } from './messages.ts';
import type { PartitionHost } from './partition-host.ts';
import type { PartitionWriter } from './partition-writer.ts';

const LETTERS_AT_ONCE = 16;

interface BurialsOptions {
  readonly slot: number;
  readonly host: PartitionHost;
  readonly writer: PartitionWriter;
  readonly deadLetters: DeadLetters;
  readonly times: ActorTimes;
  readonly post: (message: FromActor) => void;
  /** Given up, letter not written yet: their seqs. Those whose letter is written are taken out. */
  readonly dead: Set<number>;
}

export class Burials {
  readonly #slot: number;
  readonly #host: PartitionHost;
  readonly #writer: PartitionWriter;
  readonly #deadLetters: DeadLetters;
  readonly #times: ActorTimes;
  readonly #post: (message: FromActor) => void;
  readonly #dead: Set<number>;
  #burying: Promise<void> | null = null;

  constructor({ slot, host, writer, deadLetters, times, post, dead }: BurialsOptions) {
    this.#slot = slot;
    this.#host = host;
    this.#writer = writer;
    this.#deadLetters = deadLetters;
    this.#times = times;
    this.#post = post;
    this.#dead = dead;
  }

  /** Resolves when none is going on. */
  async ended(): Promise<void> {
    await this.#burying;
  }

  /** Writes the letters that are to be written, unless that is going on. */
  begin(): void {
    if (this.#burying !== null || this.#dead.size === 0) return;
    this.#burying = this.#buryAll().finally(() => {
      this.#burying = null;
    });
  }

  async #buryAll(): Promise<void> {
    let pause = this.#times.stallMin;
    while (this.#dead.size > 0 && !this.#writer.isStopping) {
      try {
        await this.#burySome();
        this.#writer.setTrouble('letters', null);
        pause = this.#times.stallMin;
      } catch (error) {
        this.#writer.failed('letters', error, `dead letters cannot be written: ${messageOf(error)}`);
        await this.#writer.pause(pause);
        pause = Math.min(pause * 2, this.#times.stallMax);
      }
    }
  }

  async #burySome(): Promise<void> {
    const seqs = first(LETTERS_AT_ONCE, this.#dead);
    const letters: { seq: number; held: HeldCommand }[] = [];
    for (const seq of seqs) {
      const bytes = this.#host.readHeld(seq);
      if (bytes !== null) letters.push({ seq, held: decodeHeld(bytes) });
    }
    const added = await this.#deadLetters.put(letters.map(({ seq, held }) => ({ seq, ...held })));
    const changes = seqs.map((seq) => ({ seq, bytes: null }));
    await this.#writer.exclusive(async () => {
      await this.#writer.whileWritable(() => {
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
    this.#writer.flushSoon();
  }
}

/** The first ones of a set, which may have very many. */
function first(count: number, set: ReadonlySet<number>): number[] {
  const found: number[] = [];
  for (const one of set) {
    if (found.length === count) break;
    found.push(one);
  }
  return found;
}
