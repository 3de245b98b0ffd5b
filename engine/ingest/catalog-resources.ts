// The resources of a catalog that is read: checked, with their canonical texts, each of them alone and as a list.

import { TAG_PATTERN } from '../../schemas/commands/catalog.ts';
import { isEmpty } from '../../schemas/commands/format.ts';
import { canonicalK, compareUnits } from '../json/canonical.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/value.ts';
import { BodyRef } from '../store/refs.ts';
import { tagRank } from '../store/tag-rank.ts';
import { ElementMemo, inOnePiece, OWN_NAME, parseElement, type ReadElement, withOwnName } from './elements.ts';
import { CommandFailure } from './errors.ts';
import { isAscii, tagOrder } from './hashes.ts';
import { excerpt } from './validate.ts';

/** How many containers of the payload enclose a resource's parameters: payload, resources, resource. */
export const PARAMETERS_DEPTH = 3;

/** What the elements remembered in a thread may take, in bytes. */
const RESOURCE_MEMO_BYTES = 12 * 1024 * 1024;
/** What a remembered element takes: a fixed part, and a multiple of its text. */
const RESOURCE_BYTES = 700;
const RESOURCE_TEXTS = 1.5;

/** `own`: the certname is among the tags, and was taken out of the resource. */
interface KnownResource {
  readonly resource: ReadResource;
  readonly own: boolean;
}
const knownResources = new ElementMemo<KnownResource>(RESOURCE_MEMO_BYTES);

export function resourcesOfText(text: string, certname: string): PlacedResource[] | null {
  /** What is remembered from now on, as it was parsed: it is stored next. */
  const parsed = new Map<KnownResource, JsonObject>();
  const known = knownResources.values(text, (element, isKept) => readKnown(element, isKept, certname, parsed));
  if (known === null) return null;
  const list: PlacedResource[] = [];
  const rank = tagRank(certname);
  const tag = `"${certname}"`;
  for (let index = 0; index < known.length; index++) {
    const one = known[index] as KnownResource;
    const { resource, own } = one;
    const sent = parsed.size === 0 ? null : (parsed.get(one) ?? null);
    list.push({ resource, own, text: own ? withOwnTag(resource, tag, rank) : resource.text, sent });
  }
  return list;
}

function readKnown(
  element: string,
  isKept: boolean,
  certname: string,
  parsed: Map<KnownResource, JsonObject>,
): ReadElement<KnownResource> | null {
  const sent = parseElement(withOwnName(element, certname));
  if (sent === undefined) return null;
  const own = isKept && isTagged(sent, certname);
  // Where else the certname is mentioned, the resource is this node's only.
  if (!isKept || element.split(OWN_NAME).length - 1 !== (own ? 1 : 0)) {
    return { value: { resource: readResource(sent, null, null), own: false }, bytes: 0 };
  }
  const value = { resource: readResource(sent, element, own ? certname : null), own };
  parsed.set(value, sent as JsonObject);
  return { value, bytes: RESOURCE_BYTES + element.length * RESOURCE_TEXTS };
}

function isTagged(sent: JsonValue, certname: string): boolean {
  const tags = isObject(sent) ? sent['tags'] : null;
  return Array.isArray(tags) && tags.includes(certname);
}

/** The text as it is with one more tag, a certname in quotes, of that rank. */
function withOwnTag(shared: ReadResource, tag: string, rank: number): string {
  const { text, tagsStart } = shared;
  if (shared.tags.length === 0) return `${text.slice(0, tagsStart)}${tag}${text.slice(tagsStart)}`;
  const ranks = (shared.tagRanks ??= shared.tags.map(tagRank));
  // Before the first tag of a higher rank, or at the end.
  let place = 0;
  let at = tagsStart;
  for (; place < ranks.length && (ranks[place] as number) <= rank; place++) at += tagSize(shared.tags[place] as string);
  const isLast = place === ranks.length;
  if (isLast) at = shared.tagsEnd;
  return `${text.slice(0, at)}${isLast ? ',' : ''}${tag}${isLast ? '' : ','}${text.slice(at)}`;
}

/** What a tag takes in a list: with its quotes and comma. */
const tagSize = (tag: string): number => tag.length + 3;

const tagList = (tags: readonly string[]): string => (tags.length === 0 ? '' : `"${tags.join('","')}"`);

