// replace catalog: from a payload that conforms to the wire table to a CatalogCommand. Resources and edges are checked and
// hashed in one pass; what is only needed to store them is made when `contents` is called.

import { RELATIONSHIPS, TAG_PATTERN } from '../../schemas/commands/catalog.ts';
import { canonicalK, compareUnits, quote } from '../json/canonical.ts';
import { storedText } from '../json/stored.ts';
import { Float, isObject, type JsonObject, type JsonValue } from '../json/value.ts';
import type { EdgeTarget, ItemId, ResourceBody } from '../store/records.ts';
import { BodyRef } from '../store/refs.ts';
import { tagRank } from '../store/tag-rank.ts';
import { parseLenient } from '../time.ts';
import { Columns } from './columns.ts';
import type { CatalogCommand, CatalogContents, DecodedEdges, DecodedResource } from './commands.ts';
import { ElementMemo, OWN_NAME, parseElement, type ReadElement, withOwnName, withoutOwnName } from './elements.ts';
import { CommandFailure } from './errors.ts';
import { catalogHash, isAscii, resourceHash, tagOrder } from './hashes.ts';
import { measured } from './meter.ts';
import { TextMemo } from './text-memo.ts';
import { excerpt } from './validate.ts';

/** How many containers of the payload enclose a resource's parameters: payload, resources, resource. */
const PARAMETERS_DEPTH = 3;

export type CatalogHeaderFields = Omit<CatalogCommand, 'kind' | 'hash' | 'contents' | 'received'>;

/** The fields that are not part of `resources` or `edges`. */
export function catalogHeader(payload: JsonObject): CatalogHeaderFields {
  const columns = new Columns();
  const text = (key: string): string => columns.text(payload[key] as string, key);
  const textOrNull = (key: string): string | null => columns.textOrNull((payload[key] ?? null) as string | null, key);
  const uuid = (key: string): string | null => columns.uuid((payload[key] ?? null) as string | null, key);
  const fields = {
    certname: text('certname'),
    producerTimestamp: parseLenient(payload['producer_timestamp'] as JsonValue) as number,
    version: text('version'),
    environment: textOrNull('environment'),
    transactionUuid: uuid('transaction_uuid'),
    catalogUuid: uuid('catalog_uuid'),
    codeId: textOrNull('code_id'),
    jobId: textOrNull('job_id'),
    producer: textOrNull('producer'),
  };
  return { ...fields, refusal: columns.refusal };
}

/** Throws CommandFailure (`invalid`) for what the wire table cannot say, JsonError when nested too deeply. */
export function decodeCatalog(payload: JsonObject, received: number): CatalogCommand {
  const header = catalogHeader(payload);
  const resources = readResources(payload['resources'] as readonly JsonValue[]);
  const edges = readEdges(payload['edges'] as JsonValue, resources);
  return {
    kind: 'catalog',
    ...header,
    received,
    hash: hashOf(header.certname, edges, resources),
    contents: (recall) => contentsOf(resources, edges, header.certname, recall),
  };
}

/**
 * The same from the texts of the two lists: elements known from other nodes or runs are not parsed again. Null when a text
 * is not a JSON list; then the whole payload says what is wrong with it.
 */
export function decodeCatalogTexts(
  payload: JsonObject,
  received: number,
  resourcesText: string,
  edgesText: string,
): CatalogCommand | null {
  const header = catalogHeader(payload);
  const { certname } = header;
  const resourceElements = withoutOwnName(resourcesText, certname);
  const edgeElements = withoutOwnName(edgesText, certname);
  if (resourceElements === null || edgeElements === null) return null;
  const list = resourcesOfText(resourceElements, certname);
  const sent = list === null ? null : edgesOfText(edgeElements, certname);
  if (list === null || sent === null) return null;
  const resources = inOrder(list);
  const edges = readEdges(sent, resources);
  return {
    kind: 'catalog',
    ...header,
    received,
    hash: hashOf(certname, edges, resources),
    contents: (recall) => contentsOf(resources, edges, certname, recall),
  };
}

