// The certname among a resource's tags. Catalogs compiled for `node 'x' {}` blocks tag every resource with the node's name; stored
// bodies leave it out, and here it comes back at its place in PuppetDB's set order (spec/commands.md 4.2).

import type { ResourceBody } from './records.ts';
import { tagRank } from './tag-rank.ts';

/** JSON texts of a tag list around each place where a further tag can stand, made once per shared body. */
interface Around {
  readonly ranks: readonly number[];
  readonly before: readonly string[];
  readonly after: readonly string[];
}

const around = new WeakMap<readonly string[], Around>();

function aroundOf(tags: readonly string[]): Around {
  let texts = around.get(tags);
  if (texts === undefined) {
    const quoted = tags.map((tag) => JSON.stringify(tag));
    const before: string[] = [];
    const after: string[] = [];
    for (let i = 0; i <= quoted.length; i++) {
      const left = quoted.slice(0, i).join(',');
      const right = quoted.slice(i).join(',');
      before.push(left === '' ? '[' : `[${left},`);
      after.push(right === '' ? ']' : `,${right}]`);
    }
    texts = { ranks: tags.map(tagRank), before, after };
    around.set(tags, texts);
  }
  return texts;
}

function placeOf(ranks: readonly number[], certname: string): number {
  const rank = tagRank(certname);
  let place = 0;
  while (place < ranks.length && ranks[place]! <= rank) place++;
  return place;
}

/** The tags of the resource on the node of that certname. */
export function tagsOf(body: ResourceBody, certname: string): readonly string[] {
  if (!body.ownTag) return body.tags;
  const place = placeOf(aroundOf(body.tags).ranks, certname);
  return [...body.tags.slice(0, place), certname, ...body.tags.slice(place)];
}

/** The same as JSON text. */
export function tagsJson(body: ResourceBody, certname: string): string {
  if (!body.ownTag) return JSON.stringify(body.tags);
  const texts = aroundOf(body.tags);
  const place = placeOf(texts.ranks, certname);
  return `${texts.before[place]}${JSON.stringify(certname)}${texts.after[place]}`;
}
