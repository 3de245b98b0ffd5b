// The resources of a catalog that is read: checked, with their canonical texts, each of them alone and as a list.

import { TAG_PATTERN } from '../../schemas/commands/catalog.ts';
import { isEmpty } from '../../schemas/commands/format.ts';
import { canonicalK, compareUnits } from '../json/canonical.ts';
import { canonicalOfStored } from '../json/canonical-of-stored.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/value.ts';
import { RESOURCE } from '../store/bodies.ts';
import { withOwnTag } from '../store/own-tag.ts';
import type { ResourceBody } from '../store/records.ts';
import { BodyRef } from '../store/refs.ts';
import { tagRank } from '../store/tag-rank.ts';
import { type ElementKernel, RESOURCE_PLACES } from './element-kernel.ts';
import { ElementMemo, inOnePiece, parseElement, type ReadElement, withOwnName } from './elements.ts';
import { CommandFailure } from './errors.ts';
import { isAscii, tagOrder } from './hashes.ts';
import { GIVEN, type ResourceMemory, type SentResource } from './sent-resources.ts';
import { excerpt } from './validate.ts';

/** How many containers of the payload enclose a resource's parameters: payload, resources, resource. */
export const PARAMETERS_DEPTH = 3;

/** What the elements remembered in a thread may take, in bytes. */
const RESOURCE_MEMO_BYTES = 12 * 1024 * 1024;
/** What a remembered element takes: a fixed part, and a multiple of its text. */
const RESOURCE_BYTES = 700;
const RESOURCE_TEXTS = 1;

/** `own`: the certname is among the tags, and was taken out of the resource. `digest`: of the text, where that is not remembered. */
interface KnownResource {
  readonly resource: ReadResource;
  readonly own: boolean;
  readonly digest: string | null;
}
const knownResources = new ElementMemo<KnownResource>(RESOURCE_MEMO_BYTES);

/** `sent`: JSON with its brackets; `stored`: what the node had before. Null when it is no list of maps. */
export function resourcesOfList(
  sent: Buffer,
  certname: string,
  stored: ResourceMemory | null,
): PlacedResource[] | null {
  const elements = new ListElements(certname, stored);
  const known = knownResources.values(sent, elements.read, certname, stored === null ? null : elements.recall);
  if (known === null) return null;
  const { fresh } = elements;
  const list: PlacedResource[] = [];
  const rank = tagRank(certname);
  const tag = `"${certname}"`;
  for (let index = 0; index < known.length; index++) {
    const one = known[index] as KnownResource;
    const { resource, own, digest } = one;
    const sent = fresh.size === 0 ? null : (fresh.get(one) ?? null);
    const text = own ? textWithTag(resource, tag, rank) : resource.text;
    list.push({ resource, own, text, sent, digest });
  }
  return list;
}

/** Reads elements of one list that the memory has not. */
class ListElements {
  /** What is remembered from now on, as it was sent: it is stored next. */
  readonly fresh = new Map<KnownResource, Sent>();
  readonly #certname: string;
  readonly #stored: ResourceMemory | null;
  /** Of the element that was asked for last. */
  #digest: string | null = null;

  constructor(certname: string, stored: ResourceMemory | null) {
    this.#certname = certname;
    this.#stored = stored;
  }

