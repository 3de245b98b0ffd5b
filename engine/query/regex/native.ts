// The tree as a JavaScript pattern, for the engine that is fastest and the only one here that could run away. `costOf`
// bounds its work, so that it is asked only where the bound is small.

import { itemsOf, type Place, type RegexNode } from './ast.ts';
import { type CharSet, WORD } from './char-set.ts';
import { sizeOf } from './program.ts';

const W = WORD.source;
const PLACES: Readonly<Record<Place, string>> = {
  'text-start': '^',
  'text-end': '$',
  'line-start': String.raw`(?:^|(?<=\n))`,
  'line-end': String.raw`(?:$|(?=\n))`,
  'word-start': `(?<!${W})(?=${W})`,
  'word-end': `(?<=${W})(?!${W})`,
  'word-edge': `(?:(?<!${W})(?=${W})|(?<=${W})(?!${W}))`,
  'not-word-edge': `(?:(?<!${W})(?!${W})|(?<=${W})(?=${W}))`,
};

/** Flags that `nativeSource` is written for. */
export const NATIVE_FLAGS = 'us';

/** Source of an equivalent JavaScript pattern. The tree holds no groups and no back references. */
export function nativeSource(node: RegexNode): string {
  switch (node.kind) {
    case 'set':
      return node.set.source;
    case 'concat':
      return node.items.map(concatItemSource).join('');
    case 'alternate':
      return node.items.map(nativeSource).join('|');
    case 'repeat':
      return `${node.item.kind === 'set' ? node.item.set.source : `(?:${nativeSource(node.item)})`}${bounds(node)}`;
    case 'place':
      return PLACES[node.place];
    case 'look':
      return `(?${node.ahead ? '' : '<'}${node.negative ? '!' : '='}${nativeSource(node.item)})`;
    default:
      throw new Error(`no JavaScript equivalent of ${node.kind}`);
  }
}

const concatItemSource = (node: RegexNode): string =>
  node.kind === 'alternate' ? `(?:${nativeSource(node)})` : nativeSource(node);

