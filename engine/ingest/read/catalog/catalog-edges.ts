// The edges of a catalog that is read: checked against its resources, with their canonical texts, grouped as they are stored.

import { RELATIONSHIPS } from '../../../../schemas/commands/catalog.ts';
import { canonicalK, quote } from '../../../json/canonical.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../json/value.ts';
import { BodyRef } from '../../../store/items/refs.ts';
import type { EdgeTarget } from '../../../store/records/records.ts';
import type { DecodedEdges, DecodedResource } from '../../command/commands.ts';
import { type ListText, Pieces } from '../../command/hashes.ts';
import { excerpt } from '../../command/validate.ts';
import { inOnePiece } from '../../known/elements.ts';
import { TextMemo } from '../../known/text-memo.ts';
import { type PlacedResource, placesOf, type ReadResources, type ResourcePlaces } from './catalog-resources.ts';
import { describeSpec, invalid, isOwn, specOf } from './read-resource.ts';

/** What the groups remembered in a thread may take, in bytes. */
const GROUP_MEMO_BYTES = 6 * 1024 * 1024;
/** What a remembered group takes: a fixed part, and a multiple of its text. */
const GROUP_BYTES = 300;
const GROUP_TEXTS = 1.5;

export interface ReadEdges {
  /** Canonical texts, distinct and sorted, or the text of the list: of edges that many catalogs have in pieces. */
  readonly texts: readonly string[] | ListText;
  /** The texts consist of names of resources and nothing else. */
  readonly isPlain: boolean;
  /** Codes of the distinct edges without regard to extra keys, ascending. */
  readonly codes: Float64Array;
  /** Of edges that many catalogs have, once they were stored: their groups, null for those that name the node. */
  groups: readonly (DecodedEdges | null)[] | null;
}

/** In canonical order. */
const SORTED_RELATIONSHIPS: readonly string[] = [...RELATIONSHIPS].sort();
const RELATIONSHIP_PLACES = new Map(SORTED_RELATIONSHIPS.map((relationship, place) => [relationship, place]));
/** What the canonical text of an edge begins with, up to the name of its source. */
export const RELATIONSHIP_TEXTS = SORTED_RELATIONSHIPS.map(
  (relationship) => `{"relationship":"${relationship}","source":`,
);
const RELATIONSHIP_BASE = 8;

/**
 * An edge is one number: (place of the source * resources + place of the target) * 8 + relationship. Resources are sorted
 * by title and type, so numeric order is the order of the hash (source title, source type, target title, target type,
 * relationship). 2^53 is enough for 33 million resources.
 */
export function readEdges(sent: JsonValue, resources: ReadResources): ReadEdges {
  const list = edgeList(sent);
  const { list: resourceList } = resources;
  const places = placesOf(resources);
  const count = resourceList.length;
  const codes = new Float64Array(list.length);
  let withExtras: { code: number; text: string }[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const edge = list[index] as JsonValue;
    if (!isObject(edge)) throw invalid(`{:edges [(not (map? ${excerpt(edge)}))]}`);
    const source = placeOf(edge, 'source', places);
    const target = placeOf(edge, 'target', places);
    const place = RELATIONSHIP_PLACES.get(edge['relationship'] as string);
    if (place === undefined) {
      throw invalid(`Edge '${describeEdge(edge)}' has invalid relationship type '${describeRelationship(edge)}'`);
    }
    const code = (source * count + target) * RELATIONSHIP_BASE + place;
    codes[index] = code;
    // A key that is not stored still counts for the hash.
    if (countKeys(edge) > 3) (withExtras ??= []).push({ code, text: canonicalK(edge, 2) });
  }
  const distinct = sortDistinct(codes);
  const specs = specsOf(resourceList);
  if (withExtras === null) return { texts: edgeTexts(distinct, specs), isPlain: true, codes: distinct, groups: null };
  const plain = sortDistinct(withoutOnce(codes, withExtras));
  const all = new Map<string, number>();
  edgeTexts(plain, specs).forEach((text, index) => {
    all.set(text, plain[index] as number);
  });
  for (const { code, text } of withExtras) all.set(text, code);
  const sorted = [...all].sort((a, b) => a[1] - b[1]);
  return { texts: sorted.map(([text]) => text), isPlain: false, codes: distinct, groups: null };
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

export function sortDistinct(codes: Float64Array): Float64Array {
  const sorted = codes.slice().sort();
  let count = 0;
  for (let index = 0; index < sorted.length; index++) {
    if (index > 0 && sorted[index] === sorted[index - 1]) continue;
    sorted[count++] = sorted[index] as number;
  }
  return sorted.subarray(0, count);
}

export const specsOf = (resources: readonly PlacedResource[]): string[] =>
  resources.map(({ resource }) => specOf(resource));

function edgeTexts(codes: Float64Array, specs: readonly string[]): string[] {
  const texts: string[] = [];
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] as number;
    const source = specs[sourceOf(code, specs.length)] as string;
    const target = specs[targetOf(code, specs.length)] as string;
    texts.push(`${RELATIONSHIP_TEXTS[code % RELATIONSHIP_BASE]}${source},"target":${target}}`);
  }
  return texts;
}

