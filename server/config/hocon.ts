// Reader for HOCON (`*.conf`) and JSON: as much of it as the files of a PuppetDB installation use. Objects with or without
// outer braces, `=`, `:` or nothing before `{`, dotted and quoted keys, comments, newlines instead of commas, lists,
// triple-quoted and unquoted text, a later object merged into an earlier one, substitutions (substitutions.ts). Includes and `+=` are
// refused by name instead of being misread.

import { type Draft, type DraftObject, type Environment, type Piece, substitute } from './substitutions.ts';
import { type ConfigObject, DEPTH_MAX, emptyObject, FormatError, type Place } from './tree.ts';

/** Throws FormatError. `environment`: what substitutions may stand for beside the file's own values. */
export function parseHocon(text: string, file: string, environment: Environment = {}): ConfigObject {
  return substitute(new HoconReader(text, file).document(), environment);
}

class HoconReader {
  readonly #text: string;
  readonly #file: string;
  #position = 0;
  #line = 1;
  #depth = 0;

  constructor(text: string, file: string) {
    this.#text = text.replace(/^\ufeff/, '');
    this.#file = file;
  }

  document(): DraftObject {
    this.#skip();
    const root: DraftObject = emptyObject(this.#place());
    const braced = this.#peek() === '{';
    if (braced) this.#advance();
    if (this.#peek() === '[') throw this.#error('the file holds a list; an object is needed');
    this.#members(root, braced ? '}' : '');
    this.#skip();
    if (this.#position < this.#text.length) throw this.#error(`unexpected \`${this.#peek()}\` after the end`);
    return root;
  }

  /** Members up to `end`, which is taken; an empty `end` stands for the end of the text. */
  #members(object: DraftObject, end: string): void {
    for (;;) {
      this.#skip();
      if (this.#atEnd()) {
        if (end === '') return;
        throw this.#error(`the text ends before \`${end}\``);
      }
      if (this.#peek() === end) {
        this.#advance();
        return;
      }
      this.#member(object);
      this.#separator(end);
    }
  }

  #member(object: DraftObject): void {
    const place = this.#place();
    const path = this.#keyPath();
    const at = this.#place();
    // An object may begin on a later line, a sign may not.
    const line = this.#line;
    this.#skip();
    const sign = this.#line === line || this.#peek() === '{' ? this.#peek() : '';
    if (sign === '+') throw this.#error('`+=` is not supported; write the whole list');
    if (sign === '=' || sign === ':') {
      this.#advance();
      this.#skip();
    } else if (sign !== '{') {
      throw new FormatError(at, `expected \`=\`, \`:\` or \`{\` after \`${path.join('.')}\``);
    }
    const value = this.#value();
    let target = object;
    for (const part of path.slice(0, -1)) {
      const known = target.members.get(part);
      if (known?.kind === 'pending') throw unknownObject(place);
      const next = known?.kind === 'object' ? known : emptyObject(place);
      target.members.set(part, next);
      target = next;
    }
    put(target, path.at(-1)!, value);
  }

  #keyPath(): string[] {
    const path: string[] = [];
    let part = '';
    let quoted = false;
    for (;;) {
      const char = this.#peek();
      if (char === '"') {
        part += this.#quoted();
        quoted = true;
      } else if (char === '.') {
        if (part === '' && !quoted) throw this.#error('an empty part in a dotted key');
        path.push(part);
        if (path.length > DEPTH_MAX) throw this.#error(`nested deeper than ${DEPTH_MAX}`);
        part = '';
        quoted = false;
        this.#advance();
      } else if (char !== '' && !'=:{}[],\n\r \t#"+'.includes(char) && !this.#atComment()) {
        part += char;
        this.#advance();
      } else {
        break;
      }
    }
    if (part === '' && !quoted) throw this.#error(`expected a key, found \`${this.#peek() || 'the end'}\``);
    path.push(part);
    if (path.length === 1 && part === 'include' && !quoted && this.#peek() === ' ') {
      throw this.#error('`include` is not supported; give several files or a folder instead');
    }
    return path;
  }

  #value(): Draft {
    const place = this.#place();
    const char = this.#peek();
    if (char === '{' || char === '[') {
      this.#depth += 1;
      if (this.#depth > DEPTH_MAX) throw this.#error(`nested deeper than ${DEPTH_MAX}`);
      this.#advance();
      const value = char === '{' ? this.#object(place) : this.#list(place);
      this.#depth -= 1;
      return value;
    }
    return this.#scalar(place);
  }

