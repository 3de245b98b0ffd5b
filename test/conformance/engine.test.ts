// The recorded query cases, asked of the engine without a server. What differs deliberately stands in docs/compatibility.md.

import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { askEngine, type EngineUnderTest, openCorpus } from './engine.ts';
import { assertConforming, byArea, excusedCases } from './excused.ts';
import { areas, type ReplayResult } from './replay.mjs';

const dir = fileURLToPath(new URL('.', import.meta.url));
const names = areas(dir, 'cases')
  .map(({ area }) => area)
  .filter((area) => area !== 'http');

describe('engine: recorded answers', () => {
  let engine: EngineUnderTest;
  let results: Map<string, ReplayResult[]>;
  before(() => {
    engine = openCorpus(dir);
    results = byArea(askEngine(engine, dir));
  });
  after(() => engine.close());

  for (const area of names) {
    it(`${area}: every case is answered as recorded`, () => {
      assertConforming(results.get(area) ?? [], excusedCases());
    });
  }
});
