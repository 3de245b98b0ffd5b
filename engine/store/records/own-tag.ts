// The certname among a resource's tags. Catalogs compiled for `node 'x' {}` blocks tag every resource with the node's name; stored
// bodies leave it out, and here it comes back at its place in PuppetDB's set order (spec/commands.md 4.2).

import { ByteNumbers } from '../../byte-numbers.ts';
import { bytesOf } from '../../bytes.ts';
import { tagRank } from './tag-rank.ts';

/** A tag list's JSON text around each place where a further tag can stand: `[`, `"a",` and `,"b"]` and the like. */
export interface TagPlaces {
  readonly ranks: readonly number[];
  readonly before: readonly Uint8Array[];
  readonly after: readonly Uint8Array[];
}

/** A list of tags, without a node's own. */
export class TagList {
  readonly tags: readonly string[];
  #places: TagPlaces | null = null;

  constructor(tags: readonly string[]) {
    this.tags = tags;
  }

  get places(): TagPlaces {
    this.#places ??= placesIn(this.tags);
    return this.#places;
  }
}

/** The same few hundred lists come with every catalog. */
const LISTS_MAX = 2000;
/** What all of them may take, in bytes; and what a tag takes beside its text, with its place. */
const BYTES_MAX = 16 << 20;
const TAG_BYTES = 300;
let size = 0;
let numbers = new ByteNumbers();
let lists: TagList[] = [];
let last = -1;

/** The list whose JSON text lies from `start` to `end`. */
export function tagListAt(bytes: Buffer, start: number, end: number): TagList {
  const number = numbers.of(bytes, start, end, last);
  const known = lists[number];
  if (known !== undefined) {
    last = number;
    return known;
  }
  const list = new TagList(JSON.parse(bytes.toString('utf8', start, end)) as string[]);
  size += (end - start) * 3 + list.tags.length * TAG_BYTES;
  if (number < LISTS_MAX && size <= BYTES_MAX) lists.push(list);
  else {
    size = 0;
    numbers = new ByteNumbers();
    lists = [];
    last = -1;
  }
  return list;
}

/** All places share the text: there are as many as tags. */
function placesIn(tags: readonly string[]): TagPlaces {
  const quoted = tags.map((tag) => JSON.stringify(tag));
  const joined = quoted.join(',');
  const begins = bytesOf(tags.length === 0 ? '[' : `[${joined},`);
  const ends = bytesOf(tags.length === 0 ? ']' : `,${joined}]`);
  const before: Uint8Array[] = [];
  const after: Uint8Array[] = [];
  let at = 1;
  for (let place = 0; place <= quoted.length; place++) {
    before.push(begins.subarray(0, at));
    after.push(ends.subarray(at - 1));
    if (place < quoted.length) at += Buffer.byteLength(quoted[place]!) + 1;
  }
  return { ranks: tags.map(tagRank), before, after };
}

/** Whether the certname is among the tags and can be left out: tags of one rank stand in the order in which they were sent. */
export function hasOwnTag(tags: readonly string[], certname: string): boolean {
  if (!tags.includes(certname)) return false;
  const rank = tagRank(certname);
  return tags.every((tag) => tag === certname || tagRank(tag) !== rank);
}

/** Where the tag of that rank stands. */
export function placeOf(places: TagPlaces, rank: number): number {
  const { ranks } = places;
  let place = 0;
  while (place < ranks.length && ranks[place]! <= rank) place++;
  return place;
}

/** The tags of a list with the node's own among them. */
export function withOwnTag({ tags, places }: Pick<TagList, 'tags' | 'places'>, certname: string): readonly string[] {
  const place = placeOf(places, tagRank(certname));
  return [...tags.slice(0, place), certname, ...tags.slice(place)];
}