const hashOf = (certname: string, edges: ReadEdges, resources: ReadResources): string =>
  measured('catalog-hash', () =>
    catalogHash(certname, edges.texts, resources.texts, resources.isAscii && edges.isPlain),
  );

/** What the elements remembered in a thread may take, in bytes. */
const RESOURCE_MEMO_BYTES = 12 * 1024 * 1024;
const EDGE_MEMO_BYTES = 6 * 1024 * 1024;
const GROUP_MEMO_BYTES = 6 * 1024 * 1024;
/** What a remembered element takes: a fixed part, and a multiple of its text. */
const RESOURCE_BYTES = 700;
const RESOURCE_TEXTS = 1.5;
const EDGE_BYTES = 300;
const GROUP_BYTES = 300;
const GROUP_TEXTS = 1.5;

/** `own`: the certname is among the tags, and was taken out of the resource. */
interface KnownResource {
  readonly resource: ReadResource;
  readonly own: boolean;
}
const knownResources = new ElementMemo<KnownResource>(RESOURCE_MEMO_BYTES);
const knownEdges = new ElementMemo<JsonObject>(EDGE_MEMO_BYTES);

function resourcesOfText(text: string, certname: string): PlacedResource[] | null {
  const known = knownResources.values(text, (element, isKept) => readKnown(element, isKept, certname));
  if (known === null) return null;
  const list: PlacedResource[] = [];
  const rank = tagRank(certname);
  const tag = `"${certname}"`;
  for (let index = 0; index < known.length; index++) {
    const { resource, own } = known[index] as KnownResource;
    list.push({ resource, own, text: own ? withOwnTag(resource, tag, rank) : resource.text });
  }
  return list;
}

function readKnown(element: string, isKept: boolean, certname: string): ReadElement<KnownResource> | null {
  const sent = parseElement(withOwnName(element, certname));
  if (sent === undefined) return null;
  const resource = readResource(sent);
  if (!isKept) return { value: { resource, own: false }, bytes: 0 };
  const own = resource.tags.includes(certname);
  const mentions = element.split(OWN_NAME).length - 1;
  // Where else the certname is mentioned, the resource is this node's only.
  if (mentions !== (own ? 1 : 0)) return { value: { resource, own: false }, bytes: 0 };
  const shared = { ...(own ? withoutOwnTag(resource, certname) : resource), source: element };
  return { value: { resource: shared, own }, bytes: RESOURCE_BYTES + element.length * RESOURCE_TEXTS };
}

function edgesOfText(text: string, certname: string): JsonObject[] | null {
  return knownEdges.values(text, (element) => {
    const value = parseElement(withOwnName(element, certname));
    if (value === undefined || !isObject(value)) return null;
    return { value, bytes: element.includes(OWN_NAME) ? 0 : EDGE_BYTES + element.length };
  });
}

function withoutOwnTag(resource: ReadResource, certname: string): ReadResource {
  const tags = resource.tags.filter((tag) => tag !== certname);
  const { text, tagsStart, tagsEnd } = resource;
  const list = tagList(tags);
  const shared = text.slice(0, tagsStart) + list + text.slice(tagsEnd);
  return { ...resource, tags, text: shared, tagsEnd: tagsStart + list.length };
}

/** The text as it is with one more tag, a certname in quotes, of that rank. */
function withOwnTag(shared: ReadResource, tag: string, rank: number): string {
  const { text, tagsStart } = shared;
  if (shared.tags.length === 0) return `${text.slice(0, tagsStart)}${tag}${text.slice(tagsStart)}`;
  const places = (shared.places ??= tagPlaces(shared));
  let place = 0;
  while (place < places.length - 1 && (places[place] as TagPlace).rank <= rank) place++;
  const { at } = places[place] as TagPlace;
  const isLast = place === places.length - 1;
  return `${text.slice(0, at)}${isLast ? ',' : ''}${tag}${isLast ? '' : ','}${text.slice(at)}`;
}

