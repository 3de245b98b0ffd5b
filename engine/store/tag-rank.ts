// Where a text stands in PuppetDB's set order (spec/commands.md 4.2): the order of a 32-way hash trie.

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

/** Position of a text in the trie as one number: its 5-bit groups, lowest first, as digits of a number in base 32. */
function setRank(text: string): number {
  let mixed = murmur3Int(javaHash(text));
  let rank = 0;
  for (let group = 0; group < 7; group++) {
    rank = rank * 32 + (mixed & 31);
    mixed >>>= 5;
  }
  return rank;
}

/** Of several texts, of which there is one at least, the one that PuppetDB meets first when it goes through a set of them. */
export const firstOfSet = (texts: readonly string[]): string =>
  texts.reduce((first, text) => (setRank(text) < setRank(first) ? text : first));

function javaHash(text: string): number {
  let code = 0;
  for (let index = 0; index < text.length; index++) code = (Math.imul(31, code) + text.charCodeAt(index)) | 0;
  return code;
}

function murmur3Int(input: number): number {
  if (input === 0) return 0;
  let k = Math.imul(input, 0xcc9e2d51);
  k = (k << 15) | (k >>> 17);
  let h = Math.imul(k, 0x1b873593);
  h = (h << 13) | (h >>> 19);
  h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  h ^= 4;
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  h ^= h >>> 16;
  return h >>> 0;
}
