// Replaces what tells who and where in exported payloads, by the rules of a profile. The same value always becomes the same
// replacement within one export, so structure and joins survive: replacements are drawn from a keyed hash of kind and
// value, with a key that nobody keeps. Nothing is remembered, however large the export.

import { createHmac, randomBytes } from 'node:crypto';
import { Float, isArray, isObject, type JsonObject, type JsonValue, setMember } from '../../../engine/json/value.ts';
import { type AnonymizationProfile, isReplaced, isSecret, type LeafContext, type LeafKind } from './profiles.ts';
import type { ArchiveKind } from './wire.ts';

type Anonymizer = (kind: ArchiveKind, payload: JsonObject) => JsonObject;

/** How one member of an object is treated. */
type Treatment = (value: JsonValue, context: LeafContext, replacer: Replacer) => JsonValue;
type Treatments = { readonly [member: string]: Treatment };

const LETTERS_LOWER = 'abcdefghijklmnopqrstuvwxyz';
const LETTERS = `${LETTERS_LOWER}${LETTERS_LOWER.toUpperCase()}`;
const LETTERS_AND_DIGITS = `${LETTERS}0123456789`;
const LENGTH_MIN = 10;

/** `key`: secret of the export; every export draws its own. */
export function createAnonymizer(profile: AnonymizationProfile, key: Uint8Array = randomBytes(32)): Anonymizer {
  const replacer = new Replacer(profile, key);
  return (kind, payload) => PAYLOADS[kind](payload, { node: String(payload['certname']) }, replacer) as JsonObject;
}

/** Text leaf that takes its context from where it stands. */
const as =
  (kind: LeafKind): Treatment =>
  (value, context, replacer) =>
    replacer.leaf(kind, value, context);
const each =
  (treatment: Treatment): Treatment =>
  (value, context, replacer) =>
    isArray(value) ? value.map((member) => treatment(member, context, replacer)) : value;
const within =
  (treatments: Treatments, contextOf?: (value: JsonObject, context: LeafContext) => LeafContext): Treatment =>
  (value, context, replacer) => {
    if (!isObject(value)) return value;
    const inner = contextOf?.(value, context) ?? context;
    return rebuilt(value, (member, name) => {
      const treatment = Object.hasOwn(treatments, name) ? treatments[name] : undefined;
      return treatment === undefined ? member : treatment(member, inner, replacer);
    });
  };

/** Tags are types in lower case, or mere words; both go the same way, so that they fit to the types. */
const tag: Treatment = (value, { node }, replacer) => {
  if (typeof value !== 'string') return value;
  const type = value.split('::').map(capitalized).join('::');
  return replacer.text('type', type, { ...(node !== undefined && { node }), type }).toLowerCase();
};

/** `Type[title]`, anonymised as what it refers to rather than by where it stands. */
function reference(value: string, { node }: LeafContext, replacer: Replacer): string {
  const match = value.endsWith(']') ? /^(.+?)\[(.+)\]$/s.exec(value) : null;
  const [, type, title] = match ?? [];
  const context = { ...(node !== undefined && { node }), type, title: title ?? value };
  if (type === undefined || title === undefined) return replacer.text('title', value, context);
  return `${replacer.text('type', type, context)}[${replacer.text('title', title, context)}]`;
}
const references: Treatment = (value, context, replacer) => {
  if (typeof value === 'string') return reference(value, context, replacer);
  return isArray(value) ? value.map((member) => references(member, context, replacer)) : value;
};
const titles: Treatment = (value, context, replacer) =>
  isArray(value) ? value.map((member) => titles(member, context, replacer)) : replacer.leaf('title', value, context);

const METAPARAMETERS: Treatments = {
  stage: titles,
  tag: titles,
  alias: titles,
  require: references,
  before: references,
  notify: references,
  subscribe: references,
};

const parameters: Treatment = (value, context, replacer) => {
  if (!isObject(value)) return value;
  const shown: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    const inner = { ...context, 'parameter-name': name };
    const special = Object.hasOwn(METAPARAMETERS, name) ? METAPARAMETERS[name] : undefined;
    if (special !== undefined) setMember(shown, name, special(member, inner, replacer));
    else
      setMember(shown, replacer.text('parameter-name', name, inner), replacer.leaf('parameter-value', member, inner));
  }
  return shown;
};