/** Where in the resource's text a further tag goes: before the first tag of a higher rank, or at the end. */
interface TagPlace {
  readonly rank: number;
  readonly at: number;
}

function tagPlaces({ tags, tagsStart, tagsEnd }: ReadResource): TagPlace[] {
  const places: TagPlace[] = [];
  let at = tagsStart;
  for (const tag of tags) {
    places.push({ rank: tagRank(tag), at });
    at += tag.length + 3; // quotes and comma
  }
  places.push({ rank: Number.POSITIVE_INFINITY, at: tagsEnd });
  return places;
}

const tagList = (tags: readonly string[]): string => (tags.length === 0 ? '' : `"${tags.join('","')}"`);

/** A resource between reading and storing. */
interface ReadResource {
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
  /** Made on first use. */
  places?: readonly TagPlace[];
  readonly sortKey: string;
  /** Canonical text of `{title, type}`, as it stands in edges. */
  readonly spec: string;
  readonly ref: BodyRef;
}

/** A resource in one catalog. */
interface PlacedResource {
  readonly resource: ReadResource;
  /** The certname is among its tags, and was taken out of the resource. */
  readonly own: boolean;
  /** Canonical text, with all tags. */
  readonly text: string;
}

interface ReadResources {
  /** Sorted by title, then type. */
  readonly list: readonly PlacedResource[];
  readonly texts: readonly string[];
  /** All texts are in ASCII. */
  readonly isAscii: boolean;
  /** Place in the list by type, then title (values as they were sent: 5 is not "5"). */
  readonly places: ReadonlyMap<JsonValue, ReadonlyMap<JsonValue, number>>;
}

function readResources(sent: readonly JsonValue[]): ReadResources {
  const list: PlacedResource[] = [];
  for (let index = 0; index < sent.length; index++) {
    const resource = readResource(sent[index] as JsonValue);
    list.push({ resource, own: false, text: resource.text });
  }
  return inOrder(list);
}

function inOrder(list: PlacedResource[]): ReadResources {
  list.sort(bySortKey);
  const places = new Map<JsonValue, Map<JsonValue, number>>();
  const texts: string[] = [];
  let isAscii = true;
  for (let index = 0; index < list.length; index++) {
    const { resource, text } = list[index] as PlacedResource;
    const { type = null, title = null } = resource;
    isAscii &&= resource.isAscii;
    let titles = places.get(type);
    if (titles === undefined) places.set(type, (titles = new Map()));
    if (titles.has(title)) throw invalid(`Duplicate resource: ${describeSpec(type, title)}`);
    titles.set(title, index);
    texts.push(text);
  }
  return { list, texts, isAscii, places };
}

const bySortKey = (a: PlacedResource, b: PlacedResource): number =>
  compareUnits(a.resource.sortKey, b.resource.sortKey);

function readResource(sent: JsonValue): ReadResource {
  if (!isObject(sent)) throw invalid(`{:resources [(not (map? ${excerpt(sent)}))]}`);
  const tags = readTags(sent);
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
  if (spec !== '') text += `,${spec}`;
  const sortKey = `${sortText(title)}\u0000${sortText(type)}`;
  for (const key in sent) if (!KNOWN_KEYS.has(key)) canonicalK(sent[key] as JsonValue, PARAMETERS_DEPTH);
  return {
    type,
    title,
    fileGiven: file !== undefined,
    lineGiven: line !== undefined,
    source: sent,
    tags,
    text: `${text}}`,
    isAscii: isAscii(text),
    parametersStart,
    parametersEnd,
    tagsStart,
    tagsEnd,
    sortKey,
    spec: `{${spec}}`,
    ref: new BodyRef(),
  };
}

/** Other keys are dropped; walking their values once keeps them within the nesting limit. */
const KNOWN_KEYS: ReadonlySet<string> = new Set('type title exported file line parameters tags'.split(' '));

const sortText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : canonicalK(value);

const TAGS_MAX = 20_000;
const goodTags = new Set<string>();

