// What the catalogs of a role have in common as a whole: the names of their resources, in the order in which they are sent, and
// their edges. Where both are known, the order of the resources is known too, and the edges need neither be read nor checked:
// their canonical text and the groups they are stored in are those of last time.
//
// Resources titled with the certname (`@@sshkey { $certname: }`) have different names in each catalog. A layout stands for all
// of them when the certname is taken out of names and edges, and comes to stand at the same place of the order.

import { textOf } from '../../../bytes.ts';
import { Pieces } from '../../command/hashes.ts';
import { Sighted } from '../../known/sighted.ts';
import type { Part } from '../../known/spans.ts';
import { countOwn, type ReadEdges, sharedEdges } from './catalog-edges.ts';
import { compareNames, ESCAPES, ordered, type PlacedResource, type ReadResources } from './catalog-resources.ts';
import type { CatalogLists, OrderedLists } from './named-edges.ts';
import { isOwn } from './read-resource.ts';

/** What the layouts remembered in a thread may take, in bytes. */
const LAYOUTS_BYTES = 6 * 1024 * 1024;
/** Longer edges, as they were sent, are not remembered: they would take the place of all others. */
const LAYOUT_BYTES_MAX = 2 * 1024 * 1024;
/** What a layout takes beside the text of its edges, per resource and per edge. */
const BYTES_PER_RESOURCE = 24;
const BYTES_PER_EDGE = 100;
/** About as many layouts as are remembered. */
const SIGHTED_COUNT = 64;

/** The edges of a catalog as they were sent. */
export interface SentEdges {
  /** Equal for equal texts, the own certname apart. */
  readonly key: string;
  /** Whether the certname is taken out of what the key is of. */
  readonly isOwn: boolean;
  /** JSON with its brackets. */
  readonly bytes: Buffer;
}

export function sentEdges(part: Part, certname: string): SentEdges | null {
  const literal = Buffer.from(JSON.stringify(certname));
  const { bytes } = part;
  if (!bytes.includes(literal)) return { key: part.fingerprint, isOwn: false, bytes };
  const key = part.fingerprintWithout(literal, MARK);
  return key === null ? null : { key: `own ${key}`, isOwn: true, bytes };
}
/** Is not in JSON as it stands. */
const MARK = Buffer.from('\u0001');

interface Layout {
  /** Types and titles of the resources as they are sent; a title is null where it is the certname. */
  readonly names: readonly (string | null)[];
  /** By place in order, the place as sent. */
  readonly order: Uint32Array;
  /** Places in order of the resources titled with the certname. */
  readonly own: readonly number[];
  readonly edges: ReadEdges;
  readonly bytes: number;
}

const layouts = new Map<string, Layout>();
const sighted = new Sighted(SIGHTED_COUNT);
let used = 0;

/** The resources (as they were sent) in order, and the edges, when the layout is known. */
export function laidOut(sent: SentEdges, list: readonly PlacedResource[], certname: string): CatalogLists | null {
  const layout = layouts.get(sent.key);
  if (layout === undefined || !hasNames(layout, list, certname)) return null;
  const { order, own, edges } = layout;
  const resources = ordered(list, order);
  for (const place of own) {
    if (!isBetween(resources.list, place)) return null;
  }
  // The least recently used come first.
  layouts.delete(sent.key);
  layouts.set(sent.key, layout);
  return { resources, edges };
}

function hasNames({ names }: Layout, list: readonly PlacedResource[], certname: string): boolean {
  if (names.length !== list.length * 2) return false;
  for (let index = 0; index < list.length; index++) {
    const { resource } = list[index] as PlacedResource;
    // A title may be null itself, and then is nobody's name.
    const title = isOwn(resource, certname) ? null : (resource.title ?? undefined);
    if (resource.type !== names[index * 2] || title !== names[index * 2 + 1]) return false;
  }
  return true;
}

function isBetween(sorted: readonly PlacedResource[], place: number): boolean {
  const at = sorted[place] as PlacedResource;
  const before = sorted[place - 1];
  const after = sorted[place + 1];
  return (before === undefined || compareNames(before, at) < 0) && (after === undefined || compareNames(at, after) < 0);
}

/** A catalog that was read: its layout is remembered when it comes for the second time. */
export function rememberLayout(
  sent: SentEdges,
  list: readonly PlacedResource[],
  { resources, order, edges }: OrderedLists,
  certname: string,
): void {
  if (sent.bytes.length > LAYOUT_BYTES_MAX || !sighted.again(sent.key)) return;
  if (!edges.isPlain || !isExact(sent, resources, edges, certname)) return;
  const names: (string | null)[] = [];
  for (const { resource } of list) {
    const { type, title } = resource;
    if (typeof type !== 'string' || typeof title !== 'string') return;
    names.push(type, isOwn(resource, certname) ? null : title);
  }
  const own: number[] = [];
  resources.list.forEach(({ resource }, place) => {
    if (isOwn(resource, certname)) own.push(place);
  });
  const shared = sharedEdges(edges, resources.list, certname);
  add(sent.key, { names, order, own, edges: shared, bytes: sizeOf(shared, list.length) });
}

/**
 * Whether the certname is exactly where it was taken out, and nothing but a title there: a text may spell it with escapes, too, and then
 * name in the catalogs of other nodes what it names here; and what is a type, a relationship or a key here is none with another certname.
 */
function isExact(
  { isOwn: isTaken, bytes }: SentEdges,
  { list }: ReadResources,
  edges: ReadEdges,
  certname: string,
): boolean {
  const titles = countOwn(edges, list, certname);
  if (!isTaken) return titles === 0;
  const text = textOf(bytes);
  return !ESCAPES.test(text) && text.split(JSON.stringify(certname)).length - 1 === titles;
}

function sizeOf({ texts, codes }: ReadEdges, resources: number): number {
  let size = resources * BYTES_PER_RESOURCE + codes.length * BYTES_PER_EDGE;
  if (texts instanceof Pieces) for (const piece of texts.pieces) size += piece.length;
  return size;
}

function add(key: string, layout: Layout): void {
  used += layout.bytes - (layouts.get(key)?.bytes ?? 0);
  layouts.delete(key);
  layouts.set(key, layout);
  for (const [oldest, { bytes }] of layouts) {
    if (used <= LAYOUTS_BYTES) return;
    used -= bytes;
    layouts.delete(oldest);
  }
}
