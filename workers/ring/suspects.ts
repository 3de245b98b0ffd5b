// Commands that killed their actor, hung it so that the whole process had to end, or were being tried when the process died. The counts
// outlive the actor. In the last two cases, and in runs in which commands are tried (trials.ts), they outlive the process, too: else a deadly
// command would be tried again for ever.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isThere } from '../../engine/directories.ts';
import type { GivenUp } from '../actor/actor.ts';
import { CRASHES_MAX, deadlyText } from './slot.ts';

interface Suspect {
  readonly slot: number;
  readonly seq: number;
  readonly crashes: number;
}

export class Suspects {
  readonly #file: string;
  readonly #bySeq = new Map<number, Suspect>();

  /** Takes over what an earlier process noted in `file`, and removes it. */
  constructor(file: string) {
    this.#file = file;
    if (!isThere(file)) return;
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    try {
      for (const suspect of JSON.parse(text) as Suspect[]) this.#bySeq.set(suspect.seq, suspect);
    } catch {
      // Cut short by the end of that process: its counts begin again.
    }
  }

  crashes(seq: number): number {
    return this.#bySeq.get(seq)?.crashes ?? 0;
  }

  isDeadly(seq: number): boolean {
    return this.crashes(seq) >= CRASHES_MAX;
  }

  /** An actor died while it was applying the command. */
  accuse(slot: number, seq: number): void {
    this.#bySeq.set(seq, { slot, seq, crashes: this.crashes(seq) + 1 });
  }

  /** The command was applied, or is known to have failed. */
  clear(seq: number): void {
    this.#bySeq.delete(seq);
  }

  /** What must not be tried any more. */
  givenUp(): GivenUp[] {
    const all: GivenUp[] = [];
    for (const { slot, seq } of this.#bySeq.values()) {
      if (this.isDeadly(seq)) all.push({ slot, seq, reason: deadlyText });
    }
    return all;
  }

  /** Notes everything for the next process. */
  save(): void {
    this.#write([...this.#bySeq.values()], true);
  }

  /**
   * The same with these commands accused: as long as they are tried. The end of the process leaves what was written, so it need not be on the disk;
   * where nothing can be written they are tried all the same.
   */
  saveTrying(slot: number, seqs: readonly number[]): void {
    // Of two of a seq the last one counts.
    this.#note([...this.#bySeq.values(), ...seqs.map((seq) => ({ slot, seq, crashes: this.crashes(seq) + 1 }))]);
  }

  /** The commands that were tried are no longer, and nobody died of them. */
  saveTried(): void {
    this.#note([...this.#bySeq.values()]);
  }

  #note(suspects: readonly Suspect[]): void {
    try {
      if (suspects.length === 0) rmSync(this.#file, { force: true });
      else this.#write(suspects, false);
    } catch {
      // A full disk is told by what needs it.
    }
  }

  #write(suspects: readonly Suspect[], flush: boolean): void {
    writeFileSync(this.#file, JSON.stringify(suspects), { mode: 0o600, flush });
  }
}
