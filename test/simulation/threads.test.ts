// Threads die, the process lives: actor threads are ended at random moments under load, query threads in the middle of
// answers. In one process, because nobody outside can reach a thread.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Asker, askRows } from '../../server/ops/questions/internal-query.ts';
import type { Log } from '../../workers/log.ts';
import { ThreadQueryPool } from '../../workers/queries/query-pool.ts';
import { queryPoolLimits } from '../../workers/queries/query-pool-options.ts';
import { startRing } from '../../workers/ring/start-ring.ts';
import { SubmissionRefused } from '../../workers/types.ts';
import { checkStore } from '../support/check-store.ts';
import { atEnd } from '../support/endings.ts';
import { engineSettings } from '../support/engine-settings.ts';
import { allOpen } from '../support/partitions.ts';
import { querySettings } from '../support/query-settings.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { pause, until } from '../support/waiting.ts';
import { checkIndexes } from './checks.ts';
import { Fleet, type Target } from './fleet.ts';
import { type Asked, listAll, statesOf } from './model.ts';

const THREADS = 2;

function asked(asker: Asker): Asked {
  return {
    query: async <Row>(route: string, query?: unknown): Promise<Row[]> => {
      const rows: Row[] = [];
      const question = { path: `/${route}`, ...(query === undefined ? {} : { query: query as never }) };
      for await (const text of askRows(asker, question)) rows.push(JSON.parse(text) as Row);
      return rows;
    },
  };
}

test('threads: killed actors and query threads lose nothing, repeat nothing and tear nothing', async (t) => {
  const kills = testNumber('MUSTER_KILLS', 8);
  const random = new Random(testSeed('threads'));
  const dir = mkdtempSync(join(tmpdir(), 'muster-threads-'));
  atEnd(t, () => rmSync(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  const write = (...line: readonly [...object[], string]): void => void lines.push(line.at(-1) as string);
  const log: Log = { debug: write, info: write, warn: write, error: write, isLevelEnabled: () => true };
  const ring = await startRing({ dir, engine: engineSettings, partitions: 4, threads: THREADS, log });
  atEnd(t, () => ring.stop());
  const pool = new ThreadQueryPool({ dir, threads: 2, limits: queryPoolLimits, log });
  atEnd(t, () => pool.stop());
  pool.open();
  const asker: Asker = { pool, querySettings: () => ({ ...querySettings, now: Date.now() }) };

  let running = true;
  const target: Target = {
    get running() {
      return running;
    },
    submit: async ({ command, version, certname, producerTimestamp, payload }, { gzip, wait }) => {
      const bytes = Buffer.from(payload);
      const envelope = {
        uuid: randomUUID(),
        command,
        version,
        certname,
        received: Date.now(),
        producerTimestamp: Date.parse(producerTimestamp!),
        gzip,
        size: null,
      };
      const body = Uint8Array.from(gzip ? gzipSync(bytes, { level: 1 }) : bytes);
      try {
        const { outcome } = await ring.submit({ envelope, body }, wait);
        if (outcome !== null) assert.equal((await outcome).kind, 'processed');
        return true;
      } catch (error) {
        if (error instanceof SubmissionRefused) return false;
        throw error;
      }
    },
  };
  const fleet = new Fleet(target, random);
  const clients = fleet.run();
  // Readers see whole nodes only, whatever dies; an answer may fail, as long as it says so.
  let answers = 0;
  let failures = 0;
  const reading = (async () => {
    while (running) {
      try {
        const rows = await asked(asker).query<{ certname: string; parameters: { count?: number } }>('resources', [
          '=',
          'node_state',
          'any',
        ]);
        const counts = new Map<string, number>();
        for (const row of rows) counts.set(row.certname, (counts.get(row.certname) ?? 0) + 1);
        for (const { certname, parameters } of rows) {
          if (parameters.count !== undefined) assert.equal(counts.get(certname), parameters.count, certname);
        }
        answers++;
      } catch (error) {
        if ((error as Error).name !== 'QuestionFailed' && !(error instanceof SyntaxError)) throw error;
        failures++;
      }
    }
  })();
  await until('the first answer', () => answers > 0, 30_000);
  const deaths = (): number => lines.filter((line) => /^actor \d+ died/.test(line)).length;
  for (let kill = 1; kill <= kills; kill++) {
    // Pauses between starts grow: more than a few kills of one thread take their time.
    await allOpen(ring, 60_000);
    await pause(random.between(0, 120));
    ring.killActor(random.below(THREADS));
    await until('the thread is gone', () => deaths() === kill, 30_000);
    if (random.chance(0.4)) void pool.killThread();
  }
  // The last ones may come back before the end.
  await pause(200);
  running = false;
  await clients;
  await reading;
  await until('every command is processed', () => ring.depth === 0, 30_000);
  await allOpen(ring, 30_000);
  const listing = await listAll(asked(asker));
  await fleet.settle(statesOf(listing));
  await until('what was sent again is processed', () => ring.depth === 0, 30_000);
  await checkIndexes(asked(asker), await listAll(asked(asker)), random);
  const givenUp = lines.filter((line) => line.includes('dead letters'));
  assert.deepEqual(givenUp, [], 'a command was given up that was not to blame');
  const seqs = lines.map((line) => /^\[(\d+)-.*processed/.exec(line)?.[1]).filter((seq) => seq !== undefined);
  assert.equal(new Set(seqs).size, seqs.length, 'a command was applied twice');
  t.diagnostic(
    `${deaths()} actors died; ${fleet.acknowledged} acknowledged; ${answers} answers, ${failures} failed ones`,
  );
  assert.ok(answers > 0);
  await pool.stop();
  await ring.stop();
  assert.deepEqual(await checkStore(dir), []);
});