/**
 * A resource between reading and storing. Made in one place only, and not copied: each copy by spread syntax has a hidden class
 * of its own in V8 (and its memory), and whoever looks at a list of them then finds every property the slow way.
 */
export interface ReadResource {
  readonly type: JsonValue | undefined;
  readonly title: JsonValue | undefined;
  readonly fileGiven: boolean;
  readonly lineGiven: boolean;
  /** As it was sent; of a remembered one the element's text, with the mark of the own name. */
  readonly source: JsonObject | string;
  readonly tags: readonly string[];
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
  readonly sent: JsonObject | null;
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
    list.push({ resource, own: false, text: resource.text, sent: null });
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
  let text = '{';
  const { exported, file, line } = sent;
  if (exported !== undefined) text += `"exported":${canonicalK(exported, PARAMETERS_DEPTH)},`;
  if (file !== undefined) text += `"file":${canonicalK(file, PARAMETERS_DEPTH)},`;
  if (line !== undefined) text += `"line":${canonicalK(line, PARAMETERS_DEPTH)},`;
  const parameters = sent['parameters'];
  if (parameters !== undefined) text += '"parameters":';
  const parametersStart = text.length;
  if (parameters !== undefined) text += canonicalK(parameters, PARAMETERS_DEPTH);
  const parametersEnd = text.length;
  text += parameters === undefined ? '"tags":[' : ',"tags":[';
  const tagsStart = text.length;
  text += tagList(tags);
  const tagsEnd = text.length;
  text += ']';
  const title = sent['title'];
  const type = sent['type'];
  let spec = '';
  if (title !== undefined) spec += `"title":${canonicalK(title, PARAMETERS_DEPTH)}`;
  if (type !== undefined) spec += `${spec === '' ? '' : ','}"type":${canonicalK(type, PARAMETERS_DEPTH)}`;
  text += spec === '' ? '}' : `,${spec}}`;
  const stay = element === null ? asItIs : inOnePiece;
  const sortKey = stay(`${sortText(title)}\u0000${sortText(type)}`);
  for (const key in sent) if (!KNOWN_KEYS.has(key)) canonicalK(sent[key] as JsonValue, PARAMETERS_DEPTH);
  return {
    type,
    title,
    fileGiven: file !== undefined,
    lineGiven: line !== undefined,
    source: element ?? sent,
    tags,
    text: stay(text),
    isAscii: isAscii(text),
    parametersStart,
    parametersEnd,
    tagsStart,
    tagsEnd,
    tagRanks: null,
    sortKey,
    spec: stay(`{${spec}}`),
    ref: new BodyRef(),
  };
}

const asItIs = (text: string): string => text;

/** Other keys are dropped; walking their values once keeps them within the nesting limit. */
const KNOWN_KEYS: ReadonlySet<string> = new Set('type title exported file line parameters tags'.split(' '));

const sortText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : canonicalK(value);

const TAGS_MAX = 20_000;
const goodTags = new Set<string>();

function readTags(resource: JsonObject): readonly string[] {
  const tags = resource['tags'] ?? null;
  if (!Array.isArray(tags)) {
    if (tags !== null && isEmpty(tags)) return [];
    throw invalid(`{:resources [{:tags (not (sequential? ${excerpt(tags)}))}]}`);
  }
  for (let index = 0; index < tags.length; index++) {
    const tag = tags[index] as JsonValue;
    if (typeof tag === 'string' && goodTags.has(tag)) continue;
    if (typeof tag !== 'string' || !TAG_PATTERN.test(tag)) {
      const spec = describeSpec(resource['type'] ?? null, resource['title'] ?? null);
      const shown = typeof tag === 'string' ? tag : excerpt(tag);
      throw invalid(`Resource '${spec}' has an invalid tag '${shown}'. Tags must match the pattern ${TAG_PATTERN}.`);
    }
    if (goodTags.size >= TAGS_MAX) goodTags.clear();
    goodTags.add(tag);
  }
  return tagOrder(tags as readonly string[]);
}

/** What was sent. */
export function sourceObject({ resource: { source }, sent }: PlacedResource, certname: string): JsonObject {
  if (typeof source !== 'string') return source;
  return sent ?? (parseElement(withOwnName(source, certname)) as JsonObject);
}

export const invalid = (text: string): CommandFailure => new CommandFailure('invalid', text);

export const describeSpec = (type: JsonValue, title: JsonValue): string =>
  `{:type ${excerpt(type)}, :title ${excerpt(title)}}`;