function readTags(resource: JsonObject): readonly string[] {
  const tags = resource['tags'];
  if (!Array.isArray(tags)) throw invalid(`{:resources [{:tags (not (sequential? ${excerpt(tags ?? null)}))}]}`);
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

interface ReadEdges {
  /** Canonical texts, distinct and sorted. */
  readonly texts: readonly string[];
  /** The texts consist of names of resources and nothing else. */
  readonly isPlain: boolean;
  /** Codes of the distinct edges without regard to extra keys, ascending. */
  readonly codes: Float64Array;
}

/** In canonical order. */
const SORTED_RELATIONSHIPS: readonly string[] = [...RELATIONSHIPS].sort();
const RELATIONSHIP_PLACES = new Map(SORTED_RELATIONSHIPS.map((relationship, place) => [relationship, place]));
const RELATIONSHIP_TEXTS = SORTED_RELATIONSHIPS.map((relationship) => `{"relationship":"${relationship}","source":`);
const RELATIONSHIP_BASE = 8;

/**
 * An edge is one number: (place of the source * resources + place of the target) * 8 + relationship. Resources are sorted
 * by title and type, so numeric order is the order of the hash (source title, source type, target title, target type,
 * relationship). 2^53 is enough for 33 million resources.
 */
function readEdges(sent: JsonValue, resources: ReadResources): ReadEdges {
  const list = edgeList(sent);
  const { places, list: resourceList } = resources;
  const count = resourceList.length;
  const codes = new Float64Array(list.length);
  let withExtras: { code: number; text: string }[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const edge = list[index] as JsonValue;
    if (!isObject(edge)) throw invalid(`{:edges [(not (map? ${excerpt(edge)}))]}`);
    const source = placeOf(edge, 'source', places);
    const target = placeOf(edge, 'target', places);
    const relationship = edge['relationship'];
    const place = RELATIONSHIP_PLACES.get(relationship as string);
    if (place === undefined) {
      const shown = typeof relationship === 'string' ? `:${relationship}` : excerpt(relationship ?? null);
      throw invalid(`Edge '${describeEdge(edge)}' has invalid relationship type '${shown}'`);
    }
    const code = (source * count + target) * RELATIONSHIP_BASE + place;
    codes[index] = code;
    let keys = 0;
    for (const _ in edge) keys++;
    // A key that is not stored still counts for the hash.
    if (keys > 3) (withExtras ??= []).push({ code, text: canonicalK(edge, 2) });
  }
  const distinct = sortDistinct(codes);
  if (withExtras === null) return { texts: edgeTexts(distinct, resourceList), isPlain: true, codes: distinct };
  const plain = sortDistinct(withoutOnce(codes, withExtras));
  const all = new Map<string, number>();
  edgeTexts(plain, resourceList).forEach((text, index) => {
    all.set(text, plain[index] as number);
  });
  for (const { code, text } of withExtras) all.set(text, code);
  const sorted = [...all].sort((a, b) => a[1] - b[1]);
  return { texts: sorted.map(([text]) => text), isPlain: false, codes: distinct };
}

/** The codes without one occurrence of each of the others. */
function withoutOnce(codes: Float64Array, others: readonly { readonly code: number }[]): Float64Array {
  const dropped = new Map<number, number>();
  for (const { code } of others) dropped.set(code, (dropped.get(code) ?? 0) + 1);
  return codes.filter((code) => {
    const left = dropped.get(code) ?? 0;
    if (left > 0) dropped.set(code, left - 1);
    return left === 0;
  });
}

function edgeList(sent: JsonValue): readonly JsonValue[] {
  if (Array.isArray(sent)) return sent;
  if (isObject(sent) && Object.keys(sent).length === 0) return [];
  throw invalid(`{:edges (not (sequential? ${excerpt(sent)}))}`);
}

function sortDistinct(codes: Float64Array): Float64Array {
  const sorted = codes.slice().sort();
  let count = 0;
  for (let index = 0; index < sorted.length; index++) {
    if (index > 0 && sorted[index] === sorted[index - 1]) continue;
    sorted[count++] = sorted[index] as number;
  }
  return sorted.subarray(0, count);
}

function edgeTexts(codes: Float64Array, resources: readonly PlacedResource[]): string[] {
  const texts: string[] = [];
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] as number;
    const source = (resources[sourceOf(code, resources.length)] as PlacedResource).resource;
    const target = (resources[targetOf(code, resources.length)] as PlacedResource).resource;
    texts.push(`${RELATIONSHIP_TEXTS[code % RELATIONSHIP_BASE]}${source.spec},"target":${target.spec}}`);
  }
  return texts;
}