/** Members decide for themselves, unless what they are in is named like a secret: then their names are hidden with their values. */
const factValue: Treatment = (value, context, replacer) => {
  // Where everything is replaced names stay the same as elsewhere.
  const isHidden = isSecret(context['fact-name']) && replacer.profile['fact-value'] !== undefined;
  if (isObject(value) && !isHidden) return facts(value, context, replacer);
  if (isArray(value) && !isReplaced(replacer.profile, 'fact-value', context))
    return each(factValue)(value, context, replacer);
  return replacer.leaf('fact-value', value, context);
};

const facts: Treatment = (value, context, replacer) => {
  if (!isObject(value)) return value;
  const shown: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) {
    const inner = { ...context, 'fact-name': name };
    setMember(shown, replacer.text('fact-name', name, inner), factValue(member, inner, replacer));
  }
  return shown;
};

const containment: Treatment = (value, context, replacer) => {
  if (typeof value !== 'string' || value === '') return value;
  return value.includes('[')
    ? reference(value, context, replacer)
    : replacer.leaf('title', value, { ...context, type: 'Class' });
};

/** Capitalised words are taken for types, bracketed ones for parameter names, the others for titles. */
const logSource: Treatment = (value, context, replacer) => {
  if (typeof value !== 'string') return value;
  return value.replace(/[A-Z]\w+|\[[^\]\n]*\]?|[a-z]\w+/g, (word) => {
    const first = word[0]!;
    if (first === '[') return replacer.text('parameter-name', word, context);
    return /[A-Z]/.test(first)
      ? replacer.text('type', word, { ...context, type: word })
      : replacer.text('title', word, context);
  });
};

const endpoint = within({ type: as('type'), title: as('title') }, (value, { node }) => ({
  ...(node !== undefined && { node }),
  type: textOr(value['type']),
  title: textOr(value['title']),
}));

const resource = within(
  {
    file: as('file'),
    line: as('line'),
    parameters,
    tags: each(tag),
    title: as('title'),
    type: as('type'),
  },
  (value, context) => ({ ...context, type: textOr(value['type']), title: textOr(value['title']) }),
);

const event = within(
  {
    message: as('message'),
    property: as('parameter-name'),
    new_value: as('parameter-value'),
    old_value: as('parameter-value'),
  },
  (value, context) => ({ ...context, 'parameter-name': textOr(value['property']) }),
);

const reportResource = within(
  {
    resource_title: as('title'),
    resource_type: as('type'),
    file: as('file'),
    line: as('line'),
    containment_path: each(containment),
    events: each(event),
  },
  (value, context) => ({
    ...context,
    type: textOr(value['resource_type']),
    title: textOr(value['resource_title']),
  }),
);

const metric: Treatment = (value, context, replacer) => {
  if (!isObject(value) || value['category'] !== 'time') return value;
  return rebuilt(value, (member, name) => (name === 'name' ? tag(member, context, replacer) : member));
};

const log = within({
  message: as('text'),
  source: logSource,
  tags: each(tag),
  file: as('file'),
  line: as('line'),
});

const input: Treatment = (value, context, replacer) => {
  if (!isArray(value)) return value;
  const [type = null, name = null, ...rest] = value;
  return [
    replacer.leaf('catalog-input-type', type, context),
    replacer.leaf('catalog-input-value', name, context),
    ...rest,
  ];
};

const HEADS: Treatments = {
  certname: as('node'),
  producer: as('node'),
  transaction_uuid: as('transaction_uuid'),
  environment: as('environment'),
};

const PAYLOADS: Readonly<Record<ArchiveKind, Treatment>> = {
  configure_expiration: within(HEADS),
  catalogs: within({
    ...HEADS,
    resources: each(resource),
    edges: each(within({ source: endpoint, target: endpoint })),
  }),
  reports: within({ ...HEADS, resources: each(reportResource), metrics: each(metric), logs: each(log) }),
  facts: within({ ...HEADS, values: facts }),
  catalog_inputs: within({ certname: as('node'), inputs: each(input) }),
};

/** Replaces single values by the rules of a profile. */
class Replacer {
  readonly profile: AnonymizationProfile;
  readonly #key: Uint8Array;

  constructor(profile: AnonymizationProfile, key: Uint8Array) {
    this.profile = profile;
    this.#key = key;
  }

  /** A scalar of that kind, replaced when the rules say so. Null stays null. */
  leaf(kind: LeafKind, value: JsonValue, context: LeafContext): JsonValue {
    if (value === null || !isReplaced(this.profile, kind, context)) return value;
    return this.#replacement(kind, value);
  }

  text(kind: LeafKind, value: string, context: LeafContext): string {
    return String(this.leaf(kind, value, context));
  }

