// The commands of one partition that wait for its actor, in stream order, and the batches they leave in. Their bodies stay in the stream.
//
// Superseded commands (spec/commands.md 2.3): of two waiting catalogs (or factsets) of one certname that both came with a
// producer-timestamp, the older one is obsolete. It keeps its place, so that the stream position passes it in order, but it
// is not executed. Taking any command of that name off the mailbox forgets what was remembered for it.

import type { StreamRecord } from '../../engine/inbox/stream.ts';
import type { CommandOutcome } from '../../engine/ingest/command/types.ts';
import { COMMAND_FORMATS } from '../../schemas/commands/formats.ts';

/** Somebody who waits for a command to be processed. */
export interface Waiter {
  resolve(outcome: CommandOutcome): void;
  reject(error: Error): void;
}

export interface Entry {
  readonly record: StreamRecord;
  obsolete: boolean;
  /** How often an actor died while it was working on a batch with this command. */
  crashes: number;
  /** It waited when the last runs ended soon and not in order, of which it may be the cause: nobody is left to say so then. */
  feared: boolean;
  waiter: Waiter | null;
}

export const newEntry = (record: StreamRecord, waiter: Waiter | null = null): Entry => ({
  record,
  obsolete: false,
  crashes: 0,
  feared: false,
  waiter,
});

export interface BatchLimits {
  /** Commands to execute; obsolete ones come on top, as many again. */
  readonly countMax: number;
  /** Bytes of bodies; a larger single command is a batch of its own. */
  readonly sizeMax: number;
  /** Milliseconds of the actor's work, as far as what it took before says. */
  readonly workMax: number;
}

/** What a command is taken to cost before the first ones are known, and how much of what is known the last batch decides. */
const WORK_FIRST = 1;
const WORK_SHARE = 0.25;
/** A batch this small is worth its commit, however dear its commands are. */
const COUNT_MIN = 64;

interface Pushed {
  /** The new command is obsolete itself. */
  readonly obsolete: boolean;
  /** The waiting command that became obsolete. */
  readonly superseded: Entry | null;
}

const superseding: ReadonlySet<string> = new Set(
  Object.values(COMMAND_FORMATS)
    .filter(({ supersedes }) => supersedes)
    .map(({ command }) => command),
);

const keyOf = ({ record: { envelope } }: Entry): string | null =>
  superseding.has(envelope.command) && envelope.producerTimestamp !== null
    ? `${envelope.command}\n${envelope.certname}`
    : null;

export class Mailbox {
  readonly #limits: BatchLimits;
  /** Entries from `#first` on are waiting; the space before is given back now and then. */
  #entries: Entry[] = [];
  #first = 0;
  #size = 0;
  /** Waiting entries that somebody waits for. */
  #awaited = 0;
  readonly #latest = new Map<string, Entry>();
  /** Milliseconds that a command takes. */
  #work = WORK_FIRST;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /** Entries waiting, obsolete ones included. */
  get count(): number {
    return this.#entries.length - this.#first;
  }

  /** Bytes of the bodies of waiting commands, wherever they are. */
  get size(): number {
    return this.#size;
  }

  /** Whether the next command to be executed is one that is feared. */
  get isNextFeared(): boolean {
    for (let i = this.#first; i < this.#entries.length; i++) {
      const { obsolete, feared } = this.#entries[i]!;
      if (!obsolete) return feared;
    }
    return false;
  }

  /** Nothing is gained by waiting for more: a batch is full, one must go alone, or somebody waits. */
  get isPressing(): boolean {
    if (this.count === 0) return false;
    return (
      this.#awaited > 0 ||
      this.count >= this.#batchCount ||
      this.#size >= this.#limits.sizeMax ||
      this.#entries[this.#first]!.crashes > 0
    );
  }

  /** Commands of a full batch. */
  get #batchCount(): number {
    const { countMax, workMax } = this.#limits;
    return Math.min(countMax, Math.max(COUNT_MIN, Math.floor(workMax / this.#work)));
  }

  /** So many commands of a batch were executed, in so many milliseconds. */
  worked(count: number, ms: number): void {
    if (count > 0) this.#work += WORK_SHARE * (ms / count - this.#work);
  }

  push(entry: Entry): Pushed {
    const superseded = this.#supersede(entry);
    this.#entries.push(entry);
    this.#entered(entry);
    return { obsolete: entry.obsolete, superseded };
  }

  /** The next batch in stream order; empty when nothing waits. A command that may have killed an actor, or the process, goes alone. */
  take(): Entry[] {
    const { sizeMax } = this.#limits;
    const countMax = this.#batchCount;
    const batch: Entry[] = [];
    let executed = 0;
    let size = 0;
    while (this.#first < this.#entries.length && batch.length < 2 * countMax) {
      const entry = this.#entries[this.#first]!;
      if (!entry.obsolete) {
        if (executed === countMax) break;
        if (executed > 0 && (size + entry.record.bytes > sizeMax || entry.crashes > 0)) break;
        executed++;
        size += entry.record.bytes;
      }
      const key = keyOf(entry);
      if (key !== null) this.#latest.delete(key);
      batch.push(entry);
      this.#first++;
      this.#left(entry);
      if (entry.crashes > 0 && !entry.obsolete) break;
    }
    this.#compact();
    return batch;
  }

  /** Returns a batch that was taken and not applied to the front. What is obsolete stays so; nothing is remembered. */
  putBack(batch: readonly Entry[]): void {
    for (const entry of batch) this.#entered(entry);
    this.#entries = [...batch, ...this.#entries.slice(this.#first)];
    this.#first = 0;
  }

  /** Removes and returns everything up to the position: the partition has it already. */
  dropThrough(position: number): Entry[] {
    const dropped: Entry[] = [];
    while (this.#first < this.#entries.length && this.#entries[this.#first]!.record.seq <= position) {
      const entry = this.#entries[this.#first++]!;
      this.#left(entry);
      const key = keyOf(entry);
      if (key !== null && this.#latest.get(key) === entry) this.#latest.delete(key);
      dropped.push(entry);
    }
    this.#compact();
    return dropped;
  }

  /** Everything that waits, oldest first. */
  *entries(): IterableIterator<Entry> {
    for (let i = this.#first; i < this.#entries.length; i++) yield this.#entries[i]!;
  }

  #entered(entry: Entry): void {
    if (!entry.obsolete) this.#size += entry.record.bytes;
    if (entry.waiter !== null) this.#awaited++;
  }

  #left(entry: Entry): void {
    if (!entry.obsolete) this.#size -= entry.record.bytes;
    if (entry.waiter !== null) this.#awaited--;
  }

  /** Marks whichever of the arriving and the remembered command is older; returns the remembered one if that is it. */
  #supersede(arriving: Entry): Entry | null {
    const key = keyOf(arriving);
    if (key === null) return null;
    const remembered = this.#latest.get(key);
    if (remembered === undefined) {
      this.#latest.set(key, arriving);
      return null;
    }
    if (timestampOf(arriving) <= timestampOf(remembered)) {
      arriving.obsolete = true;
      return null;
    }
    remembered.obsolete = true;
    this.#size -= remembered.record.bytes;
    this.#latest.set(key, arriving);
    return remembered;
  }

  #compact(): void {
    if (this.#first < 1024 || this.#first * 2 < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#first);
    this.#first = 0;
  }
}

const timestampOf = (entry: Entry): number => entry.record.envelope.producerTimestamp as number;