  /** What the node had before; null: nothing of that text. */
  readonly recall = (kernel: ElementKernel): KnownResource | null => {
    const digest = kernel.digest();
    this.#digest = digest;
    const before = (this.#stored as ResourceMemory).find(digest);
    if (before === null) return null;
    const { given, ref } = before;
    const text = kernel.resource();
    const resource =
      text === null
        ? asStored(before, kernel.text(), this.#certname)
        : plainResource(text, kernel.resourcePlaces, given, null, null, ref);
    return ofOneNode(resource, digest);
  };

  readonly read = (kernel: ElementKernel, isKept: boolean): ReadElement<KnownResource> | null =>
    this.#readPlain(kernel, isKept) ?? this.#readParsed(kernel, isKept);

  /** Null when something in it is unusual, or it is no JSON. */
  #readPlain(kernel: ElementKernel, isKept: boolean): ReadElement<KnownResource> | null {
    const isTagLeftOut = isKept && kernel.names === 1;
    const text = kernel.resource(isTagLeftOut);
    const parameters = text === null ? null : kernel.parameters();
    if (text === null || parameters === null) return null;
    const places = kernel.resourcePlaces;
    const tags = goodTagsOf(valueAt(text, places, 'tags'));
    if (tags === null) return null;
    const own = isTagLeftOut && kernel.isTagged;
    const isShared = isSharedBy(kernel, isKept, own);
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
    const resource = plainResource(text, places, given, isShared ? null : sent, tags, new BodyRef());
    return this.#made(kernel, resource, isShared, own, sent);
  }

  #readParsed(kernel: ElementKernel, isKept: boolean): ReadElement<KnownResource> | null {
    const element = kernel.text();
    const sent = parseElement(withOwnName(element, this.#certname));
    if (sent === undefined) return null;
    const own = isKept && isTagged(sent, this.#certname);
    const isShared = isSharedBy(kernel, isKept, own);
    const resource = readResource(sent, isShared ? element : null, isShared && own ? this.#certname : null);
    return this.#made(kernel, resource, isShared, own, sent as JsonObject);
  }

  #made(
    kernel: ElementKernel,
    resource: ReadResource,
    isShared: boolean,
    own: boolean,
    sent: Sent,
  ): ReadElement<KnownResource> {
    if (!isShared) return { value: ofOneNode(resource, this.#digest ?? kernel.digest()), bytes: 0 };
    const value = { resource: forLong(resource), own, digest: null };
    this.fresh.set(value, sent);
    return { value, bytes: RESOURCE_BYTES + kernel.size * RESOURCE_TEXTS };
  }
}

/** Where the certname is mentioned but among the tags, the resource is of one node only. */
const isSharedBy = (kernel: ElementKernel, isKept: boolean, own: boolean): boolean =>
  isKept && kernel.names === (own ? 1 : 0);

/** What is of one node is of hardly any other: it is not remembered, however often it comes. */
const ofOneNode = (resource: ReadResource, digest: string): KnownResource => ({ resource, own: false, digest });

function isTagged(sent: JsonValue, certname: string): boolean {
  const tags = isObject(sent) ? sent['tags'] : null;
  return Array.isArray(tags) && tags.includes(certname);
}

/** Distinct, in the order in which they are stored. */
export const tagsOf = ({ tags, text, tagsStart, tagsEnd }: ReadResource): readonly string[] =>
  tags ?? (JSON.parse(`[${text.slice(tagsStart, tagsEnd)}]`) as string[]);

/** The text as it is with one more tag, a certname in quotes, of that rank. */
function textWithTag(shared: ReadResource, tag: string, rank: number): string {
  const { text, tagsStart } = shared;
  const tags = tagsOf(shared);
  if (tags.length === 0) return `${text.slice(0, tagsStart)}${tag}${text.slice(tagsStart)}`;
  const ranks = (shared.tagRanks ??= tags.map(tagRank));
  // Before the first tag of a higher rank, or at the end.
  let place = 0;
  let at = tagsStart;
  for (; place < ranks.length && (ranks[place] as number) <= rank; place++) at += tagSize(tags[place] as string);
  const isLast = place === ranks.length;
  if (isLast) at = shared.tagsEnd;
  return `${text.slice(0, at)}${isLast ? ',' : ''}${tag}${isLast ? '' : ','}${text.slice(at)}`;
}

/** What a tag takes in a list: with its quotes and comma. */
const tagSize = (tag: string): number => tag.length + 3;

const tagList = (tags: readonly string[]): string => (tags.length === 0 ? '' : `"${tags.join('","')}"`);

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
  /** Null: they were not looked at yet (`tagsOf`). */
  tags: readonly string[] | null;
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
  readonly sortKey: string;
  /** Canonical text of `{title, type}`, as it stands in edges. */
  readonly spec: string;
  readonly ref: BodyRef;
}

/** Whether the resource is titled with the certname. */
export const isOwn = ({ title }: ReadResource, certname: string): boolean => title === certname;

/** A resource in one catalog. */
export interface PlacedResource {
  readonly resource: ReadResource;
  /** The certname is among its tags, and was taken out of the resource. */
  readonly own: boolean;
  /** Canonical text, with all tags. */
  readonly text: string;
  /** What was sent, where this catalog is the first that the resource is remembered of. */
  readonly sent: Sent | null;
  /** Of the text it came as, where that is not remembered: by it the resource is known when it comes again. */
  readonly digest: string | null;
}

export interface ReadResources {
  /** Sorted by title, then type. */
  readonly list: readonly PlacedResource[];
  readonly texts: readonly string[];
  /** All texts are in ASCII. */
  readonly isAscii: boolean;
}

/** Place in the list by type, then title (values as they were sent: 5 is not "5"). */
export type ResourcePlaces = ReadonlyMap<JsonValue, ReadonlyMap<JsonValue, number>>;

export function readResources(sent: readonly JsonValue[]): PlacedResource[] {
  const list: PlacedResource[] = [];
  for (let index = 0; index < sent.length; index++) {
    const resource = readResource(sent[index] as JsonValue, null, null);
    list.push({ resource, own: false, text: resource.text, sent: null, digest: null });
  }
  return list;
}

/** The resources in order. */
export const inOrder = (list: readonly PlacedResource[]): ReadResources => ordered([...list].sort(bySortKey));

/** Of a list that is in order. */
export function ordered(list: readonly PlacedResource[]): ReadResources {
  const texts: string[] = [];
  let isAscii = true;
  for (let index = 0; index < list.length; index++) {
    const { resource, text } = list[index] as PlacedResource;
    isAscii &&= resource.isAscii;
    texts.push(text);
  }
  return { list, texts, isAscii };
}

/** Throws CommandFailure when a name occurs twice. */
export function placesOf({ list }: ReadResources): ResourcePlaces {
  const places = new Map<JsonValue, Map<JsonValue, number>>();
  for (let index = 0; index < list.length; index++) {
    const { type = null, title = null } = (list[index] as PlacedResource).resource;
    let titles = places.get(type);
    if (titles === undefined) places.set(type, (titles = new Map()));
    if (titles.has(title)) throw invalid(`Duplicate resource: ${describeSpec(type, title)}`);
    titles.set(title, index);
  }
  return places;
}

export const bySortKey = (a: PlacedResource, b: PlacedResource): number =>
  compareUnits(a.resource.sortKey, b.resource.sortKey);

/** `element`: the text that it is remembered by, if it is. `ownTag`: a tag that is left out. */
function readResource(sent: JsonValue, element: string | null, ownTag: string | null): ReadResource {
  if (!isObject(sent)) throw invalid(`{:resources [(not (map? ${excerpt(sent)}))]}`);
  const all = readTags(sent);
  // A copy has no room to spare, as what was filtered or pushed has.
  const tags = ownTag === null ? all : all.filter((tag) => tag !== ownTag).slice();
  const { exported, file, line, parameters, title, type } = sent;
  const written = writeResource({
    exported: canonicalField(exported),
    file: canonicalField(file),
    line: canonicalField(line),
    parameters: canonicalField(parameters),
    tags: tagList(tags),
    title: canonicalField(title),
    type: canonicalField(type),
  });
  for (const key in sent) if (!KNOWN_KEYS.has(key)) canonicalK(sent[key] as JsonValue, PARAMETERS_DEPTH);
  return makeResource(type, title, givenIn(sent), element ?? sent, tags, written, new BodyRef());
}

const givenIn = ({ file, line, parameters }: JsonObject): number =>
  (file === undefined ? 0 : GIVEN.file) |
  (line === undefined ? 0 : GIVEN.line) |
  (parameters === undefined ? 0 : GIVEN.parameters);

/** For who remembers it: no text is a tree of parts, and the tags are known. */
function forLong(resource: ReadResource): ReadResource {
  for (const text of [resource.text, resource.sortKey, resource.spec]) inOnePiece(text);
  resource.tags ??= tagsOf(resource);
  return resource;
}

type PlacedValue = keyof typeof RESOURCE_PLACES;
const startOf = (places: Int32Array, value: PlacedValue): number => places[RESOURCE_PLACES[value]] as number;
const endOf = (places: Int32Array, value: PlacedValue): number => places[RESOURCE_PLACES[value] + 1] as number;

/** Canonical text of a value; empty: it has none. */
const valueAt = (text: string, places: Int32Array, value: PlacedValue): string =>
  text.slice(startOf(places, value), endOf(places, value));

/** A resource of that canonical text. `places`: of values in it (element-kernel.ts). */
function plainResource(
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
    spec: `{${text.slice(tagsEnd + 1)}`,
  };
  const title = text.slice(startOf(places, 'title') + 1, endOf(places, 'title') - 1);
  const type = text.slice(startOf(places, 'type') + 1, endOf(places, 'type') - 1);
  return makeResource(type, title, given, source, tags, written, ref);
}

/** The resource as which it was stored the last time. `element`: what came now. */
function asStored(sent: SentResource, element: string, certname: string): ReadResource {
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

/** Whether `asStored` makes the resource of that body: there are values and spellings that a body does not keep. */
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
  const { text, parametersStart, parametersEnd, tagsStart, tagsEnd, spec } = written;
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
    sortKey: `${sortText(title)}\u0000${sortText(type)}`,
    spec,
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
  'text' | 'isAscii' | 'parametersStart' | 'parametersEnd' | 'tagsStart' | 'tagsEnd' | 'spec'
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
  return { text, isAscii: isAscii(text), parametersStart, parametersEnd, tagsStart, tagsEnd, spec: `{${spec}}` };
}

/** Other keys are dropped; walking their values once keeps them within the nesting limit. */
const KNOWN_KEYS: ReadonlySet<string> = new Set('type title exported file line parameters tags'.split(' '));

const sortText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : canonicalK(value);

const TAGS_MAX = 20_000;
const goodTags = new Map<string, string>();

/** The same tag, as one that is kept; null: it is none. */
function goodTag(tag: string): string | null {
  const known = goodTags.get(tag);
  if (known !== undefined) return known;
  if (!TAG_PATTERN.test(tag)) return null;
  // A part of a text keeps all of it in memory. Tags are of letters, digits and a few signs.
  const own = Buffer.from(tag, 'latin1').toString('latin1');
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
  checkTags(resource, tags);
  return tagOrder(tags as readonly string[]);
}

/** Of a list of strings without escapes; null when one is none. */
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

/** Throws CommandFailure when one is none. */
function checkTags(resource: JsonObject, tags: readonly JsonValue[]): void {
  for (let index = 0; index < tags.length; index++) {
    const tag = tags[index] as JsonValue;
    if (typeof tag === 'string' && goodTag(tag) !== null) continue;
    const spec = describeSpec(resource['type'] ?? null, resource['title'] ?? null);
    const shown = typeof tag === 'string' ? tag : excerpt(tag);
    throw invalid(`Resource '${spec}' has an invalid tag '${shown}'. Tags must match the pattern ${TAG_PATTERN}.`);
  }
}

/** What was sent: of a plain resource its parts. */
export function sentOf({ resource: { source, text }, sent }: PlacedResource, certname: string): Sent {
  if (source !== null && typeof source !== 'string') return source;
  return sent ?? (parseElement(source === null ? text : withOwnName(source, certname)) as JsonObject);
}

export const invalid = (text: string): CommandFailure => new CommandFailure('invalid', text);

export const describeSpec = (type: JsonValue, title: JsonValue): string =>
  `{:type ${excerpt(type)}, :title ${excerpt(title)}}`;
