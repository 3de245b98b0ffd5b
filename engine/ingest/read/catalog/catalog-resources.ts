// The resources of a catalog that is read: checked, with their canonical texts, each of them alone and as a list.

import { TAG_PATTERN } from '../../../../schemas/commands/catalog.ts';
import { canonicalK, compareUnits } from '../../../json/canonical.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../json/value.ts';
import { tagRank } from '../../../store/records/tag-rank.ts';
import type { ElementKernel } from '../../known/element-kernel.ts';
import { ElementMemo, inOnePiece, parseElement, type ReadElement, withOwnName } from '../../known/elements.ts';
import type { ResourceMemory } from '../../known/sent-resources.ts';
import {
  asStored,
  describeSpec,
  invalid,
  plainResource,
  type ReadResource,
  readPlain,
  readResource,
  type Sent,
  tagsOf,
} from './read-resource.ts';

/** What the elements remembered in a thread may take, in bytes. */
const RESOURCE_MEMO_BYTES = 12 * 1024 * 1024;
/** What a remembered element takes: a fixed part, and a multiple of its text. */
const RESOURCE_BYTES = 700;
const RESOURCE_TEXTS = 1;

/** As they are in any catalog: without the certname, where that is among the tags. */
const knownResources = new ElementMemo<PlacedResource>(RESOURCE_MEMO_BYTES);

/**
 * The resources of a list (`sent`: JSON with its brackets), as they were sent. `stored`: what the node had before. Null when it is no list of
 * maps, or when the certname cannot be put among the tags again: only the whole payload says what comes of it.
 */
export function resourcesOfList(
  sent: Buffer,
  certname: string,
  stored: ResourceMemory | null,
): PlacedResource[] | null {
  const elements = new ListElements(certname, stored);
  const known = knownResources.values(sent, elements.read, certname, stored === null ? null : elements.recall);
  if (known === null) return null;
  const { fresh } = elements;
  const rank = TAG_PATTERN.test(certname) ? tagRank(certname) : null;
  const tag = `"${certname}"`;
  for (let index = 0; index < known.length; index++) {
    const one = known[index] as PlacedResource;
    const { resource, own, digest } = one;
    const sent = fresh.size === 0 ? null : (fresh.get(one) ?? null);
    if (!own && sent === null) continue;
    const text = own ? textWithTag(resource, tag, rank) : resource.text;
    if (text === null) return null;
    known[index] = { resource, own, text, sent, digest };
  }
  return known;
}

/** Reads elements of one list that the memory has not. */
class ListElements {
  /** What was sent of the resources that are remembered from now on: they are stored next. */
  readonly fresh = new Map<PlacedResource, Sent>();
  readonly #certname: string;
  readonly #stored: ResourceMemory | null;
  /** Of the element that was asked for last. */
  #digest: string | null = null;

  constructor(certname: string, stored: ResourceMemory | null) {
    this.#certname = certname;
    this.#stored = stored;
  }

  /** The resource that the node had before as the same text; null: it had none. */
  readonly recall = (kernel: ElementKernel): PlacedResource | null => {
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

  readonly read = (kernel: ElementKernel, isKept: boolean): ReadElement<PlacedResource> | null =>
    this.#readPlain(kernel, isKept) ?? this.#readParsed(kernel, isKept);

  /** Null when something in the element is unusual, or it is no JSON. */
  #readPlain(kernel: ElementKernel, isKept: boolean): ReadElement<PlacedResource> | null {
    const isTagLeftOut = isKept && kernel.names === 1;
    const text = kernel.resource(isTagLeftOut);
    if (text === null) return null;
    const own = isTagLeftOut && kernel.isTagged;
    const isShared = isSharedBy(kernel, isKept, own);
    const read = readPlain(text, kernel, !isShared);
    return read === null ? null : this.#made(kernel, read.resource, isShared, own, read.sent);
  }

