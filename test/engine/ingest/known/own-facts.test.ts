// Facts that a node had before are known by its copies: whatever comes, goes and changes its place, what is stored is what was sent last,
// and equal facts are one body.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyPrepared, prepare } from '../../../../engine/ingest/apply.ts';
import type { QueuedCommand } from '../../../../engine/ingest/command/types.ts';
import { OwnFacts } from '../../../../engine/ingest/known/own-facts.ts';
import { storedText } from '../../../../engine/json/stored.ts';
import type { JsonValue } from '../../../../engine/json/value.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { at, factsPayload, SETTINGS, submit } from '../support.ts';

const CERTNAMES = ['one', 'two'];
/** More than are passed over to find one. */
const NAMES = Array.from({ length: 150 }, (_, index) => `fact_${index}`);

type Values = Readonly<Record<string, JsonValue>>;
const value = fc.oneof(
  fc.constantFrom<JsonValue>('a', 'é', 1, 1.5, true, null, { b: 1, aa: [2] }, 'long'.repeat(200)),
  fc.nat(3).map((number) => `own ${number}`),
);
const values: fc.Arbitrary<Values> = fc.oneof(
  fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 20 }),
  fc.dictionary(fc.constantFrom(...NAMES), value, { minKeys: 120 }),
);
const batches = fc.array(fc.array(fc.tuple(fc.constantFrom(...CERTNAMES), values), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 6,
});

/** By name, the stored texts that a node has. */
function factsOf(partition: Partition, certname: string): Record<string, string> {
  const view = partition.snapshot();
  try {
    const list = view.facts.list(view.nodeId(certname));
    const bodies = Array.from({ length: list.length / 2 }, (_, index) => view.facts.body(list[index * 2 + 1]!));
    return Object.fromEntries(bodies.map(({ name, value }) => [name, value]));
  } finally {
    view.close();
  }
}

test('own facts: what is stored is what was sent last, and equal facts are one body', async () => {
  let minute = 0;
  const command = (certname: string, values: Values): QueuedCommand =>
    submit('replace facts', factsPayload({ certname, values, producer_timestamp: at(++minute) }), { certname });
  const dir = mkdtempSync(join(tmpdir(), 'own-facts-'));
  let stores = 0;
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const partition = openPartition(join(dir, String(++stores)));
      const last = new Map<string, Values>();
      for (const sent of all) {
        partition.write((batch) => {
          for (const [certname, values] of sent) {
            const prepared = prepare(batch, command(certname, values), SETTINGS);
            assert.equal(applyPrepared(batch, prepared, SETTINGS).kind, 'processed');
            last.set(certname, values);
          }
        });
        const distinct = new Set<string>();
        for (const [certname, values] of last) {
          const expected = Object.entries(values).map(([name, json]) => [name, storedText(json)] as const);
          for (const fact of expected) distinct.add(fact.join('\n'));
          assert.deepEqual(factsOf(partition, certname), Object.fromEntries(expected));
        }
        const view = partition.snapshot();
        assert.equal(view.facts.ids().length, distinct.size);
        view.close();
      }
      await partition.close();
    }),
    { numRuns: 60 },
  );
  rmSync(dir, { recursive: true });
});

test('own facts: of one node after the other its own are found', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'own-facts-'));
  const partition = openPartition(dir);
  const stored = { a: { one: 'a', two: 'a' }, b: { one: 'b', two: 'b' } };
  partition.write((batch) => {
    for (const [certname, values] of Object.entries(stored)) {
      const prepared = prepare(batch, submit('replace facts', factsPayload({ certname, values })), SETTINGS);
      assert.equal(applyPrepared(batch, prepared, SETTINGS).kind, 'processed');
    }
  });
  partition.write((batch) => {
    const own = new OwnFacts();
    for (const certname of ['a', 'b', 'a']) {
      own.of(batch, batch.view.nodeId(certname));
      const items = ['one', 'two'].map((name) => own.find(batch.nameId(name), JSON.stringify(certname)));
      assert.deepEqual(
        items.map((item) => item !== 0 && batch.view.facts.body(item)),
        ['one', 'two'].map((name) => ({ name, value: JSON.stringify(certname) })),
        certname,
      );
    }
  });
  await partition.close();
  rmSync(dir, { recursive: true });
});
