import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type DeadLetterCount, DeadLetters, type DiscardedCommand } from '../../../engine/inbox/dead-letters.ts';
import { silentLog } from '../../../workers/log.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import { CommandMetrics } from '../../../workers/ring/command-metrics.ts';
import { DeadLetterCounts } from '../../../workers/ring/dead-letter-counts.ts';
import { atEnd } from '../../support/endings.ts';
import { until, withTimeout } from '../../support/waiting.ts';

const letter = (seq: number, command: string): DiscardedCommand => ({
  seq,
  envelope: {
    command,
    version: 5,
    certname: 'a',
    producerTimestamp: null,
    received: 1,
    gzip: false,
    uuid: String(seq),
    size: null,
  },
  body: Buffer.from('{}'),
  attempts: [{ time: 1, text: 'why' }],
});

test('dead letters are counted anew when other programs have changed them, and not before', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-letters-'));
  atEnd(t, () => rmSync(dir, { recursive: true, force: true }));
  const letters = new DeadLetters(dir);
  await letters.open();
  const [added] = await letters.put([
    letter(1, 'replace facts'),
    letter(2, 'replace facts'),
    letter(3, 'store report'),
  ]);
  let [looks, counted, failures] = [0, 0, 0];
  const looksOf = async (count: number) => {
    const end = looks + count;
    await until(`${count} looks`, () => looks >= end, 30_000);
  };
  const registry = new MetricsRegistry();
  const metrics = new CommandMetrics(registry);
  const counts = new DeadLetterCounts({
    letters: {
      state: (now) => letters.state(now).finally(() => looks++),
      count: async () => {
        if (failures-- > 0) throw new Error('no count now');
        counted++;
        return letters.count();
      },
    },
    metrics,
    log: silentLog,
    lookMs: 10,
  });
  atEnd(t, () => counts.stop());
  const messages = (of: string) => registry.counter('dlo', `${of}.messages`).count;
  const all = () => ['global', 'replace facts', 'store report'].map(messages);
  await counts.start();
  assert.deepEqual(all(), [3, 2, 1]);
  assert.equal(registry.counter('dlo', 'global.filesize').count, 3 * added!.filesize);

  for (const letter of await letters.find(['1', '3'])) await letters.remove(letter!);
  await until('two have gone', () => all().join() === '1,1,0', 30_000);
  assert.equal(registry.counter('dlo', 'global.filesize').count, added!.filesize);

  // Once the last change is a while ago, looking is enough, but for a count that failed.
  failures = 1;
  for (const folder of ['', ...readdirSync(dir)]) utimesSync(join(dir, folder), 1, 1);
  const unseen = counted;
  await looksOf(5);
  assert.ok(counted > unseen);
  const before = counted;
  await looksOf(3);
  assert.equal(counted, before);
  // What is told is added at once, and counted: here it is not among the letters.
  counts.added('replace facts', { messages: 1, filesize: 10 });
  assert.deepEqual(all(), [2, 2, 0]);
  await until('counted', () => all().join() === '1,1,0', 30_000);
});

test('dead letters: a start waits for their count no longer than a moment, nor does it fail with it', async (t) => {
  const registry = new MetricsRegistry();
  const lines: string[] = [];
  const log = { ...silentLog, warn: (...line: readonly unknown[]) => void lines.push(String(line.at(-1))) };
  const start = async (count: () => Promise<Map<string, DeadLetterCount>>): Promise<void> => {
    const letters = { state: async () => null, count };
    const counts = new DeadLetterCounts({ letters, metrics: new CommandMetrics(registry), log });
    atEnd(t, () => counts.stop());
    await withTimeout(counts.start(), 10_000, 'it is started');
  };
  let give = (_: Map<string, DeadLetterCount>): void => {};
  await start(() => new Promise((resolve) => (give = resolve)));
  give(new Map([['replace facts', { messages: 7, filesize: 70 }]]));
  await until('they are counted', () => registry.counter('dlo', 'replace facts.messages').count === 7);
  await start(() => Promise.reject(new Error('no count now')));
  assert.deepEqual(lines, ['the dead letters cannot be counted: no count now']);
});