  #replacement(kind: LeafKind, value: JsonValue): JsonValue {
    const text = typeof value === 'string' ? value : '';
    const length = Math.max(LENGTH_MIN, text.length);
    switch (kind) {
      case 'parameter-value':
      case 'fact-value':
        return this.#valueFor(kind, value);
      case 'line':
        return typeof value === 'number' ? this.#draw(kind, String(value)).integer(Math.max(value, 20)) : value;
      case 'text':
        return '?'.repeat([...text].length);
      case 'node':
        return `${this.#draw(kind, text).text(LETTERS_LOWER, LENGTH_MIN)}.${this.#draw('domain', text).text(LETTERS_LOWER, 3)}`;
      case 'type':
        return capitalized(this.#draw(kind, text).text(LETTERS_LOWER, LENGTH_MIN));
      case 'file':
        return `/${this.#draw(kind, text).text(LETTERS_LOWER, 15)}/${this.#draw('manifest', text).text(LETTERS_LOWER, LENGTH_MIN)}.pp`;
      case 'transaction_uuid':
        return this.#draw(kind, text).uuid();
      case 'parameter-name':
      case 'catalog-input-type':
      case 'catalog-input-value':
        return this.#draw(kind, text).text(LETTERS, length);
      default:
        return this.#draw(kind, text).text(LETTERS_AND_DIGITS, length);
    }
  }

  /** A value of the same type and about the same size. */
  #valueFor(kind: string, value: JsonValue): JsonValue {
    if (value === null) return null;
    if (isArray(value)) return value.map((member) => this.#valueFor(kind, member));
    if (isObject(value)) {
      const shown: Record<string, JsonValue> = {};
      for (const [name, member] of Object.entries(value)) {
        const length = Math.max(LENGTH_MIN, name.length);
        setMember(
          shown,
          this.#draw(`${kind} name`, name).text(LETTERS_AND_DIGITS, length),
          this.#valueFor(kind, member),
        );
      }
      return shown;
    }
    if (typeof value === 'string')
      return this.#draw(kind, value).text(LETTERS_AND_DIGITS, Math.max(LENGTH_MIN, value.length));
    if (typeof value === 'boolean') return this.#draw(kind, String(value)).integer(2) === 1;
    const size = value instanceof Float ? value.value : Number(value);
    const drawn = this.#draw(kind, String(size));
    if (value instanceof Float || !Number.isInteger(size)) {
      const fraction = drawn.fraction() * Math.max(Number.isFinite(size) ? size : 1, 1);
      return Number.isInteger(fraction) ? new Float(fraction) : fraction;
    }
    return drawn.integer(Math.min(Math.max(size, 20), Number.MAX_SAFE_INTEGER));
  }

  #draw(kind: string, value: string): Draw {
    return new Draw(this.#key, kind, value);
  }
}

/** Characters of a seed that is used as it is. */
const SEED_MAX = 256;

/** Pseudo-random figures that depend on nothing but the key, the kind and the value. */
class Draw {
  readonly #key: Uint8Array;
  readonly #seed: string;
  #block: Buffer = Buffer.alloc(0);
  #blocks = 0;
  #at = 0;

  constructor(key: Uint8Array, kind: string, value: string) {
    this.#key = key;
    const seed = `${kind}\0${value}`;
    // It is read once for every block of figures, of which a long value has many.
    this.#seed = seed.length > SEED_MAX ? createHmac('sha256', key).update(seed).digest('hex') : seed;
  }

  text(alphabet: string, length: number): string {
    let text = '';
    while (text.length < length) text += alphabet[this.#byte() % alphabet.length];
    return text;
  }

  /** 0 to below `limit`. */
  integer(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  /** 0 to below 1. */
  fraction(): number {
    let value = 0;
    for (let index = 0; index < 6; index++) value = value * 256 + this.#byte();
    return value / 2 ** 48;
  }

  uuid(): string {
    const hex = this.text('0123456789abcdef', 30);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(12, 15)}-a${hex.slice(15, 18)}-${hex.slice(18, 30)}`;
  }

  #byte(): number {
    if (this.#at === this.#block.byteLength) {
      this.#block = createHmac('sha256', this.#key)
        .update(`${this.#blocks++}\0${this.#seed}`)
        .digest();
      this.#at = 0;
    }
    return this.#block[this.#at++]!;
  }
}

function rebuilt(value: JsonObject, treat: (member: JsonValue, name: string) => JsonValue): JsonObject {
  const shown: Record<string, JsonValue> = {};
  for (const [name, member] of Object.entries(value)) setMember(shown, name, treat(member, name));
  return shown;
}

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
const textOr = (value: JsonValue | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
