import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fingerprints, newKey } from '../../../engine/fingerprint.ts';
import { EngineHost } from '../../../workers/actor/engine-host.ts';
import { collect } from '../../support/collect.ts';
import { submissionOf } from '../../support/commands.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { engineSettings } from '../../support/engine-settings.ts';

test('engine host: nothing refers to the bodies of a batch that is over', async () => {
  const host = new EngineHost({
    dir: temporaryDirectory(),
    slot: 0,
    partitions: 1,
    fingerprints: new Fingerprints(newKey()),
    settings: engineSettings,
    guard: (work) => work(),
  });
  const bodyOf = (seq: number, payload: string): WeakRef<Uint8Array> => {
    const { envelope, body } = submissionOf({ command: 'replace facts', version: 5, certname: 'a', payload });
    const { outcomes } = host.apply([{ seq, envelope, body }], { now: Date.now(), position: seq, held: () => [] });
    assert.equal(outcomes.length, 1);
    return new WeakRef(body);
  };
  const valid = { certname: 'a', environment: 'e', values: { x: 'y'.repeat(1 << 20) }, producer_timestamp: new Date() };
  for (const [seq, payload] of [JSON.stringify(valid), '{'.padEnd(1 << 20)].entries()) {
    const body = bodyOf(seq + 1, payload);
    for (let turns = 0; turns < 5 && body.deref() !== undefined; turns++) {
      await nextTurn();
      collect();
    }
    assert.equal(body.deref(), undefined, payload.slice(0, 10));
  }
  await host.close();
});
