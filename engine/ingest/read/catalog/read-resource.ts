// A resource between reading and storing: its canonical text, where in it values stand, and what is stored of it.

import { TAG_PATTERN } from '../../../../schemas/commands/catalog.ts';
import { isEmpty } from '../../../../schemas/commands/format.ts';
import { ownText } from '../../../bytes.ts';
import { canonicalK } from '../../../json/canonical.ts';
import { canonicalOfStored } from '../../../json/canonical-of-stored.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../json/value.ts';
import { BodyRef } from '../../../store/items/refs.ts';
import { RESOURCE } from '../../../store/records/bodies.ts';
import { withOwnTag } from '../../../store/records/own-tag.ts';
import type { ResourceBody } from '../../../store/records/records.ts';
import { CommandFailure } from '../../command/errors.ts';
import { isAscii, tagOrder } from '../../command/hashes.ts';
import { excerpt } from '../../command/validate.ts';
import { type ElementKernel, RESOURCE_PLACES } from '../../known/element-kernel.ts';
import { GIVEN, type SentResource } from '../../known/sent-resources.ts';
import { boundDropped } from '../command-reader.ts';

/** How many containers of the payload enclose a resource's parameters: payload, resources, resource. */
export const PARAMETERS_DEPTH = 3;

/**
 * What a plain resource says beside its type, title and tags, in the form in which it is stored. Its canonical text is what that of the stored
 * body would be.
 */
export class PlainParts {
  readonly exported: boolean;
  readonly file: string | null;
  readonly line: number | null;
  /** Stored text. */
  readonly parameters: string;

  constructor(exported: boolean, file: string | null, line: number | null, parameters: string) {
    this.exported = exported;
    this.file = file;
    this.line = line;
    this.parameters = parameters;
  }
}

/** A resource as it was sent. */
export type Sent = JsonObject | PlainParts;

/**
 * A resource between reading and storing. Made in one place only, and not copied: each copy by spread syntax has a hidden class
 * of its own in V8 (and its memory), and whoever looks at a list of them then finds every property the slow way.
 */
export interface ReadResource {
  readonly type: JsonValue | undefined;
  readonly title: JsonValue | undefined;
  /** Which of the fields that may be left out were there: GIVEN. */
  readonly given: number;
  /** As it was sent; of a remembered one the element's text, with the mark of the own name. Null: the canonical text says it. */
  readonly source: Sent | string | null;
  /** Null: they were not looked at (`tagsOf`). */
  readonly tags: readonly string[] | null;
  readonly text: string;
  readonly isAscii: boolean;
  /** Where the canonical text of the parameters stands in the text; empty without any. */
  readonly parametersStart: number;
  readonly parametersEnd: number;
  /** Where the list of tags stands in the text. */
  readonly tagsStart: number;
  readonly tagsEnd: number;
  /** Of each tag; made on first use. */
  tagRanks: readonly number[] | null;
  readonly ref: BodyRef;
}

/** Canonical text of `{title, type}`, as it stands in edges: what follows the tags. */
export const specOf = ({ text, tagsEnd }: ReadResource): string =>
  text.length === tagsEnd + 2 ? '{}' : `{${text.slice(tagsEnd + 2)}`;

/** Whether the resource is titled with the certname. */
export const isOwn = ({ title }: ReadResource, certname: string): boolean => title === certname;

/** `element`: the text that it is remembered by, if it is. `ownTag`: a tag that is left out. */
export function readResource(sent: JsonValue, element: string | null, ownTag: string | null): ReadResource {
  if (!isObject(sent)) throw invalid(`{:resources [(not (map? ${excerpt(sent)}))]}`);
  const all = readTags(sent);
  // A copy has no room to spare, as what was filtered or pushed has.
  const tags = ownTag === null ? all : all.filter((tag) => tag !== ownTag).slice();
  const { exported, file, line, parameters } = sent;
  const [type, title] = [keptName(sent['type']), keptName(sent['title'])];
  const written = writeResource({
    exported: canonicalField(exported),
    file: canonicalField(file),
    line: canonicalField(line),
    parameters: canonicalField(parameters),
    tags: tagList(tags),
    title: canonicalField(title),
    type: canonicalField(type),
  });
  boundDropped(sent, KNOWN_KEYS, PARAMETERS_DEPTH);
  return makeResource(type, title, givenIn(sent), element ?? sent, tags, written, new BodyRef());
}

/** Names may be kept long after the payload that they are a part of, with the edges. */
const keptName = (name: JsonValue | undefined): JsonValue | undefined =>
  typeof name === 'string' ? ownText(name) : name;

const givenIn = ({ file, line, parameters }: JsonObject): number =>
  (file === undefined ? 0 : GIVEN.file) |
  (line === undefined ? 0 : GIVEN.line) |
  (parameters === undefined ? 0 : GIVEN.parameters);

/**
 * The kernel's present element, a plain resource of that canonical text; null where a field is unusual after all. `keepsSent`: what was sent
 * becomes the resource's source.
 */
