// Reader for `*.ini` (and, with dotted keys instead of sections, `*.properties`). As PuppetDB's own libraries read them: `[section]`,
// `key = value` or `key: value`, comments on lines of their own that begin with `#` or `;` (in properties `#` or `!`, as Java has it),
// values are text up to the end of the line, a backslash at whose end continues it, and before a character makes it stand for itself or
// for what it does in Java (`\t`, `\u00e9`). In INI files letter case does not tell names apart, and `${section/key}` stands for another value.
// Beyond that, matching quotes around a whole value are taken off, and a key twice in a file is an error.

import type { Environment } from './substitutions.ts';
import { type ConfigObject, DEPTH_MAX, emptyObject, FormatError, type Place, placeText, TEXT_MAX } from './tree.ts';

export function parseIni(text: string, file: string, environment: Environment = {}): ConfigObject {
  const root = emptyObject({ file, line: 1 });
  let section: ConfigObject | null = null;
  let sectionName = '';
  forEachLine(text, '#;', file, (line, place) => {
    if (line.startsWith('[')) {
      const end = line.indexOf(']');
      if (end < 0) throw new FormatError(place, 'a section heading without `]`');
      sectionName = unescaped(line.slice(1, end), place).trim().toLowerCase();
      if (sectionName === '') throw new FormatError(place, 'a section heading without a name');
      section = child(root, sectionName, place);
      return;
    }
    const [written, value] = splitPair(line, place);
    const key = written.toLowerCase();
    if (section === null) throw new FormatError(place, `\`${written}\` stands before any [section] heading`);
    setOnce(section, key, value, place, `[:${sectionName} :${key}]`);
  });
  fillIn(root, environment);
  return root;
}

/** `a.b.c = value` lines, the first part being the section. */
export function parseProperties(text: string, file: string): ConfigObject {
  const root = emptyObject({ file, line: 1 });
  forEachLine(text, '#!', file, (line, place) => {
    const [key, value] = splitPair(line, place);
    const parts = key.split('.');
    if (parts.length > DEPTH_MAX) throw new FormatError(place, `nested deeper than ${DEPTH_MAX}`);
    let object = root;
    for (const part of parts.slice(0, -1)) object = child(object, part, place);
    setOnce(object, parts.at(-1)!, value, place, `[${parts.map((part) => `:${part}`).join(' ')}]`);
  });
  return root;
}

/** `comments`: the characters that a comment begins with. A line that others continue has the place of its first one. */
function forEachLine(text: string, comments: string, file: string, take: (line: string, place: Place) => void): void {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  let begun = '';
  let begunAt = 0;
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!.trim();
    if (line === '' || (begunAt === 0 && comments.includes(line[0]!))) continue;
    if (begunAt === 0) begunAt = index + 1;
    if (endsInBackslash(line)) {
      begun += line.slice(0, -1);
      continue;
    }
    take(begun + line, { file, line: begunAt });
    begun = '';
    begunAt = 0;
  }
  if (begunAt !== 0) {
    throw new FormatError({ file, line: begunAt }, 'a backslash says that the line goes on, but the file ends there');
  }
}

/** Backslashes in pairs stand for themselves. */
const endsInBackslash = (line: string): boolean => /(?<!\\)(?:\\\\)*\\$/.test(line);

function splitPair(line: string, place: Place): [key: string, value: string] {
  const match = /^((?:\\.|[^=:\\])*)[=:]\s*(.*)$/s.exec(line);
  const key = unescaped(match?.[1] ?? '', place).trim();
  if (match === null || key === '') throw new FormatError(place, `expected \`key = value\`, found \`${line}\``);
  return [key, unescaped(unquoted(match[2]!), place)];
}

/** The quotes at both ends of `"a", "b"` are not a pair. */
const QUOTED = /^(["'])(?:\\.|(?!\1)[^\\])*\1$/s;

const unquoted = (value: string): string => (QUOTED.test(value) ? value.slice(1, -1) : value);

const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', f: '\f', r: '\r', b: '\b' };

function unescaped(text: string, place: Place): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:u([\da-fA-F]{4})|(.?))/gs, (_, code: string | undefined, char: string) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    if (char === 'u')
      throw new FormatError(place, '`\\u` without four hexadecimal digits (a backslash itself is written twice)');
    return controls[char] ?? char;
  });
}

/** `${section/key}`, or `${key}` of the same section; `@env` is the environment. What names nothing stays as it is. */
const REFERENCE = /\$\{(?:([^[/}]+)\/)?([^[/}]+)\}/g;

function fillIn(root: ConfigObject, environment: Environment): void {
  const textOf = (section: string, key: string, depth: number): string | null => {
    if (section === '@env') return environment[key] ?? null;
    const object = root.members.get(section.toLowerCase());
    return object?.kind === 'object' ? filled(section, key.toLowerCase(), object, depth) : null;
  };
  const filled = (section: string, key: string, object: ConfigObject, depth: number): string | null => {
    const found = object.members.get(key);
    if (found?.kind !== 'scalar' || typeof found.value !== 'string') return null;
    const { value, place } = found;
    if (!value.includes('${')) return value;
    if (depth > DEPTH_MAX) throw new FormatError(place, `\`${key}\` stands for itself, or for what stands for it`);
    const text = value.replace(REFERENCE, (whole, of: string | undefined, name: string) => {
      return textOf(of ?? section, name, depth + 1) ?? whole;
    });
    if (text.length > TEXT_MAX) throw new FormatError(place, `what \`${key}\` stands for is too long`);
    object.members.set(key, { kind: 'scalar', value: text, place });
    return text;
  };
  for (const [section, object] of root.members) {
    if (object.kind !== 'object') continue;
    for (const key of object.members.keys()) filled(section, key, object, 0);
  }
}

function child(parent: ConfigObject, name: string, place: Place): ConfigObject {
  const known = parent.members.get(name);
  if (known?.kind === 'object') return known;
  if (known !== undefined) throw new FormatError(place, `\`${name}\` has a value already (${placeText(known.place)})`);
  const made = emptyObject(place);
  parent.members.set(name, made);
  return made;
}

function setOnce(object: ConfigObject, key: string, value: string, place: Place, path: string): void {
  const known = object.members.get(key);
  if (known !== undefined) {
    throw new FormatError(place, `Duplicate configuration entry: ${path} (first at ${placeText(known.place)})`);
  }
  object.members.set(key, { kind: 'scalar', value, place });
}