  #object(place: Place): DraftObject {
    const object: DraftObject = emptyObject(place);
    this.#members(object, '}');
    return object;
  }

  #list(place: Place): Draft {
    const items: Draft[] = [];
    for (;;) {
      this.#skip();
      if (this.#atEnd()) throw this.#error('the text ends before `]`');
      if (this.#peek() === ']') {
        this.#advance();
        return { kind: 'list', items, place };
      }
      items.push(this.#value());
      this.#separator(']');
    }
  }

  /** Text, number, Boolean or null. Several pieces on a line (`a "b" c ${d}`) are one text. */
  #scalar(place: Place): Draft {
    const pieces: Piece[] = [];
    let text = '';
    let bare = true;
    let trailing = 0;
    for (;;) {
      const char = this.#peek();
      if (char === '"') {
        text += this.#quoted();
        bare = false;
        trailing = text.length;
        continue;
      }
      if (char === '$' && this.#text[this.#position + 1] === '{') {
        if (text !== '') pieces.push(text);
        pieces.push(this.#substitution());
        text = '';
        trailing = 0;
        continue;
      }
      if (char === '' || ',]}\n\r#'.includes(char) || this.#atComment()) break;
      if ('{[=:+?`^!@&\\'.includes(char)) throw this.#error(`unexpected \`${char}\`; put the value in quotes`);
      text += char;
      if (char !== ' ' && char !== '\t') trailing = text.length;
      this.#advance();
    }
    text = text.slice(0, trailing);
    if (pieces.length > 0) {
      if (text !== '') pieces.push(text);
      return { kind: 'pending', pieces, before: null, place };
    }
    if (bare && text === '') throw this.#error('expected a value');
    return { kind: 'scalar', value: bare ? bareValue(text) : text, place };
  }

  /** A dollar, braces, and a path in them, behind a question mark or not. */
  #substitution(): Piece {
    const place = this.#place();
    this.#advance();
    this.#advance();
    const isOptional = this.#peek() === '?';
    if (isOptional) this.#advance();
    const path = this.#keyPath();
    if (this.#peek() !== '}') throw new FormatError(place, 'a substitution without its closing brace');
    this.#advance();
    return { path, isOptional, place };
  }

  #quoted(): string {
    if (this.#text.startsWith('"""', this.#position)) return this.#tripleQuoted();
    const start = this.#place();
    const from = this.#position;
    this.#advance();
    for (;;) {
      const char = this.#peek();
      if (char === '' || char === '\n') throw new FormatError(start, 'a quoted text without its closing quote');
      this.#advance();
      if (char === '\\') this.#advance();
      if (char === '"') break;
    }
    const literal = this.#text.slice(from, this.#position);
    try {
      return JSON.parse(literal) as string;
    } catch {
      throw new FormatError(start, `${literal} is not a valid quoted text (backslashes are written \`\\\\\`)`);
    }
  }

  #tripleQuoted(): string {
    const start = this.#place();
    const from = this.#position + 3;
    let end = this.#text.indexOf('"""', from);
    if (end < 0) throw new FormatError(start, 'a text in triple quotes without its end');
    // Further quotes at the end belong to the text.
    while (this.#text[end + 3] === '"') end += 1;
    while (this.#position < end + 3) this.#advance();
    return this.#text.slice(from, end);
  }

  #separator(end: string): void {
    const line = this.#line;
    this.#skip();
    if (this.#peek() === ',') {
      this.#advance();
      return;
    }
    if (this.#atEnd() || this.#peek() === end || this.#line > line) return;
    throw this.#error(`expected a comma, a new line${end === '' ? '' : ` or \`${end}\``}, found \`${this.#peek()}\``);
  }

  /** Over blanks, line breaks and comments. */
  #skip(): void {
    for (;;) {
      const char = this.#peek();
      if (char !== '' && ' \t\r\n\u00a0'.includes(char)) this.#advance();
      else if (this.#atComment()) while (!this.#atEnd() && this.#peek() !== '\n') this.#advance();
      else return;
    }
  }

  #atComment(): boolean {
    return this.#text[this.#position] === '#' || this.#text.startsWith('//', this.#position);
  }

  #atEnd(): boolean {
    return this.#position >= this.#text.length;
  }

  #peek(): string {
    return this.#text[this.#position] ?? '';
  }

  #advance(): void {
    if (this.#text[this.#position] === '\n') this.#line += 1;
    this.#position += 1;
  }

  #place(): Place {
    return { file: this.#file, line: this.#line };
  }

  #error(message: string): FormatError {
    return new FormatError(this.#place(), message);
  }
}

/** A later object is merged into an earlier one, anything else replaces what was there. */
function put(target: DraftObject, key: string, value: Draft): void {
  const known = target.members.get(key);
  if (value.kind === 'pending') {
    target.members.set(key, { ...value, before: known ?? null });
    return;
  }
  if (known?.kind === 'pending' && value.kind === 'object') throw unknownObject(value.place);
  if (known?.kind !== 'object' || value.kind !== 'object') {
    target.members.set(key, value);
    return;
  }
  for (const [name, member] of value.members) put(known, name, member);
}

const unknownObject = (place: Place): FormatError =>
  new FormatError(place, 'an object cannot be merged into a substitution; write the object out');

function bareValue(text: string): string | number | boolean | null {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}
