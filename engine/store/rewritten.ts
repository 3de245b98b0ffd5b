// Records that are written anew under their ids, or removed: of nodes, with each of their runs, and seldom of reports. Of many few
// change between two queries, so a thread keeps them: each commit leaves word of those that it changed, within the transaction, so that
// a snapshot has the word of exactly the changes that it sees.
//
//   u32 LE ids, in the order in which they changed; only the last TOLD_MAX of all

import { KeptBytes } from './kept-bytes.ts';
import type { RecordBudget } from './record-cache.ts';

export type RewrittenKind = 'node' | 'report';

/** Where the word lies, in the table of the state. */
export const REWRITTEN: Readonly<Record<RewrittenKind, Buffer>> = {
  node: Buffer.from('rewritten_nodes'),
  report: Buffer.from('rewritten_reports'),
};

/** What fits a page beside others. */
export const TOLD_MAX = 256;
const ID_SIZE = 4;

/** What is to be left behind when these change after those. */
export function withRewritten(before: Uint8Array | undefined, ids: Iterable<number>): Buffer {
  const added = Buffer.from(Uint32Array.from(ids).buffer);
  const all = before === undefined ? added : Buffer.concat([before, added]);
  return all.subarray(Math.max(0, all.length - TOLD_MAX * ID_SIZE));
}

/** Those of one kind and partition that a thread keeps: as they are after so many changes. */
export class KeptRecords {
  readonly #kept: KeptBytes;
  /** Changes before the snapshot that the records are of. */
  #changes = 0;

  constructor(budget: RecordBudget) {
    this.#kept = new KeptBytes(budget);
  }

  /**
   * A snapshot begins that sees so many changes. `told`: the word that the last of them left. Records are those of this snapshot from
   * now on.
   */
  begin(changes: number, told: () => Uint8Array | undefined): void {
    const count = changes - this.#changes;
    if (count === 0) return;
    this.#changes = changes;
    const word = count > 0 && count <= TOLD_MAX ? told() : undefined;
    if (word === undefined || word.length < count * ID_SIZE) {
      this.#kept.clear();
      return;
    }
    const { buffer, byteOffset, length } = word;
    const ids = new DataView(buffer, byteOffset, length);
    for (let at = length - count * ID_SIZE; at < length; at += ID_SIZE) this.#kept.delete(ids.getUint32(at, true));
  }

  /** The records, if the snapshot that sees so many changes is the last that has begun: others have to read theirs. */
  at(changes: number): KeptBytes | null {
    return changes === this.#changes ? this.#kept : null;
  }
}