export function readPlain(
  text: string,
  kernel: ElementKernel,
  keepsSent: boolean,
): { readonly resource: ReadResource; readonly sent: PlainParts } | null {
  const { resourcePlaces: places } = kernel;
  const parameters = kernel.parameters();
  const tags = parameters === null ? null : goodTagsOf(valueAt(text, places, 'tags'));
  if (parameters === null || tags === null) return null;
  const file = valueAt(text, places, 'file');
  const line = valueAt(text, places, 'line');
  const given =
    (file === '' ? 0 : GIVEN.file) | (line === '' ? 0 : GIVEN.line) | (parameters === '' ? 0 : GIVEN.parameters);
  const sent = new PlainParts(
    valueAt(text, places, 'exported') === 'true',
    file === '' ? null : (JSON.parse(file) as string | null),
    line === '' ? null : (JSON.parse(line) as number | null),
    parameters === '' ? '{}' : parameters,
  );
  return { resource: plainResource(text, places, given, keepsSent ? sent : null, tags, new BodyRef()), sent };
}

type PlacedValue = keyof typeof RESOURCE_PLACES;
const startOf = (places: Int32Array, value: PlacedValue): number => places[RESOURCE_PLACES[value]] as number;
const endOf = (places: Int32Array, value: PlacedValue): number => places[RESOURCE_PLACES[value] + 1] as number;

/** Canonical text of a value; empty: it has none. */
const valueAt = (text: string, places: Int32Array, value: PlacedValue): string =>
  text.slice(startOf(places, value), endOf(places, value));

/** Parts of longer texts are copied: for a part V8 keeps the whole text, and titles may be kept long after it, with the edges. */
const SLICED_MAX = 1000;

const partOf = (text: string, start: number, end: number): string =>
  text.length > SLICED_MAX ? Buffer.from(text.slice(start, end), 'latin1').toString('latin1') : text.slice(start, end);

/** A resource of that canonical text. `places`: of values in it (element-kernel.ts). */
export function plainResource(
  text: string,
  places: Int32Array,
  given: number,
  source: Sent | string | null,
  tags: readonly string[] | null,
  ref: BodyRef,
): ReadResource {
  const tagsEnd = endOf(places, 'tags');
  const written = {
    text,
    isAscii: true,
    parametersStart: startOf(places, 'parameters'),
    parametersEnd: endOf(places, 'parameters'),
    tagsStart: startOf(places, 'tags') + 1,
    tagsEnd: tagsEnd - 1,
  };
  const title = partOf(text, startOf(places, 'title') + 1, endOf(places, 'title') - 1);
  const type = partOf(text, startOf(places, 'type') + 1, endOf(places, 'type') - 1);
  return makeResource(type, title, given, source, tags, written, ref);
}

/** The resource as which it was stored the last time. `element`: what came now. */
export function asStored(sent: SentResource, element: string, certname: string): ReadResource {
  const { given, ref } = sent;
  const record = sent.record();
  const tags = record.ownTag ? withOwnTag(record, certname) : record.tags;
  const text = (isGiven: number, field: number): string | null => (isGiven === 0 ? null : record.text(field));
  const parameters = text(given & GIVEN.parameters, RESOURCE.parameters);
  const written = writeResource({
    exported: record.text(RESOURCE.exported),
    file: text(given & GIVEN.file, RESOURCE.file),
    line: text(given & GIVEN.line, RESOURCE.line),
    parameters: parameters === null ? null : canonicalOfStored(parameters),
    tags: tagList(tags),
    title: record.text(RESOURCE.title),
    type: record.text(RESOURCE.type),
  });
  const type = record.string(RESOURCE.type) as string;
  return makeResource(type, record.string(RESOURCE.title) as string, given, element, tags, written, ref);
}

