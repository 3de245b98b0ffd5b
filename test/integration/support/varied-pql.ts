// PQL like that of the conformance cases: words, texts, marks and blanks of one are dropped, doubled, or exchanged for others. Most of it
// is broken.

import type { Random } from '../../support/random.ts';
import { recordedRequests, type VariedQuery } from './varied-queries.ts';

const TOKEN = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\w+\??|\s+|[^\w\s]/g;
const CHANGES_MAX = 3;
const STRETCH_MAX = 6;

const tokensOf = (text: string): string[] => text.match(TOKEN) ?? [];

/** Texts, words and numbers, blanks, marks. */
function kindOf(token: string): number {
  return [/^["']/, /^\w/, /^\s/].findIndex((kind) => kind.test(token));
}

export class VariedPql {
  readonly #random: Random;
  readonly #texts: (readonly string[])[] = [];
  readonly #tokens: string[];

  constructor(random: Random) {
    this.#random = random;
    for (const { path, params } of recordedRequests()) {
      const query = params?.['query'];
      if (path !== '/pdb/query/v4' || typeof query !== 'string' || /^\s*\[/.test(query)) continue;
      this.#texts.push(tokensOf(query));
    }
    this.#tokens = this.#texts.flat();
  }

  next(): VariedQuery {
    const random = this.#random;
    const tokens = [...random.pick(this.#texts)];
    for (let changes = random.between(1, CHANGES_MAX); changes > 0; changes--) this.#change(tokens);
    return { path: '/pdb/query/v4', params: { query: tokens.join('') } };
  }

  #change(tokens: string[]): void {
    const random = this.#random;
    const place = random.below(Math.max(1, tokens.length));
    const token = tokens[place] ?? ' ';
    switch (random.below(5)) {
      case 0:
        tokens.splice(place, 1);
        break;
      case 1:
        tokens.splice(place, 0, token);
        break;
      case 2:
        tokens.splice(place, random.below(2), random.pick(this.#tokens));
        break;
      case 3: {
        const other = random.pick(this.#texts);
        const from = random.below(Math.max(1, other.length));
        tokens.splice(place, random.below(3), ...other.slice(from, from + random.between(1, STRETCH_MAX)));
        break;
      }
      default:
        tokens.splice(place, 1, random.pick(this.#tokens.filter((one) => kindOf(one) === kindOf(token))));
    }
  }
}
