// The certname among a resource's tags. Catalogs compiled for `node 'x' {}` blocks tag every resource with the node's name; stored
// bodies leave it out, and here it comes back at its place in PuppetDB's set order (spec/commands.md 4.2).

import { bytesOf } from '../bytes.ts';
import { tagRank } from './tag-rank.ts';

/** A tag list's JSON text around each place where a further tag can stand: `[`, `"a",` and `,"b"]` and the like. */
export interface TagPlaces {
  readonly ranks: readonly number[];
  readonly before: readonly Uint8Array[];
  readonly after: readonly Uint8Array[];
}

/** The same few hundred lists come with every catalog. */
const PLACES_MAX = 2000;
const known = new Map<string, TagPlaces>();

/** Places in a list of tags, given as JSON text. */
export function tagPlaces(text: string): TagPlaces {
  let places = known.get(text);
  if (places === undefined) {
    if (known.size >= PLACES_MAX) known.clear();
    known.set(text, (places = placesIn(JSON.parse(text) as string[])));
  }
  return places;
}

function placesIn(tags: readonly string[]): TagPlaces {
  const quoted = tags.map((tag) => JSON.stringify(tag));
  const before: Uint8Array[] = [];
  const after: Uint8Array[] = [];
  for (let place = 0; place <= quoted.length; place++) {
    const left = quoted.slice(0, place).join(',');
    const right = quoted.slice(place).join(',');
    before.push(bytesOf(left === '' ? '[' : `[${left},`));
    after.push(bytesOf(right === '' ? ']' : `,${right}]`));
  }
  return { ranks: tags.map(tagRank), before, after };
}

/** Where the tag of that rank stands. */
export function placeOf(places: TagPlaces, rank: number): number {
  const { ranks } = places;
  let place = 0;
  while (place < ranks.length && ranks[place]! <= rank) place++;
  return place;
}

/** The tags with the node's own among them. */
export function withOwnTag(tags: readonly string[], certname: string): readonly string[] {
  const rank = tagRank(certname);
  const place = tags.findIndex((tag) => tagRank(tag) > rank);
  return place < 0 ? [...tags, certname] : [...tags.slice(0, place), certname, ...tags.slice(place)];
}
