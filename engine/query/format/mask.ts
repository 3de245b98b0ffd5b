// Formatting masks cut into patterns and plain characters, the same way for times and for numbers. Patterns are matched
// longest first wherever they stand, also inside words; text in double quotes is plain.

/** UTF-16 units. Each may become a digit of every row's text, and compiled masks are kept. */
export const MASK_MAX = 1000;

export type MaskNode<Key extends string> =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'pattern';
      readonly key: Key;
      /** `FM` or `TM` before it. */
      readonly prefix: string;
      /** `TH` or `th` after it. */
      readonly suffix: string;
    };

interface MaskSyntax<Key extends string> {
  /** Longest first among those that begin alike. */
  readonly keys: readonly Key[];
  readonly prefixes: readonly string[];
  readonly suffixes: readonly string[];
}

const startingAt = <T extends string>(words: readonly T[], text: string, position: number): T | undefined =>
  words.find((word) => text.startsWith(word, position));

export function parseMask<Key extends string>(text: string, syntax: MaskSyntax<Key>): MaskNode<Key>[] {
  const nodes: MaskNode<Key>[] = [];
  let position = 0;
  while (position < text.length) {
    const prefix = startingAt(syntax.prefixes, text, position) ?? '';
    position += prefix.length;
    const key = startingAt(syntax.keys, text, position);
    if (key !== undefined) {
      position += key.length;
      const suffix = startingAt(syntax.suffixes, text, position) ?? '';
      position += suffix.length;
      nodes.push({ kind: 'pattern', key, prefix, suffix });
    } else if (text[position] === '"') {
      const { literal, end } = quoted(text, position + 1);
      nodes.push({ kind: 'text', text: literal });
      position = end;
    } else if (position < text.length) {
      // Outside quotes a backslash only takes the meaning from a quote.
      if (text[position] === '\\' && text[position + 1] === '"') position++;
      const character = String.fromCodePoint(text.codePointAt(position) as number);
      nodes.push({ kind: 'text', text: character });
      position += character.length;
    }
  }
  return nodes;
}

function quoted(text: string, start: number): { literal: string; end: number } {
  let literal = '';
  let position = start;
  for (; position < text.length && text[position] !== '"'; position++) {
    if (text[position] === '\\' && position + 1 < text.length) position++;
    literal += text[position];
  }
  return { literal, end: position + 1 };
}

/** English ordinal ending of a number's digits. */
export function ordinalEnding(digits: string, isUpper: boolean): string {
  const isTeen = digits.at(-2) === '1';
  const ending = isTeen ? 'th' : ({ '1': 'st', '2': 'nd', '3': 'rd' }[digits.at(-1) ?? ''] ?? 'th');
  return isUpper ? ending.toUpperCase() : ending;
}
