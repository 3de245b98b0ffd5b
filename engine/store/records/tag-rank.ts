// Where tags stand in PuppetDB's set order.

import { setRank } from '../../clojure.ts';

const RANKS_MAX = 20_000;
const ranks = new Map<string, number>();

/** `setRank` of a tag. The same few hundred tags come with every catalog: the ranks of those that came lately are kept. */
export function tagRank(tag: string): number {
  const known = ranks.get(tag);
  if (known !== undefined) return known;
  const rank = setRank(tag);
  if (ranks.size >= RANKS_MAX) ranks.clear();
  ranks.set(tag, rank);
  return rank;
}