  #readParsed(kernel: ElementKernel, isKept: boolean): ReadElement<PlacedResource> | null {
    const element = kernel.text();
    const sent = parseElement(withOwnName(element, this.#certname));
    if (sent === undefined) return null;
    const own = isKept && isTagged(sent, this.#certname);
    // Spelled with escapes the certname has no mark: the one that there is may stand for another string.
    const isShared = isSharedBy(kernel, isKept, own) && !(own && ESCAPES.test(element));
    const resource = readResource(sent, isShared ? element : null, isShared && own ? this.#certname : null);
    return this.#made(kernel, resource, isShared, own, sent as JsonObject);
  }

  #made(
    kernel: ElementKernel,
    resource: ReadResource,
    isShared: boolean,
    own: boolean,
    sent: Sent,
  ): ReadElement<PlacedResource> {
    if (!isShared) return { value: ofOneNode(resource, this.#digest ?? kernel.digest()), bytes: 0 };
    const value = { resource, own, text: inOnePiece(resource.text), sent: null, digest: null };
    this.fresh.set(value, sent);
    return { value, bytes: RESOURCE_BYTES + kernel.size * RESOURCE_TEXTS };
  }
}

/** Escapes that a certname, or a part of one, can be spelled with. */
export const ESCAPES = /\\[u/]/;

/** Whether the resource may be remembered for other nodes: the certname is mentioned nowhere but among its tags. */
const isSharedBy = (kernel: ElementKernel, isKept: boolean, own: boolean): boolean =>
  isKept && kernel.names === (own ? 1 : 0);

/** A resource of one node, which hardly any other has: it is not remembered, however often it comes. */
const ofOneNode = (resource: ReadResource, digest: string): PlacedResource => ({
  resource,
  own: false,
  text: resource.text,
  sent: null,
  digest,
});

function isTagged(sent: JsonValue, certname: string): boolean {
  const tags = isObject(sent) ? sent['tags'] : null;
  return Array.isArray(tags) && tags.includes(certname);
}

/** The text as it is with one more tag, a certname in quotes, of that rank; null where it is no tag, or its place is not known. */
function textWithTag(shared: ReadResource, tag: string, rank: number | null): string | null {
  if (rank === null) return null;
  const { text, tagsStart } = shared;
  const tags = tagsOf(shared);
  if (tags.length === 0) return `${text.slice(0, tagsStart)}${tag}${text.slice(tagsStart)}`;
  const ranks = (shared.tagRanks ??= tags.map(tagRank));
  // Tags of one rank stand in the order in which they were sent.
  if (ranks.includes(rank)) return null;
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

/** A resource in one catalog. */
export interface PlacedResource {
  readonly resource: ReadResource;
  /** The certname is among its tags, and was taken out of the resource. */
  readonly own: boolean;
  /** Canonical text, with all tags. */
  readonly text: string;
  /** What was sent, where this catalog is the first that the resource is remembered of. */
  readonly sent: Sent | null;
  /** Digest of the text it came as, where that is not remembered: by it the resource is known when it comes again. */
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

/** The places of resources, by title, then type. */
export const orderOf = (list: readonly PlacedResource[]): Uint32Array =>
  Uint32Array.from(list.keys()).sort((a, b) => compareNames(list[a] as PlacedResource, list[b] as PlacedResource));

/** The resources in an order of their places. */
export function ordered(sent: readonly PlacedResource[], order: Uint32Array): ReadResources {
  const list: PlacedResource[] = [];
  const texts: string[] = [];
  let isAscii = true;
  for (let place = 0; place < order.length; place++) {
    const placed = sent[order[place] as number] as PlacedResource;
    isAscii &&= placed.resource.isAscii;
    list.push(placed);
    texts.push(placed.text);
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

/** By title, then type: below 0 when the first one comes first. */
export const compareNames = ({ resource: a }: PlacedResource, { resource: b }: PlacedResource): number =>
  compareUnits(nameText(a.title), nameText(b.title)) || compareUnits(nameText(a.type), nameText(b.type));

const nameText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : canonicalK(value);

/** What was sent: of a plain resource its parts. */
export function sentOf({ resource: { source, text }, sent }: PlacedResource, certname: string): Sent {
  if (source !== null && typeof source !== 'string') return source;
  return sent ?? (parseElement(source === null ? text : withOwnName(source, certname)) as JsonObject);
}
