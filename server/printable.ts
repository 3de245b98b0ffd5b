// Text from elsewhere (certnames, queries, file names) on its way to a line that a person reads: what would break the line,
// move the cursor, colour the terminal or turn the direction of writing is shown as JSON would write it.

/** Control and format characters, halves of characters, separators of lines and paragraphs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\f': '\\f', '\b': '\\b' };

/** The text in one line, every character of it visible and in its place. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (char) => short[char] ?? escaped(char));
}

/** The same line by line, for texts that have lines of their own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

function escaped(char: string): string {
  let text = '';
  for (let index = 0; index < char.length; index++) {
    text += `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return text;
}