/** Stands for the literal of the certname: no canonical text has it. */
const MARK = '\u0001';

/**
 * The same edges for catalogs of other nodes, whose resources have the same names in the same order but for those titled with
 * the certname. Only of plain edges.
 */
export function sharedEdges({ codes }: ReadEdges, resources: readonly PlacedResource[], certname: string): ReadEdges {
  const specs = resources.map(({ resource }) =>
    isOwn(resource, certname) ? `{"title":${MARK},"type":${quote(resource.type as string)}}` : specOf(resource),
  );
  const pieces = `[${edgeTexts(codes, specs).join(',')}]`.split(MARK).map((piece) => Buffer.from(piece, 'utf8'));
  return { texts: new Pieces(pieces), isPlain: true, codes: codes.slice(), groups: null };
}

/** How often the edges, of which equal ones count once, name a resource titled with the certname. */
export function countOwn({ codes }: ReadEdges, resources: readonly PlacedResource[], certname: string): number {
  if (!resources.some(({ resource }) => isOwn(resource, certname))) return 0;
  const own = resources.map(({ resource }) => (isOwn(resource, certname) ? 1 : 0));
  let count = 0;
  for (const code of codes) {
    count += (own[sourceOf(code, own.length)] as number) + (own[targetOf(code, own.length)] as number);
  }
  return count;
}

function countKeys(object: JsonObject): number {
  let keys = 0;
  for (const _ in object) keys++;
  return keys;
}

function placeOf(edge: JsonObject, end: 'source' | 'target', places: ResourcePlaces): number {
  const spec = edge[end] ?? null;
  // With a further key it is not the name of a resource.
  const name = isObject(spec) && countKeys(spec) === 2 ? spec : null;
  const place = name === null ? undefined : places.get(name['type'] as JsonValue)?.get(name['title'] as JsonValue);
  if (place !== undefined) return place;
  const shown = name === null ? excerpt(spec) : describeSpec(name['type'] ?? null, name['title'] ?? null);
  throw invalid(`Edge '${describeEdge(edge)}' refers to resource '${shown}', which doesnt exist in the catalog.`);
}

/** Groups of edges by the canonical text of what distinguishes them. */
const knownGroups = new TextMemo<DecodedEdges>(GROUP_MEMO_BYTES);

export function edgeGroups(
  edges: ReadEdges,
  list: readonly PlacedResource[],
  resources: readonly DecodedResource[],
  certname: string,
): readonly DecodedEdges[] {
  const { codes, groups: known } = edges;
  if (known !== null && !known.includes(null)) return known as readonly DecodedEdges[];
  const groups: DecodedEdges[] = [];
  const shared: (DecodedEdges | null)[] = [];
  const count = list.length;
  for (let from = 0, to = 0; from < codes.length; from = to) {
    const source = sourceOf(codes[from] as number, count);
    for (to = from + 1; to < codes.length && sourceOf(codes[to] as number, count) === source; ) to++;
    const remembered = known === null ? null : (known[groups.length] as DecodedEdges | null);
    if (remembered !== null) {
      groups.push(remembered);
      continue;
    }
    const { resource } = list[source] as PlacedResource;
    let text = specOf(resource);
    let isShared = !isOwn(resource, certname);
    for (let index = from; index < to; index++) {
      const code = codes[index] as number;
      const target = (list[targetOf(code, count)] as PlacedResource).resource;
      text += `${code % RELATIONSHIP_BASE}${specOf(target)}`;
      isShared &&= !isOwn(target, certname);
    }
    let group = knownGroups.get(text);
    if (group === undefined) {
      group = edgeGroup(codes.subarray(from, to), source, resources);
      knownGroups.set(inOnePiece(text), group, GROUP_BYTES + text.length * GROUP_TEXTS);
    }
    groups.push(group);
    shared.push(isShared ? group : null);
  }
  if (edges.texts instanceof Pieces && known === null) edges.groups = shared;
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

function describeEdge(edge: JsonObject): string {
  const describe = (end: JsonValue): string =>
    isObject(end) ? describeSpec(end['type'] ?? null, end['title'] ?? null) : excerpt(end);
  const { source = null, target = null } = edge;
  return `{:source ${describe(source)}, :target ${describe(target)}, :relationship ${describeRelationship(edge)}}`;
}

const describeRelationship = ({ relationship = null }: JsonObject): string =>
  typeof relationship === 'string' ? `:${relationship}` : excerpt(relationship);
