// What a client reads when its PQL does not parse: the place, the line with a caret, and what could have stood there
// (spec/query.md 4.5). The first three lines are what clients rely on; the order of the expected items is ours.

import { badQuery, type QueryError } from '../errors.ts';

/** What a rule looked for in vain: literals as they are written, token expressions as `#"..."`. */
export interface Expectation {
  readonly item: string;
  /** The item had to complete the text. */
  readonly atEnd: boolean;
}

const grouped = new Intl.NumberFormat('en-US');

/** A 400 whose text points at `offset` (UTF-16 units; may be one past the end). */
export function parseFailure(text: string, offset: number, expected: readonly Expectation[]): QueryError {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++;
    lineStart = at + 1;
  }
  const column = offset - lineStart + 1;
  // A carriage return ends a line of the source, but does not count. An empty text has no line at all: `null` is printed.
  const source = text === '' ? 'null' : (text.split(/\r\n|\n|\r/)[line - 1] as string);

  const atEnd = expected.filter((e) => e.atEnd).map((e) => `${e.item} (followed by end-of-string)`);
  const inside = expected.filter((e) => !e.atEnd).map((e) => `${e.item}\n`);
  const heading = atEnd.length + inside.length === 1 ? 'Expected:\n' : 'Expected one of:\n\n';
  return badQuery(
    `PQL parse error at line ${grouped.format(line)}, column ${grouped.format(column)}:\n\n` +
      `${source}\n${' '.repeat(column - 1)}^\n\n${heading}${atEnd.join('')}${inside.join('')}`,
  );
}
