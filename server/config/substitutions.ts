// What `${name}` stands for in HOCON: a value that the same file sets, wherever in it, else a variable of the environment, as in
// the configuration of PuppetDB's container images. `${?name}` may stand for nothing.

import { type ConfigObject, type ConfigValue, DEPTH_MAX, FormatError, type Place, TEXT_MAX } from './tree.ts';

/** A file as it was read: some of its values are not known before all of it has been read. */
export type Draft = Scalar | DraftList | DraftObject | Pending;
type Scalar = Extract<ConfigValue, { kind: 'scalar' }>;
interface DraftList {
  readonly kind: 'list';
  readonly items: readonly Draft[];
  readonly place: Place;
}
export interface DraftObject {
  readonly kind: 'object';
  readonly members: Map<string, Draft>;
  readonly place: Place;
}
/** A value with substitutions in it. */
interface Pending {
  readonly kind: 'pending';
  readonly pieces: readonly Piece[];
  /** What its key was set to before: what it means by its own name, and what stays when it stands for nothing. */
  readonly before: Draft | null;
  readonly place: Place;
}

export type Piece = string | Substitution;
interface Substitution {
  readonly path: readonly string[];
  readonly isOptional: boolean;
  readonly place: Place;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const nameOf = ({ path }: Substitution): string => path.join('.');
const shown = (substitution: Substitution): string => `\${${nameOf(substitution)}}`;

/** The file with every substitution replaced. Throws FormatError, at the place of one that stands for nothing that a value can be. */
export function substitute(root: DraftObject, environment: Environment): ConfigObject {
  return new Substituting(root, environment).object(root);
}

class Substituting {
  readonly #root: DraftObject;
  readonly #environment: Environment;
  readonly #known = new Map<Pending, Scalar | undefined>();
  /** Those that are being put together. */
  readonly #open = new Set<Pending>();

  constructor(root: DraftObject, environment: Environment) {
    this.#root = root;
    this.#environment = environment;
  }

  object({ members, place }: DraftObject): ConfigObject {
    const values = new Map<string, ConfigValue>();
    for (const [key, member] of members) {
      const value = this.#value(member);
      if (value !== undefined) values.set(key, value);
    }
    return { kind: 'object', members: values, place };
  }

  #value(draft: Draft): ConfigValue | undefined {
    switch (draft.kind) {
      case 'scalar':
        return draft;
      case 'list': {
        const items = draft.items.map((item) => this.#value(item)).filter((item) => item !== undefined);
        return { kind: 'list', items, place: draft.place };
      }
      case 'object':
        return this.object(draft);
      case 'pending':
        return this.#last(draft);
    }
  }

  /** The last value that its key was set to that is one. */
  #last(pending: Pending): ConfigValue | undefined {
    let draft: Draft | null = pending;
    while (draft?.kind === 'pending') {
      const scalar = this.#scalar(draft);
      if (scalar !== undefined) return scalar;
      draft = draft.before;
    }
    return draft === null ? undefined : this.#value(draft);
  }

  /** undefined: it stands for nothing. */
  #scalar(pending: Pending): Scalar | undefined {
    if (this.#known.has(pending)) return this.#known.get(pending);
    const { place } = pending;
    if (this.#open.size >= DEPTH_MAX)
      throw new FormatError(place, `more than ${DEPTH_MAX} substitutions lead to each other`);
    this.#open.add(pending);
    const values = pending.pieces.map((piece) => (typeof piece === 'string' ? piece : this.#standsFor(piece)));
    this.#open.delete(pending);
    const value = oneOf(values, place);
    const scalar: Scalar | undefined = value === undefined ? undefined : { kind: 'scalar', value, place };
    this.#known.set(pending, scalar);
    return scalar;
  }

  #standsFor(substitution: Substitution): Scalar['value'] | undefined {
    const { isOptional, place } = substitution;
    const draft = this.#find(substitution);
    if (draft?.kind === 'object' || draft?.kind === 'list') {
      const what = draft.kind === 'list' ? 'a list' : 'an object';
      throw new FormatError(
        place,
        `${shown(substitution)} stands for ${what}; only texts, numbers and Booleans can be substituted`,
      );
    }
    const set = draft?.kind === 'pending' ? this.#scalar(draft) : draft;
    if (set != null) return set.value;
    const variable = this.#environment[nameOf(substitution)];
    if (typeof variable === 'string') return variable;
    if (isOptional) return undefined;
    throw new FormatError(place, `${shown(substitution)} is set neither in this file nor in the environment`);
  }

  /** Where the file sets it; of a value that is being put together, what was there before. */
  #find({ path }: Substitution): Draft | null {
    let draft: Draft | null = this.#root;
    for (const part of path) draft = draft?.kind === 'object' ? (draft.members.get(part) ?? null) : null;
    while (draft?.kind === 'pending' && this.#open.has(draft)) draft = draft.before;
    return draft;
  }
}

/** A lone value as it is, several as one text; undefined where there are none. */
function oneOf(pieces: readonly (Scalar['value'] | undefined)[], place: Place): Scalar['value'] | undefined {
  const values = pieces.filter((piece) => piece !== undefined);
  if (values.length <= 1) return values[0];
  const text = values.join('');
  if (text.length > TEXT_MAX)
    throw new FormatError(place, `substitutions make a text of more than ${TEXT_MAX} characters`);
  return text;
}