/** Whether `asStored` would make the resource again of that body: there are values and spellings that a body does not keep. */
export function isTextOf(resource: ReadResource, body: ResourceBody): boolean {
  const { source, text, parametersStart, parametersEnd } = resource;
  if (source === null || source instanceof PlainParts) return true;
  if (typeof source === 'string' || SPELLED_IN_HEX.test(text)) return false;
  if (!resource.isAscii && HALF_CHARACTER.test(text)) return false;
  const { type, title, exported, file = body.file, line = body.line } = source;
  const isSame =
    type === body.type &&
    title === body.title &&
    exported === body.exported &&
    file === body.file &&
    line === body.line;
  if (!isSame || parametersStart === parametersEnd) return isSame;
  const parameters = text.slice(parametersStart, parametersEnd);
  const isPlain = parameters.startsWith('{') && !MAYBE_DECIMAL.test(parameters);
  return isPlain || parameters === canonicalOfStored(body.parameters);
}
/** Characters that canonical text and stored text spell differently, or of which the latter has others. */
const SPELLED_IN_HEX = /\\u00/;
/** Half of a surrogate pair, of which UTF-8 has nothing. */
const HALF_CHARACTER = /\p{Surrogate}/u;
/** A number that is no integer, as a value or an element in canonical text, or what looks like it in a string. */
const MAYBE_DECIMAL = /[:,[]-?\d+\.\d/;

function makeResource(
  type: JsonValue | undefined,
  title: JsonValue | undefined,
  given: number,
  source: Sent | string | null,
  tags: readonly string[] | null,
  written: WrittenResource,
  ref: BodyRef,
): ReadResource {
  const { text, parametersStart, parametersEnd, tagsStart, tagsEnd } = written;
  return {
    type,
    title,
    given,
    source,
    tags,
    text,
    isAscii: written.isAscii,
    parametersStart,
    parametersEnd,
    tagsStart,
    tagsEnd,
    tagRanks: null,
    ref,
  };
}

/** Canonical texts of the fields; null for one that is not there. Of the tags, what stands between the brackets. */
interface FieldTexts {
  readonly exported: string | null;
  readonly file: string | null;
  readonly line: string | null;
  readonly parameters: string | null;
  readonly tags: string;
  readonly title: string | null;
  readonly type: string | null;
}

type WrittenResource = Pick<
  ReadResource,
  'text' | 'isAscii' | 'parametersStart' | 'parametersEnd' | 'tagsStart' | 'tagsEnd'
>;

const canonicalField = (value: JsonValue | undefined): string | null =>
  value === undefined ? null : canonicalK(value, PARAMETERS_DEPTH);

function writeResource({ exported, file, line, parameters, tags, title, type }: FieldTexts): WrittenResource {
  let text = '{';
  if (exported !== null) text += `"exported":${exported},`;
  if (file !== null) text += `"file":${file},`;
  if (line !== null) text += `"line":${line},`;
  if (parameters !== null) text += '"parameters":';
  const parametersStart = text.length;
  if (parameters !== null) text += parameters;
  const parametersEnd = text.length;
  text += parameters === null ? '"tags":[' : ',"tags":[';
  const tagsStart = text.length;
  text += tags;
  const tagsEnd = text.length;
  text += ']';
  let spec = '';
  if (title !== null) spec += `"title":${title}`;
  if (type !== null) spec += `${spec === '' ? '' : ','}"type":${type}`;
  text += spec === '' ? '}' : `,${spec}}`;
  return { text, isAscii: isAscii(text), parametersStart, parametersEnd, tagsStart, tagsEnd };
}

/** Other members are dropped. */
const KNOWN_KEYS: ReadonlySet<string> = new Set('type title exported file line parameters tags'.split(' '));

/** Distinct, in the order in which they are stored. */
export const tagsOf = ({ tags, text, tagsStart, tagsEnd }: ReadResource): readonly string[] =>
  tags ?? (JSON.parse(`[${text.slice(tagsStart, tagsEnd)}]`) as string[]);

const tagList = (tags: readonly string[]): string => (tags.length === 0 ? '' : `"${tags.join('","')}"`);

const TAGS_MAX = 20_000;
const goodTags = new Map<string, string>();

/** The same tag, as one that is kept; null: it is none. */
function goodTag(tag: string): string | null {
  const known = goodTags.get(tag);
  if (known !== undefined) return known;
  if (!TAG_PATTERN.test(tag)) return null;
  const own = ownText(tag);
  if (goodTags.size >= TAGS_MAX) goodTags.clear();
  goodTags.set(own, own);
  return own;
}

function readTags(resource: JsonObject): readonly string[] {
  const tags = resource['tags'] ?? null;
  if (!Array.isArray(tags)) {
    if (tags !== null && isEmpty(tags)) return [];
    throw invalid(`{:resources [{:tags (not (sequential? ${excerpt(tags)}))}]}`);
  }
  return tagOrder(tags.map((tag) => goodTagOf(resource, tag)));
}

/** The tags of a list of strings without escapes; null when one of them is none. */
function goodTagsOf(list: string): readonly string[] | null {
  if (list === '[]') return [];
  const tags = list.slice(2, -2).split('","');
  for (let index = 0; index < tags.length; index++) {
    const tag = goodTag(tags[index] as string);
    if (tag === null) return null;
    tags[index] = tag;
  }
  return tags;
}

/** A tag of the resource, as `goodTag`. Throws CommandFailure when it is none. */
function goodTagOf({ type = null, title = null }: JsonObject, tag: JsonValue): string {
  const good = typeof tag === 'string' ? goodTag(tag) : null;
  if (good !== null) return good;
  const shown = typeof tag === 'string' ? tag : excerpt(tag);
  throw invalid(
    `Resource '${describeSpec(type, title)}' has an invalid tag '${shown}'. Tags must match the pattern ${TAG_PATTERN}.`,
  );
}

export const invalid = (text: string): CommandFailure => new CommandFailure('invalid', text);

export const describeSpec = (type: JsonValue, title: JsonValue): string =>
  `{:type ${excerpt(type)}, :title ${excerpt(title)}}`;
