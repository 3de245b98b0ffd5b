// The promise of an acknowledgement, tried with SIGKILL: what was answered with 200 is applied, exactly once; what was not
// is applied whole or not at all; indexes and counters agree with the rows, in the running server's answers and in the files.
//
//   npm run crash        the long run: 500 kills, the better part of an hour; MUSTER_KILLS=... for another number
//   MUSTER_SEED=...      the same choices again

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkStore } from '../support/check-store.ts';
import { replaceCatalog, resourcesOf, storeReport } from '../support/commands.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { TestServer } from '../support/server.ts';
import { pause } from '../support/waiting.ts';
import { checkAppliedOnce, checkCounters, checkIndexes, checkQuiet } from './checks.ts';
import { Fleet, overHttp } from './fleet.ts';
import { listAll, statesOf } from './model.ts';

const DAY = 86_400_000;

test('crash: 200 acknowledged commands are all there after a kill', async (t) => {
  const server = await TestServer.start(t);
  const time = Date.now() - DAY;
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      server.submit(storeReport(`node-${i % 20}`, i, time + i), { gzip: i % 2 === 0 }),
    ),
  );
  await server.kill();
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  await server.start();
  await server.drained();
  const { reports } = await listAll(server);
  const versions = reports.map((report) => Number(report.configuration_version)).sort((a, b) => a - b);
  assert.deepEqual(
    versions,
    Array.from({ length: 200 }, (_, i) => i),
  );
  checkAppliedOnce(server);
  await server.stop();
  assert.deepEqual(await checkStore(server.dir), []);
});

test('crash: 200 acknowledged commands survive a kill in the middle of a batch', async (t) => {
  const server = await TestServer.start(t);
  const time = Date.now() - DAY;
  const size = 150;
  // Large catalogs, so that the last acknowledgement comes while most of them still wait.
  const commands = Array.from({ length: 200 }, (_, i) => replaceCatalog(`node-${i}`, i + 1, time + i, size));
  const answers = await Promise.all(commands.map((command) => server.submit(command)));
  await server.kill();
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const before = checkAppliedOnce(server);
  assert.ok(before < 200, `all ${before} commands had been applied before the kill`);
  const from = server.logLines().length;
  await server.start();
  await server.drained();
  const replayed = checkAppliedOnce(server, from);
  assert.ok(replayed > 0, 'nothing was replayed');
  t.diagnostic(`${before} applied before the kill, ${replayed} after it`);
  const counts = await server.query<{ certname: string; count: number }>('resources', [
    'extract',
    ['certname', ['function', 'count']],
    ['~', 'certname', '.'],
    ['group_by', 'certname'],
  ]);
  const found = new Map(counts.map(({ certname, count }) => [certname, count]));
  for (let i = 0; i < 200; i++) {
    assert.equal(found.get(`node-${i}`), resourcesOf(`node-${i}`, i + 1, size).length, `resources of node-${i}`);
  }
  await server.stop();
  assert.deepEqual(await checkStore(server.dir), []);
});

/** So many kills one store lives through: its reports add up, and every round reads them all. */
const KILLS_OF_A_STORE = 100;

test('crash: kills at random moments lose nothing, repeat nothing and tear nothing', async (t) => {
  const kills = testNumber('MUSTER_KILLS', 8);
  const random = new Random(testSeed('crash'));
  const counts = { kills: 0, acknowledged: 0, unanswered: 0, refused: 0, applied: 0, replayed: 0 };
  while (counts.kills < kills) {
    const server = await TestServer.start(t, { args: ['--partitions', '4', '--command-threads', '2'] });
    const fleet = new Fleet(overHttp(server), random);
    const last = Math.min(kills, counts.kills + KILLS_OF_A_STORE);
    while (counts.kills < last) {
      counts.kills++;
      counts.replayed += await killAndCompare(server, fleet, random, kills < 20 || counts.kills % 4 === 0);
      if (counts.kills % 25 === 0) console.log(`# ${counts.kills} kills`);
    }
    await fleet.settle(statesOf(await listAll(server)));
    await server.drained();
    checkQuiet(server);
    assert.equal(await server.stop(), 0);
    assert.deepEqual(await checkStore(server.dir), []);
    counts.applied += checkAppliedOnce(server);
    counts.acknowledged += fleet.acknowledged;
    counts.unanswered += fleet.unanswered;
    counts.refused += fleet.refused;
    const texts = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
    console.log(`# ${texts.join(', ')}; nothing found wrong`);
    await server.dispose();
  }
  assert.ok(counts.unanswered > 0, 'no kill met a command on its way');
});

/** One kill under load, one start, and everything compared; returns how many commands the start replayed. */
async function killAndCompare(
  server: TestServer,
  fleet: Fleet,
  random: Random,
  looksAtFiles: boolean,
): Promise<number> {
  const running = fleet.run();
  await pause(random.between(20, 700));
  await server.kill();
  await running;
  if (looksAtFiles) assert.deepEqual(await checkStore(server.dir), [], 'files after the kill');
  const from = server.logLines().length;
  await server.start();
  await server.drained();
  const replayed = checkAppliedOnce(server, from);
  await fleet.settle(statesOf(await listAll(server)));
  await server.drained();
  const after = await listAll(server);
  await checkIndexes(server, after, random);
  await checkCounters(server, after);
  return replayed;
}
