// What of a pattern is plain text. Patterns that are nothing else but for gaps need no regular expression engine: `foo`, `^foo`,
// `foo$`, `^a.*b$`; of others the text that they begin with tells where to look.

import { itemsOf, type RegexNode } from './ast.ts';

/** Texts that must follow each other, with anything between them. At least one piece; pieces may be empty. */
interface Chain {
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
    const found = placeOf(piece, text, position);
    if (found < 0) return false;
    position = found + piece.length;
  }
  return !atEnd || (text.length - end.length >= position && text.endsWith(end));
}

/** Characters of a piece, and looks at characters of a text, below which the engine's own search may do as it likes: it can look at each once for each of the piece. */
const SHORT = 256;
const FEW_LOOKS = 2 ** 20;

/** `indexOf`, linear in the text whatever the piece is like. */
const placeOf = (piece: string, text: string, from: number): number =>
  piece.length <= SHORT || piece.length * (text.length - from) <= FEW_LOOKS
    ? text.indexOf(piece, from)
    : linearPlaceOf(piece, text, from);

/** By Knuth, Morris and Pratt: where a character does not fit, what has fitted before tells with how much of the piece to go on. */
function linearPlaceOf(piece: string, text: string, from: number): number {
  const borders = bordersOf(piece);
  let fits = 0;
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (fits > 0 && piece.charCodeAt(fits) !== unit) fits = borders[fits - 1]!;
    if (piece.charCodeAt(fits) === unit) fits++;
    if (fits === piece.length) return at + 1 - fits;
  }
  return -1;
}

/** By place in the piece, how long a beginning of it also ends there. */
function bordersOf(piece: string): Uint32Array {
  const borders = new Uint32Array(piece.length);
  let length = 0;
  for (let at = 1; at < piece.length; at++) {
    const unit = piece.charCodeAt(at);
    while (length > 0 && piece.charCodeAt(length) !== unit) length = borders[length - 1]!;
    if (piece.charCodeAt(length) === unit) length++;
    borders[at] = length;
  }
  return borders;
}

/** The text that every text which matches begins with: `web-` of `^web-[0-9]+$`. Empty: there is none, or it is not known. */
export function prefixOf(root: RegexNode): string {
  const [first, ...items] = itemsOf(root);
  if (first?.kind !== 'place' || first.place !== 'text-start') return '';
  let prefix = '';
  for (const item of items) {
    const isOnce = item.kind !== 'repeat' || item.min > 0;
    const node = item.kind === 'repeat' ? item.item : item;
    const code = isOnce && node.kind === 'set' ? node.set.single : null;
    // What is stored knows no half of a surrogate pair.
    if (code === null || (code >= 0xd800 && code <= 0xdfff)) break;
    prefix += String.fromCodePoint(code);
    if (item.kind === 'repeat') break;
  }
  return prefix;
}
