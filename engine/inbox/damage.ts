// What damage of the command log means to whoever opens it: whether all commands that stood there are applied.

import { isGone, messageOf } from '../reason.ts';
import { diskFiles } from './files.ts';
import { NewerSegment } from './record.ts';
import { closeAll, type Damage, readSegments } from './segments.ts';
import { StreamCorrupt } from './stream.ts';

/** What to do about a log that keeps the server from starting. */
const LOG_ADVICE =
  'restore a backup; without one move the folder inbox away, and lose what was not applied (docs/backup.md)';

/** Why the log must not be opened, and what to do about it; null: nothing is lost. `positions`: of all partitions, flushed. */
export function refusalFor(damage: Damage, positions: readonly number[]): StreamCorrupt | null {
  if (isApplied(damage, positions)) return null;
  const { error, from, to } = damage;
  const seqs = to === Number.POSITIVE_INFINITY ? `${from} and later` : `${from} to ${to}`;
  const lost = `commands of seq ${seqs} stood there, and not every partition is known to have them: ${LOG_ADVICE}`;
  return new StreamCorrupt(error.file, error.offset, `${error.what}; ${lost}`);
}

/** Why the log can be opened all the same. */
export const nothingLost = ({ from, to }: Damage): string =>
  `nothing is lost, as all commands of seq ${from} to ${to} are applied`;

/**
 * Whether every command that may have been there is applied: one that all partitions have passed, or that one of them stands at. The latter
 * counts only at the end of the log, which is cut off now. A stretch before it would be met again by a later start, which finds the partition
 * at another command.
 */
function isApplied({ from, to, isLast }: Damage, positions: readonly number[]): boolean {
  for (let seq = Math.max(from, Math.min(...positions) + 1); seq <= to; seq++) {
    if (!isLast || !positions.includes(seq)) return false;
  }
  return true;
}

/**
 * What is damaged in the log in `dir`, with file and offset, and what a start would do about it; or which file a newer version wrote. Empty:
 * nothing is wrong. `positions`: of all partitions, read before this is called; 0 for one that is not known. Changes nothing. Rejects when the
 * log cannot be read.
 */
export const checkLog = (dir: string, positions: readonly number[]): Promise<readonly string[]> =>
  foundTwice(() => problemsOf(dir, positions));

/** What `find` finds twice in a row: a log that is being written may look damaged at its end, and whole a moment later. */
export async function foundTwice(find: () => Promise<readonly string[]>): Promise<readonly string[]> {
  let before: string | null = null;
  for (;;) {
    const problems = await find();
    const found = problems.join('\n');
    if (problems.length === 0 || found === before) return problems;
    before = found;
  }
}

async function problemsOf(dir: string, positions: readonly number[]): Promise<string[]> {
  try {
    const seqAfter = Math.max(...positions);
    const { segments, damages } = await readSegments({ dir, files: diskFiles, flags: 'r', seqAfter });
    await closeAll(segments);
    return damages.map(
      (damage) =>
        refusalFor(damage, positions)?.message ??
        `${damage.error.message}; a start passes it over: ${nothingLost(damage)}`,
    );
  } catch (error) {
    // A segment that is removed when it is its turn is one that nobody needs.
    if (error instanceof NewerSegment || isGone(error)) return [messageOf(error)];
    throw error;
  }
}
