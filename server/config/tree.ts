// What a configuration file says, before anyone asks what it means: nested objects of values, each with the place it was
// written at. All file formats are read into this shape, so that every later message can name file and line.

export interface Place {
  readonly file: string;
  readonly line: number;
}

/** Deepest nesting that is read, in braces and in dotted keys: beyond any real file, far below the stack. */
export const DEPTH_MAX = 100;
/** Characters of a value that is put together of others. */
export const TEXT_MAX = 65_536;

export type ConfigValue =
  | { readonly kind: 'scalar'; readonly value: string | number | boolean | null; readonly place: Place }
  | { readonly kind: 'list'; readonly items: readonly ConfigValue[]; readonly place: Place }
  | ConfigObject;

export interface ConfigObject {
  readonly kind: 'object';
  readonly members: Map<string, ConfigValue>;
  readonly place: Place;
}

/** What is wrong with a configuration, in one line for people. `where` is `file:line`, `$VARIABLE` or `--flag`. */
export interface Problem {
  readonly where: string;
  readonly message: string;
}

/** A file that cannot be read as its format. */
export class FormatError extends Error {
  readonly place: Place;
  constructor(place: Place, message: string) {
    super(message);
    this.name = 'FormatError';
    this.place = place;
  }
}

export function emptyObject(place: Place): ConfigObject {
  return { kind: 'object', members: new Map(), place };
}

export function placeText(place: Place): string {
  return `${place.file}:${place.line}`;
}

/** The plain JSON value: for parts of the configuration that are structures of their own (authorization rules). */
export function plainValue(value: ConfigValue): unknown {
  switch (value.kind) {
    case 'scalar':
      return value.value;
    case 'list':
      return value.items.map(plainValue);
    case 'object':
      return Object.fromEntries([...value.members].map(([key, member]) => [key, plainValue(member)]));
  }
}
