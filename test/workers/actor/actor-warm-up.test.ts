// What an actor warms up with is what a fleet sends, nobody sees it, and it makes way.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Fingerprints, newKey } from '../../../engine/fingerprint.ts';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { warmUpRuns } from '../../../engine/ingest/warm-up.ts';
import { scratchDir } from '../../../engine/store/file/layout.ts';
import { type ActorWarmUpOptions, warmUpActor } from '../../../workers/actor/actor-warm-up.ts';
import { EngineHost } from '../../../workers/actor/engine-host.ts';
import type { Applied, Guard, PartitionHost } from '../../../workers/actor/partition-host.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { engineSettings } from '../../support/engine-settings.ts';

const NOW = Date.UTC(2026, 10, 25, 12);
const unguarded: Guard = (work) => work();

const openHost = (dir: string): EngineHost =>
  new EngineHost({
    dir,
    slot: 0,
    partitions: 1,
    fingerprints: new Fingerprints(newKey()),
    settings: engineSettings,
    guard: unguarded,
  });

function optionsFor(dir: string, rest: Partial<ActorWarmUpOptions> = {}): ActorWarmUpOptions {
  return {
    dir,
    open: () => openHost(dir),
    batches: warmUpRuns,
    guard: unguarded,
    over: new AbortController().signal,
    now: () => NOW,
    afterMs: 0,
    budgetMs: 60_000,
    ...rest,
  };
}

test('actor warm-up: its commands are those of a fleet: all valid, some new, some unchanged, some changed', async () => {
  const host = openHost(temporaryDirectory());
  const seen = new Map<string, number>();
  for (const commands of warmUpRuns(NOW)) {
    const { outcomes } = host.apply(commands, { now: NOW, position: commands.at(-1)!.seq, held: () => [] });
    for (const [i, outcome] of outcomes.entries()) {
      assert.ok(outcome.kind === 'processed', JSON.stringify(outcome));
      const how = outcome.isFirst ? 'first' : outcome.unchanged ? 'unchanged' : outcome.detail;
      const key = `${commands[i]!.envelope.command}: ${how}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
  }
  for (const kind of ['replace facts', 'replace catalog']) {
    for (const how of ['first', 'unchanged', 'stored']) {
      assert.ok((seen.get(`${kind}: ${how}`) ?? 0) >= 20, `${kind}: ${how} in ${JSON.stringify([...seen])}`);
    }
  }
  assert.ok((seen.get('store report: stored') ?? 0) >= 100);
  assert.deepEqual(
    [...seen.keys()].filter((key) => /stale|duplicate/.test(key)),
    [],
  );
  await host.close();
});

test('actor warm-up: every start does the same', () => {
  const all = (): QueuedCommand[] => [...warmUpRuns(NOW)].flat();
  const bodies = (): string[] => all().map(({ body }) => Buffer.from(body).toString('base64'));
  assert.deepEqual(bodies(), bodies());
  const seqs = all().map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].sort((a, b) => a - b),
  );
});

test('actor warm-up: nothing is left of it, nor of one that was killed', async () => {
  const data = temporaryDirectory();
  const dir = scratchDir(data, 3);
  mkdirSync(join(dir, 'partition-000'), { recursive: true });
  writeFileSync(join(dir, 'partition-000', 'data.mdb'), 'no data file');
  assert.equal(await warmUpActor(optionsFor(dir)), [...warmUpRuns(NOW)].flat().length);
  assert.equal(existsSync(dir), false);
});

test('actor warm-up: ends with the commands at hand when others come, and does not begin then', async () => {
  const dir = scratchDir(temporaryDirectory(), 0);
  const over = new AbortController();
  let batches = 0;
  const open = (): PartitionHost => {
    const host = openHost(dir);
    const apply = host.apply.bind(host);
    host.apply = (...given): Applied => {
      batches++;
      if (batches === 2) over.abort();
      return apply(...given);
    };
    return host;
  };
  assert.equal(await warmUpActor(optionsFor(dir, { open, over: over.signal })), 6);
  assert.equal(batches, 2);
  assert.equal(existsSync(dir), false);
  const begun = performance.now();
  assert.equal(await warmUpActor(optionsFor(dir, { open, over: over.signal, afterMs: 60_000 })), 0);
  assert.ok(performance.now() - begun < 30_000);
  assert.equal(batches, 2);
});

test('actor warm-up: takes no more than its time', async () => {
  const dir = scratchDir(temporaryDirectory(), 0);
  assert.equal(await warmUpActor(optionsFor(dir, { budgetMs: 0 })), 3);
});

test('actor warm-up: what goes wrong ends it', async () => {
  const dir = scratchDir(temporaryDirectory(), 0);
  const open = (): PartitionHost => {
    throw new Error('no room');
  };
  assert.equal(await warmUpActor(optionsFor(dir, { open })), 0);
  const full = (): PartitionHost => {
    const host = openHost(dir);
    host.apply = (): Applied => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    };
    return host;
  };
  assert.equal(await warmUpActor(optionsFor(dir, { open: full })), 0);
  assert.equal(existsSync(dir), false);
});