function bounds({ min, max }: { min: number; max: number }): string {
  if (max === Number.POSITIVE_INFINITY) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  if (min === 0 && max === 1) return '?';
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

/** Ways to match at one place of a text of n characters: at most `factor * (n + 1) ** degree`. */
interface Cost {
  readonly factor: number;
  readonly degree: number;
}

const RUNAWAY: Cost = { factor: 1, degree: Number.POSITIVE_INFINITY };
const ONE_WAY: Cost = { factor: 1, degree: 0 };

/**
 * Bound of the ways in which a backtracking engine can match the tree from one place on. Look around is tried once for
 * each way, so what it costs inside counts once.
 */
function costOf(node: RegexNode): Cost {
  switch (node.kind) {
    case 'set':
    case 'place':
      return ONE_WAY;
    case 'look':
      return ONE_WAY;
    case 'concat':
      return node.items.reduce<Cost>((total, item) => product(total, costOf(item)), ONE_WAY);
    case 'alternate':
      return node.items.map(costOf).reduce((a, b) => ({
        factor: a.factor + b.factor,
        degree: Math.max(a.degree, b.degree),
      }));
    case 'repeat':
      return repeatCost(node.item, node.min, node.max);
    default:
      return RUNAWAY;
  }
}

const product = (a: Cost, b: Cost): Cost => ({ factor: a.factor * b.factor, degree: a.degree + b.degree });

function repeatCost(item: RegexNode, min: number, max: number): Cost {
  if (max === Number.POSITIVE_INFINITY) return isOneWayLoop(item) ? { factor: 1, degree: 1 } : RUNAWAY;
  const once = costOf(item);
  return { factor: once.factor ** max * (max - min + 1), degree: once.degree * max };
}

/** Branches of a loop that are compared with each other, pair by pair. */
const BRANCHES_MAX = 64;

/** Repeating the tree any number of times leaves no choice but when to stop. False, too, where that would take long to find out. */
function isOneWayLoop(item: RegexNode): boolean {
  const branches = item.kind === 'alternate' ? item.items : [item];
  if (branches.length > BRANCHES_MAX) return false;
  const firsts: CharSet[] = [];
  for (const branch of branches) {
    let first: CharSet | null = null;
    for (const part of itemsOf(branch)) {
      if (part.kind === 'place' || (part.kind === 'look' && costOf(part.item).degree === 0)) continue;
      const set = part.kind === 'repeat' && part.min === part.max ? part.item : part;
      if (set.kind !== 'set') return false;
      first ??= set.set;
    }
    if (first === null || firsts.some((other) => !other.isDisjointWith(first))) return false;
    firsts.push(first);
  }
  return true;
}

/** The costliest chain of look around inside look around in the tree. */
function lookCost(node: RegexNode): Cost {
  switch (node.kind) {
    case 'look':
      return product(costOf(node.item), lookCost(node.item));
    case 'concat':
    case 'alternate':
      return node.items.map(lookCost).reduce(larger, ONE_WAY);
    case 'repeat':
      return lookCost(node.item);
    default:
      return ONE_WAY;
  }
}

const larger = (a: Cost, b: Cost): Cost => ({
  factor: Math.max(a.factor, b.factor),
  degree: Math.max(a.degree, b.degree),
});

const startsAtText = (node: RegexNode): boolean => {
  if (node.kind === 'alternate') return node.items.every(startsAtText);
  const [first] = itemsOf(node);
  return first?.kind === 'place' && first.place === 'text-start';
};

/** Characters that the JavaScript engine may look at for one text: some milliseconds. */
const LOOKS_MAX = 2 ** 22;
/** So many in any case: less than the other matchers need to begin. */
const LOOKS_MIN = 2 ** 17;
/** A pattern without loops that looks at so few characters from each place on is linear in the text, whatever its length. */
const FEW_LOOKS = 256;
/** Sets of very many characters that a pattern may have: each takes the JavaScript engine a third of a millisecond to compile. */
const WIDE_SETS_MAX = 64;
/** Such a set has a source of more characters, or one that names a class of Unicode. */
const WIDE_LENGTH = 40;

/** Whether `nativeLengthMax` may be asked: the JavaScript engine takes long to compile some patterns, and refuses others. */
export const isSoonCompiled = (node: RegexNode): boolean =>
  wideSetsIn(node) <= WIDE_SETS_MAX && sizeOf(node) <= SIZE_MAX;
const SIZE_MAX = 20_000;

function wideSetsIn(node: RegexNode): number {
  switch (node.kind) {
    case 'set':
      return node.set.source.length > WIDE_LENGTH || node.set.source.includes(String.raw`\p`) ? 1 : 0;
    case 'place':
      return node.place.includes('word') ? 4 : 0;
    case 'concat':
    case 'alternate':
      return node.items.reduce((sum, item) => sum + wideSetsIn(item), 0);
    case 'repeat':
    case 'look':
      return wideSetsIn(node.item);
    default:
      return 0;
  }
}

/**
 * The longest text, in UTF-16 units, that the JavaScript engine may be asked about; 0: none. From each place on it looks, for each way to match, at
 * as many characters as the pattern has at most, or as the text has. `stepsLeft`: what the query may still spend.
 */
export function nativeLengthMax(node: RegexNode, stepsLeft: number): number {
  const { factor, degree } = product(costOf(node), lookCost(node));
  const size = sizeOf(node);
  if (degree === 0 && factor * size <= FEW_LOOKS) return Number.POSITIVE_INFINITY;
  const total = degree + (startsAtText(node) ? 0 : 1);
  const looks = Math.min(LOOKS_MAX, Math.max(stepsLeft, LOOKS_MIN)) / factor;
  // A bound that overflowed is NaN or infinite: large.
  if (!(looks >= 1) || !Number.isFinite(total)) return 0;
  if (total === 0) return looks >= size ? Number.POSITIVE_INFINITY : Math.floor(looks);
  return Math.floor(Math.max((looks / size) ** (1 / total), looks ** (1 / (total + 1))));
}

/**
 * The JavaScript engine also tries to begin a match in the middle of a surrogate pair, where look-around and word edges
 * see halves of characters. Patterns of this kind must be kept from texts with such pairs.
 */
export function mindsSurrogates(node: RegexNode): boolean {
  switch (node.kind) {
    case 'look':
      return true;
    case 'place':
      return node.place.includes('word');
    case 'concat':
    case 'alternate':
      return node.items.some(mindsSurrogates);
    case 'repeat':
      return mindsSurrogates(node.item);
    default:
      return false;
  }
}
