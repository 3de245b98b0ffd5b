// Names of single characters in `[[.name.]]` and `[[=name=]]`: those of the POSIX portable character set.

const CONTROLS =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC IS4 IS3 IS2 IS1';
const PUNCTUATION =
  'space exclamation-mark quotation-mark number-sign dollar-sign percent-sign ampersand apostrophe left-parenthesis ' +
  'right-parenthesis asterisk plus-sign comma hyphen period slash';
const DIGITS = 'zero one two three four five six seven eight nine';
const MIDDLE = 'colon semicolon less-than-sign equals-sign greater-than-sign question-mark commercial-at';
const BRACKETS = 'left-square-bracket backslash right-square-bracket circumflex underscore grave-accent';
const BRACES = 'left-brace vertical-line right-brace tilde DEL';

const NAMES = new Map<string, number>([
  ...numbered(CONTROLS, 0),
  ...numbered('alert backspace tab newline vertical-tab form-feed carriage-return', 7),
  ...numbered(PUNCTUATION, 32),
  ...numbered(DIGITS, 48),
  ...numbered(MIDDLE, 58),
  ...numbered(BRACKETS, 91),
  ...numbered(BRACES, 123),
  ['hyphen-minus', 45],
  ['full-stop', 46],
  ['solidus', 47],
  ['reverse-solidus', 92],
  ['circumflex-accent', 94],
  ['low-line', 95],
  ['left-curly-bracket', 123],
  ['right-curly-bracket', 125],
]);

function numbered(names: string, first: number): [string, number][] {
  return names.split(' ').map((name, i) => [name, first + i]);
}

/** Code point of a single character or of a name; null: there is no such element. */
export function collatingElement(name: string): number | null {
  const [only, ...rest] = name;
  if (only !== undefined && rest.length === 0) return only.codePointAt(0) as number;
  return NAMES.get(name) ?? null;
}
