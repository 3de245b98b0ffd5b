// Which records were written anew or removed last. Threads keep records for their next queries, of nodes with their lists, and of reports: few
// of many change in between. So each transaction that changes some notes their ids, and a snapshot has the notes of exactly the changes that
// it sees.
//
//   u32 LE ids, in the order in which they changed; only the last TOLD_MAX of all

import type { KeptBytes } from './items/kept-bytes.ts';

export type RewrittenKind = 'node' | 'report';

/** Where the ids are noted, in the table of the state. */
export const REWRITTEN: Readonly<Record<RewrittenKind, Buffer>> = {
  node: Buffer.from('rewritten_nodes'),
  report: Buffer.from('rewritten_reports'),
};

export const REWRITTEN_KINDS = Object.keys(REWRITTEN) as readonly RewrittenKind[];

/** So many ids are noted: they fit a page beside others. */
export const TOLD_MAX = 256;
const ID_SIZE = 4;

/** What is to be noted when these have changed after those noted before. */
export function withRewritten(before: Uint8Array | undefined, ids: Iterable<number>): Buffer {
  const added = Buffer.from(Uint32Array.from(ids).buffer);
  const all = before === undefined ? added : Buffer.concat([before, added]);
  return all.subarray(Math.max(0, all.length - TOLD_MAX * ID_SIZE));
}

/** What a thread keeps of what is rewritten with records of a kind, by their ids: as it is after so many changes. */
export class Rewritten {
  readonly #kept: readonly KeptBytes[];
  /** Changes before the snapshot that is kept. */
  #changes = 0;

  constructor(kept: readonly KeptBytes[]) {
    this.#kept = kept;
  }

  /**
   * A snapshot begins that sees so many changes. `told`: the ids that are noted in it. From now on what is kept is as this snapshot has
   * it.
   */
  begin(changes: number, told: () => Uint8Array | undefined): void {
    const count = changes - this.#changes;
    if (count === 0) return;
    this.#changes = changes;
    const word = count > 0 && count <= TOLD_MAX ? told() : undefined;
    if (word === undefined || word.length < count * ID_SIZE) {
      for (const kept of this.#kept) kept.clear();
      return;
    }
    const { buffer, byteOffset, length } = word;
    const ids = new DataView(buffer, byteOffset, length);
    for (let at = length - count * ID_SIZE; at < length; at += ID_SIZE) {
      for (const kept of this.#kept) kept.delete(ids.getUint32(at, true));
    }
  }

  /** Whether the snapshot that sees so many changes is the last that has begun: others have to read for themselves. */
  isAt(changes: number): boolean {
    return changes === this.#changes;
  }
}
