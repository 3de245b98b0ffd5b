// The tree of a regular expression, after options, comments and escapes have been dealt with: every case-insensitive
// letter is a set of two, every anchor knows whether it means text or line. Immutable; one tree serves all matchers.

import type { CharSet } from './char-set.ts';

/** A condition on a place between two characters. */
export type Place =
  | 'text-start'
  | 'text-end'
  | 'line-start'
  | 'line-end'
  | 'word-start'
  | 'word-end'
  | 'word-edge'
  | 'not-word-edge';

export type RegexNode =
  | { readonly kind: 'set'; readonly set: CharSet }
  /** No items: the empty match. */
  | { readonly kind: 'concat'; readonly items: readonly RegexNode[] }
  | { readonly kind: 'alternate'; readonly items: readonly RegexNode[] }
  /** `max` may be Infinity. Preference (greedy or not) is not kept: it does not change whether there is a match. */
  | { readonly kind: 'repeat'; readonly item: RegexNode; readonly min: number; readonly max: number }
  | { readonly kind: 'place'; readonly place: Place }
  /** What follows (`ahead`) or precedes this place does (or, negative, does not) match. Holds no group, no back reference. */
  | { readonly kind: 'look'; readonly ahead: boolean; readonly negative: boolean; readonly item: RegexNode }
  /** A group that a back reference names; all others are gone. Groups count from 1. */
  | { readonly kind: 'group'; readonly group: number; readonly item: RegexNode }
  | { readonly kind: 'back-reference'; readonly group: number }
  /** The empty match, if the group has one. */
  | { readonly kind: 'took-part'; readonly group: number };

export interface Regex {
  readonly root: RegexNode;
  /** Groups that are referred to. */
  readonly groups: ReadonlySet<number>;
  readonly ignoreCase: boolean;
}

export const EMPTY: RegexNode = { kind: 'concat', items: [] };

/** Concatenation, flattened. */
export function concat(items: readonly RegexNode[]): RegexNode {
  const flat = items.flatMap((item) => (item.kind === 'concat' ? item.items : [item]));
  return flat.length === 1 ? (flat[0] as RegexNode) : { kind: 'concat', items: flat };
}

export const alternate = (items: readonly RegexNode[]): RegexNode =>
  items.length === 1 ? (items[0] as RegexNode) : { kind: 'alternate', items };

/** Items of a concatenation; a single item of anything else. */
export const itemsOf = (node: RegexNode): readonly RegexNode[] => (node.kind === 'concat' ? node.items : [node]);
