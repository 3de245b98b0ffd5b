// Reader for `*.ini` (and, with dotted keys instead of sections, `*.properties`). As PuppetDB reads them: `[section]`,
// `key = value` or `key: value`, comments on lines of their own that begin with `#` or `;` (in properties `#` or `!`, as Java has it),
// values are text up to the end of the line. Matching quotes around a whole value are taken off. A key twice in a file is an error.

import { type ConfigObject, depthMax, emptyObject, FormatError, type Place, placeText } from './tree.ts';

export function parseIni(text: string, file: string): ConfigObject {
  const root = emptyObject({ file, line: 1 });
  let section: ConfigObject | null = null;
  let sectionName = '';
  forEachLine(text, '#;', (line, number) => {
    const place = { file, line: number };
    if (line.startsWith('[')) {
      const end = line.indexOf(']');
      if (end < 0) throw new FormatError(place, 'a section heading without `]`');
      sectionName = line.slice(1, end).trim();
      if (sectionName === '') throw new FormatError(place, 'a section heading without a name');
      section = child(root, sectionName, place);
      return;
    }
    const [key, value] = splitPair(line, place);
    if (section === null) throw new FormatError(place, `\`${key}\` stands before any [section] heading`);
    setOnce(section, key, value, place, `[:${sectionName} :${key}]`);
  });
  return root;
}

/** `a.b.c = value` lines, the first part being the section. */
export function parseProperties(text: string, file: string): ConfigObject {
  const root = emptyObject({ file, line: 1 });
  forEachLine(text, '#!', (line, number) => {
    const place = { file, line: number };
    const [key, value] = splitPair(line, place);
    const parts = key.split('.');
    if (parts.length > depthMax) throw new FormatError(place, `nested deeper than ${depthMax}`);
    let object = root;
    for (const part of parts.slice(0, -1)) object = child(object, part, place);
    setOnce(object, parts.at(-1)!, value, place, `[${parts.map((part) => `:${part}`).join(' ')}]`);
  });
  return root;
}

/** `comments`: the characters that a comment begins with. */
function forEachLine(text: string, comments: string, take: (line: string, number: number) => void): void {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!.trim();
    if (line !== '' && !comments.includes(line[0]!)) take(line, index + 1);
  }
}

function splitPair(line: string, place: Place): [key: string, value: string] {
  const match = /^([^=:]*?)\s*[=:]\s*(.*)$/s.exec(line);
  if (match === null || match[1] === '') throw new FormatError(place, `expected \`key = value\`, found \`${line}\``);
  return [match[1]!, unquoted(match[2]!)];
}

function unquoted(value: string): string {
  const quote = value[0];
  const isQuoted = value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return isQuoted ? value.slice(1, -1) : value;
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
