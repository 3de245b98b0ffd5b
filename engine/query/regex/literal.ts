// Patterns that are plain texts with gaps, which need no regular expression engine: `foo`, `^foo`, `foo$`, `^a.*b$`.

import { itemsOf, type RegexNode } from './ast.ts';

/** Texts that must follow each other, with anything between them. At least one piece; pieces may be empty. */
export interface Chain {
  readonly pieces: readonly string[];
  /** The first piece begins the text. */
  readonly atStart: boolean;
  /** The last piece ends the text. */
  readonly atEnd: boolean;
}

const isAnyText = (node: RegexNode): boolean =>
  node.kind === 'repeat' &&
  node.min === 0 &&
  node.max === Number.POSITIVE_INFINITY &&
  node.item.kind === 'set' &&
  node.item.set.isAny;

/** The pattern as a chain of texts; null: it is none. */
export function chainOf(root: RegexNode): Chain | null {
  const items = itemsOf(root);
  const pieces = [''];
  let atStart = false;
  let atEnd = false;
  for (const [i, item] of items.entries()) {
    if (item.kind === 'place' && item.place === 'text-start' && i === 0) atStart = true;
    else if (item.kind === 'place' && item.place === 'text-end' && i === items.length - 1) atEnd = true;
    else if (isAnyText(item)) pieces.push('');
    else {
      const code = item.kind === 'set' ? item.set.single : null;
      if (code === null) return null;
      pieces[pieces.length - 1] += String.fromCodePoint(code);
    }
  }
  return { pieces, atStart, atEnd };
}

/** Linear in the text: taking each piece at its first place leaves most room for the others. */
export function testChain({ pieces, atStart, atEnd }: Chain, text: string): boolean {
  const last = pieces.length - 1;
  const end = pieces[last] as string;
  let position = 0;
  let next = 0;
  if (atStart) {
    const first = pieces[0] as string;
    if (last === 0 && atEnd) return text === first;
    if (!text.startsWith(first)) return false;
    position = first.length;
    next = 1;
  }
  for (; next < (atEnd ? last : last + 1); next++) {
    const piece = pieces[next] as string;
    const found = text.indexOf(piece, position);
    if (found < 0) return false;
    position = found + piece.length;
  }
  return !atEnd || (text.length - end.length >= position && text.endsWith(end));
}

/** Characters that every match begins with, at the start of the text; empty if that is not known. */
export function prefixOf(root: RegexNode): string {
  const [first, ...rest] = itemsOf(root);
  if (first?.kind !== 'place' || first.place !== 'text-start') return '';
  let prefix = '';
  for (const item of rest) {
    const code = item.kind === 'set' ? item.set.single : null;
    if (code === null) break;
    prefix += String.fromCodePoint(code);
  }
  return prefix;
}

const TEXTS_MAX = 1000;

/** The texts that match, if the pattern says exactly which: `^a$`, `^(a|b)$`, `^node-(1|2)$|^x$`. */
export function textsOf(root: RegexNode): readonly string[] | null {
  if (root.kind === 'alternate') return union(root.items.map(textsOf));
  const items = itemsOf(root);
  const first = items[0];
  const last = items.at(-1);
  if (items.length < 2 || first?.kind !== 'place' || first.place !== 'text-start') return null;
  if (last?.kind !== 'place' || last.place !== 'text-end') return null;
  return sequenceTexts(items.slice(1, -1));
}

function union(lists: readonly (readonly string[] | null)[]): readonly string[] | null {
  const texts: string[] = [];
  for (const list of lists) {
    if (list === null || texts.length + list.length > TEXTS_MAX) return null;
    texts.push(...list);
  }
  return texts;
}

function sequenceTexts(items: readonly RegexNode[]): readonly string[] | null {
  let texts: readonly string[] = [''];
  for (const item of items) {
    const more = itemTexts(item);
    if (more === null || texts.length * more.length > TEXTS_MAX) return null;
    texts = texts.flatMap((text) => more.map((suffix) => text + suffix));
  }
  return texts;
}

function itemTexts(item: RegexNode): readonly string[] | null {
  if (item.kind === 'alternate') return union(item.items.map((branch) => sequenceTexts(itemsOf(branch))));
  const code = item.kind === 'set' ? item.set.single : null;
  return code === null ? null : [String.fromCodePoint(code)];
}