function placeOf(edge: JsonObject, end: 'source' | 'target', places: ReadResources['places']): number {
  const spec = edge[end] ?? null;
  if (isObject(spec)) {
    let keys = 0;
    for (const _ in spec) keys++;
    // With a further key it is not the name of a resource.
    const place = keys === 2 ? places.get(spec['type'] as JsonValue)?.get(spec['title'] as JsonValue) : undefined;
    if (place !== undefined) return place;
  }
  const shown = isObject(spec) ? describeSpec(spec['type'] ?? null, spec['title'] ?? null) : excerpt(spec);
  throw invalid(`Edge '${describeEdge(edge)}' refers to resource '${shown}', which doesnt exist in the catalog.`);
}

function contentsOf(
  { list }: ReadResources,
  { codes }: ReadEdges,
  certname: string,
  recall: (ref: BodyRef) => ItemId,
): CatalogContents {
  const columns = new Columns();
  const resources: DecodedResource[] = [];
  for (let index = 0; index < list.length; index++)
    resources.push(decodedResource(list[index] as PlacedResource, certname, recall, columns));
  checkDistinct(list, resources, columns);
  return { resources, edges: edgeGroups(codes, list, resources), refusal: columns.refusal };
}

/** Groups of edges by the canonical text of what distinguishes them. */
const knownGroups = new TextMemo<DecodedEdges>(GROUP_MEMO_BYTES);

function edgeGroups(
  codes: Float64Array,
  list: readonly PlacedResource[],
  resources: readonly DecodedResource[],
): DecodedEdges[] {
  const groups: DecodedEdges[] = [];
  const count = list.length;
  for (let from = 0, to = 0; from < codes.length; from = to) {
    const source = sourceOf(codes[from] as number, count);
    let text = (list[source] as PlacedResource).resource.spec;
    for (to = from; to < codes.length && sourceOf(codes[to] as number, count) === source; to++) {
      const code = codes[to] as number;
      text += `${code % RELATIONSHIP_BASE}${(list[targetOf(code, count)] as PlacedResource).resource.spec}`;
    }
    const bytes = GROUP_BYTES + text.length * GROUP_TEXTS;
    let group = knownGroups.get(text, bytes);
    if (group === undefined) {
      group = edgeGroup(codes.subarray(from, to), source, resources);
      knownGroups.set(text, group, bytes);
    }
    groups.push(group);
  }
  return groups;
}

function edgeGroup(codes: Float64Array, source: number, resources: readonly DecodedResource[]): DecodedEdges {
  const { type, title } = resources[source] as DecodedResource;
  const targets: EdgeTarget[] = [];
  for (const code of codes) {
    const target = resources[targetOf(code, resources.length)] as DecodedResource;
    const relationship = SORTED_RELATIONSHIPS[code % RELATIONSHIP_BASE] as string;
    targets.push({ relationship, targetType: target.type, targetTitle: target.title });
  }
  return { body: { sourceType: type, sourceTitle: title, targets }, ref: new BodyRef() };
}

const sourceOf = (code: number, count: number): number => Math.floor(Math.floor(code / RELATIONSHIP_BASE) / count);
const targetOf = (code: number, count: number): number => Math.floor(code / RELATIONSHIP_BASE) % count;

