// Regular expressions of settings, which are written for Java. RE2 does most of the work: it knows Java's inline flags and cannot be made to
// run long. What Java alone has is spelled out first; look-around and back references, which RE2 lacks, fall back to JavaScript's own
// expressions. What neither takes as Java means it is refused: a pattern that quietly matches something else keeps nobody out.

import { createRequire } from 'node:module';

export interface JavaPattern {
  /** Whether the whole text matches. */
  matches(text: string): boolean;
  /** Whether a part of it does. */
  finds(text: string): boolean;
}

/** Throws SyntaxError for what is no pattern, or is not understood; the text says which part. */
export function javaPattern(source: string): JavaPattern {
  // It takes a while to load, and few have such patterns.
  const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js');
  const plain = spelledOut(source);
  try {
    const expression = RE2JS.compile(plain);
    return { matches: (text) => expression.matches(text), finds: (text) => expression.matcher(text).find() };
  } catch {
    const [part, whole] = [scripted(plain), scripted(`^(?:${plain})$`)];
    return { matches: (text) => whole.test(text), finds: (text) => part.test(text) };
  }
}

/** As JavaScript's. Java takes needless backslashes before what is no letter, which JavaScript does only without its flag `u`. */
function scripted(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    const unknown = /(?<!\\)(?:\\\\)*(\\(?:x(?![\da-f]{2})|[a-zA-Z1-9](?<!\\[bBdDrsStnfwWx])))/.exec(pattern)?.[1];
    if (unknown !== undefined) throw notUnderstood(pattern, unknown);
    return new RegExp(pattern);
  }
}

const notUnderstood = (pattern: string, part: string): SyntaxError =>
  new SyntaxError(`Invalid regular expression: /${pattern}/: ${part} is not understood`);

type Ranges = readonly (readonly [from: number, to: number])[];

/** Each is the first and the last of its characters. */
const ranges = (...ends: readonly string[]): Ranges => ends.map((two) => [two.charCodeAt(0), two.charCodeAt(1)]);

/** Of `\p{Name}`. */
const ASCII: ReadonlyMap<string, Ranges> = new Map([
  ['Lower', ranges('az')],
  ['Upper', ranges('AZ')],
  ['ASCII', ranges('\0\x7f')],
  ['Alpha', ranges('AZ', 'az')],
  ['Digit', ranges('09')],
  ['Alnum', ranges('09', 'AZ', 'az')],
  ['Punct', ranges('!/', ':@', '[`', '{~')],
  ['Graph', ranges('!~')],
  ['Print', ranges(' ~')],
  ['Blank', ranges('\t\t', '  ')],
  ['Cntrl', ranges('\0\x1f', '\x7f\x7f')],
  ['XDigit', ranges('09', 'AF', 'af')],
  ['Space', ranges('\t\r', '  ')],
]);

/** Of escapes of one letter; a capital is the opposite. */
const LETTERS: Readonly<Record<string, Ranges>> = {
  h: ranges(
    '\t\t',
    '  ',
    '\xa0\xa0',
    '\u1680\u1680',
    '\u180e\u180e',
    '\u2000\u200a',
    '\u202f\u202f',
    '\u205f\u205f',
    '\u3000\u3000',
  ),
  v: ranges('\n\r', '\x85\x85', '\u2028\u2029'),
  s: ranges('\t\r', '  '),
};

/** A quotation, an escape (`\p{Name}`, `\u0041`, octal `\0101`, or of one character), or what matters to classes of characters. */
const PARTS =
  /\\Q(?<quoted>.*?)(?:\\E|$)|\\(?:(?<property>[pP])\{(?<name>\w+)\}|u(?<unit>[\da-fA-F]{4})|x(?:\{(?<code>[\da-fA-F]{1,6})\}|(?<byte>[\da-fA-F]{2}))|0(?<octal>[0-3]?[0-7]{1,2})|(?<letter>.))|(?<open>\[\^?\]?)|(?<odd>\(\?[a-zA-Z-]*[Uud][a-zA-Z-]*[:)]|\(\?P|\{,)|&&|\]/gs;

/** The same pattern, what only Java knows spelled out. Throws SyntaxError for what cannot be. */
function spelledOut(source: string): string {
  let inClass = false;
  return source.replaceAll(PARTS, (part: string, ...rest: unknown[]) => {
    const { quoted, property, name, unit, code, byte, octal, letter, open, odd } = rest.at(-1) as Partial<
      Record<string, string>
    >;
    if (quoted !== undefined) return quoted.replace(/[\\^$.*+?()[\]{}|&-]/g, '\\$&');
    if (name !== undefined) return written(ASCII.get(name), property === 'P', inClass) ?? part;
    const hexadecimal = unit ?? code ?? byte;
    if (hexadecimal !== undefined) return char(Number.parseInt(hexadecimal, 16));
    if (octal !== undefined) return char(Number.parseInt(octal, 8));
    if (letter === 'e') return char(27);
    if (letter !== undefined) return written(LETTERS[letter.toLowerCase()], letter < 'a', inClass) ?? part;
    if (odd !== undefined && !inClass) throw notUnderstood(source, odd);
    if (part === ']') inClass = false;
    else if (open !== undefined) {
      if (inClass) throw notUnderstood(source, 'a class of characters within another');
      inClass = true;
      return open.replace(']', '\\]'); // right behind the beginning it is one of the class
    } else if (inClass && part === '&&') throw notUnderstood(source, '&& in a class of characters');
    return part;
  });
}

/** A class of characters as both kinds of expressions read it; null: there is none. */
function written(ranges: Ranges | undefined, isNegated: boolean, inClass: boolean): string | null {
  if (ranges === undefined) return null;
  const texts = (isNegated ? others(ranges) : ranges).map(([from, to]) => `${char(from)}-${char(to)}`);
  return inClass ? texts.join('') : `[${texts.join('')}]`;
}

const LAST = 0x10ffff;

function others(ranges: Ranges): Ranges {
  const starts = [0, ...ranges.map(([, to]) => to + 1)];
  const ends = [...ranges.map(([from]) => from - 1), LAST];
  return starts.map((from, i) => [from, ends[i]!] as const).filter(([from, to]) => from <= to);
}

const char = (code: number): string =>
  code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : String.fromCodePoint(code);
