// The certificate allowlist: a file of certificate names, one a line, compared with the CN of a client's certificate as they
// are (spec/operations.md 9.2). White space around a name, empty lines, and comments (`#` at the beginning or behind white
// space) do not count. A line that is no name is refused with its number: it would match nobody, without a word.

import { readFileSync } from 'node:fs';
import { type Settings, settingRows } from '../../schemas/config.ts';
import { printable } from '../printable.ts';

export interface Allowlist {
  /** Where the names stand, for the log. */
  readonly from: string;
  readonly names: ReadonlySet<string>;
}

/** The names that the settings give, in a file or by themselves; null: they say nothing, so whoever has a certificate may come. Throws as `readNames`. */
export function allowlistOf({
  allowlist,
  allowedNames,
}: Pick<Settings, 'allowlist' | 'allowedNames'>): Allowlist | null {
  const listed = allowlist === null ? [] : [...readNames(allowlist)];
  const names = new Set([...listed, ...allowedNames]);
  if (allowlist !== null) return { from: allowlist, names };
  return names.size === 0 ? null : { from: settingRows.allowedNames.name, names };
}

/** Whether a text can be a certificate's name. */
export const isName = (text: string): boolean => NAME.test(text) && !isList(text);

/** Throws when the file cannot be read, and when a line is no name: `PATH:3: "a, b" is no certificate name; ...`. */
export function readNames(path: string): ReadonlySet<string> {
  const lines = readFileSync(path, 'utf8').split(/\r?\n/);
  const names = new Set<string>();
  const refused: string[] = [];
  for (const [index, line] of lines.entries()) {
    const text = line.replace(COMMENT, '').trim();
    if (isName(text)) names.add(text);
    else if (text !== '') refused.push(`${path}:${index + 1}: "${printable(shortened(text))}" is no certificate name`);
  }
  const [first] = refused;
  if (first !== undefined) {
    const others = refused.length > 1 ? ` (nor are ${refused.length - 1} more lines)` : '';
    throw new Error(`${first}${others}; each line has one name, without quotes, and no pattern`);
  }
  return names;
}

const COMMENT = /(?:^|\s)#.*$/;
/** No name is in quotes, ends like a list, or is a pattern; and a file in another encoding has control characters. */
const NAME = /^(?!["'/].*["'/]$|.*[,;*]$|.*\*\.)[^\p{C}\ufffd]+$/u;
/** Names of hosts one behind the other. */
const HOSTS = /^[\w-]+(?:\.[\w-]+)+[\s,;]+[\w-]+(?:\.[\w-]+)+(?:[\s,;]|$)/;
const SEPARATOR = /[\s,;]/;
const CAPITAL = /\p{Lu}/u;

/**
 * Several names in place of one. Puppet's names have neither separators nor capital letters; those of another authority may have both:
 * `Some Client`, `Acme, Inc.`.
 */
const isList = (text: string): boolean => HOSTS.test(text) || (SEPARATOR.test(text) && !CAPITAL.test(text));

/** Enough to find it by. */
const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}...` : text);