function decodedResource(
  { resource, own }: PlacedResource,
  certname: string,
  recall: (ref: BodyRef) => ItemId,
  columns: Columns,
): DecodedResource {
  const { ref, type, title, fileGiven, lineGiven } = resource;
  const item = recall(ref);
  return {
    type: columnText(type, 'type', columns),
    title: columnText(title, 'title', columns),
    ref,
    item,
    body: item === 0 ? storedResource(resource, own, certname, columns) : null,
    fileGiven,
    lineGiven,
  };
}

function storedResource(resource: ReadResource, own: boolean, certname: string, columns: Columns): ResourceBody {
  const { tags, text, parametersStart, parametersEnd } = resource;
  const { type, title, file, line, exported, parameters: sent = null } = sourceObject(resource, certname);
  const ownTag = own || tags.includes(certname);
  const shared = ownTag && !own ? tags.filter((tag) => tag !== certname) : tags;
  if (typeof exported !== 'boolean') columns.refuse('A resource has no "exported", which cannot be stored.');
  if (file !== undefined && file !== null && typeof file !== 'string')
    columns.refuse('The file of a resource is no text.');
  if (sent !== null && typeof sent !== 'object') columns.refuse('The parameters of a resource are no map.');
  const parameters = parametersStart === parametersEnd ? 'null' : text.slice(parametersStart, parametersEnd);
  return {
    type: columnText(type, 'type', columns),
    title: columnText(title, 'title', columns),
    hash: resourceHash(identityText(type), identityText(title), parameters),
    tags: shared,
    ownTag,
    exported: exported === true,
    file: typeof file === 'string' ? columns.text(file, 'file') : null,
    line: columns.integer(line ?? null, 'line'),
    parameters: isObject(sent) ? parametersText(sent, columns) : '{}',
  };
}

const sourceObject = ({ source }: ReadResource, certname: string): JsonObject =>
  typeof source === 'string' ? (parseElement(withOwnName(source, certname)) as JsonObject) : source;

function parametersText(parameters: JsonObject, columns: Columns): string {
  for (const key in parameters) {
    if (key.includes('\u0000')) columns.refuse('A parameter name contains a NUL character, which cannot be stored.');
  }
  return storedText(parameters, PARAMETERS_DEPTH);
}

const identityText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? quote(value) : canonicalK(value ?? null);

/** Numbers and Booleans are taken as types and titles, and stored as their text. */
function columnText(value: JsonValue | undefined, name: string, columns: Columns): string {
  if (typeof value === 'string') return columns.text(value, `resource ${name}`);
  if (value === undefined || value === null || (typeof value === 'object' && !(value instanceof Float))) {
    columns.refuse(`The ${name} of a resource is ${value === null || value === undefined ? 'missing' : 'no text'}.`);
    return '';
  }
  return canonicalK(value);
}

/** As texts, 5 and "5" are the same title after all. */
function checkDistinct(list: readonly PlacedResource[], resources: readonly DecodedResource[], columns: Columns): void {
  if (list.every(({ resource: { title, type } }) => typeof title === 'string' && typeof type === 'string')) return;
  const seen = new Set<string>();
  for (const { type, title } of resources) {
    const key = `${type}\u0000${title}`;
    if (seen.has(key)) columns.refuse(`Duplicate resource: ${describeSpec(type, title)}`);
    seen.add(key);
  }
}

const invalid = (text: string): CommandFailure => new CommandFailure('invalid', text);

const describeSpec = (type: JsonValue, title: JsonValue): string =>
  `{:type ${excerpt(type)}, :title ${excerpt(title)}}`;

function describeEdge(edge: JsonObject): string {
  const describe = (end: JsonValue): string =>
    isObject(end) ? describeSpec(end['type'] ?? null, end['title'] ?? null) : excerpt(end);
  const relationship = edge['relationship'];
  const shown = typeof relationship === 'string' ? `:${relationship}` : excerpt(relationship ?? null);
  return `{:source ${describe(edge['source'] ?? null)}, :target ${describe(edge['target'] ?? null)}, :relationship ${shown}}`;
}
