// How commands are cut into batches must not matter: the same sequence applied in one transaction, in many, or with the
// process gone in between (the partition opened again, the stream replayed from its position) leaves the same state.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { openPartition, type Partition } from '../../../engine/store/partition.ts';
import { applyBatch } from '../../support/apply.ts';
import { testNumber, testSeed } from '../../support/random.ts';
import { stateOf } from './state.ts';
import {
  at,
  catalogPayload,
  event,
  factsPayload,
  reportPayload,
  reportResource,
  resource,
  SETTINGS,
  submit,
} from './support.ts';

const seed = testSeed('batches');
const runs = testNumber('MUSTER_RUNS', 25);

const dir = mkdtempSync(join(tmpdir(), 'batches-'));
const open: Partition[] = [];
after(async () => {
  for (const partition of open) await partition.close();
  rmSync(dir, { recursive: true });
});

let partitions = 0;
const fresh = (): Partition => track(openPartition(join(dir, `p${partitions++}`)));
function track(partition: Partition): Partition {
  open.push(partition);
  return partition;
}
async function reopened(partition: Partition): Promise<Partition> {
  open.splice(open.indexOf(partition), 1);
  await partition.close();
  return track(openPartition(partition.dir));
}

const certname = fc.constantFrom('a', 'b.example.com', 'c');
const minute = fc.integer({ min: 0, max: 6 });
const few = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(item, { maxLength: 4 });
const title = fc.constantFrom('/a', '/b', '/c', '/d');

const facts = fc
  .record({
    certname,
    minute,
    values: fc.dictionary(fc.constantFrom('os', 'kernel', 'load', 'list', '__proto__'), fc.jsonValue({ maxDepth: 2 })),
    packages: fc.option(few(fc.tuple(fc.constantFrom('x', 'y'), fc.constantFrom('1', '2'), fc.constant('apt')))),
  })
  .map(({ certname, minute, values, packages }) =>
    submit(
      'replace facts',
      factsPayload({ certname, producer_timestamp: at(minute), values, package_inventory: packages }),
      { certname },
    ),
  );

const catalog = fc
  .record({
    certname,
    minute,
    titles: fc.uniqueArray(title),
    tags: fc.constantFrom(['file'], ['file', 'a'], ['b.example.com', 'x']),
    mode: fc.constantFrom('0644', 1, 1.5, null),
    line: fc.constantFrom(undefined, null, 3, 4),
  })
  .map(({ certname, minute, titles, tags, mode, line }) => {
    const resources = titles.map((t) =>
      resource({ type: 'File', title: t, tags, parameters: { mode }, ...(line === undefined ? {} : { line }) }),
    );
    const edges = titles.slice(1).map((t) => ({
      source: { type: 'File', title: titles[0] },
      target: { type: 'File', title: t },
      relationship: 'before',
    }));
    return submit('replace catalog', catalogPayload({ certname, producer_timestamp: at(minute), resources, edges }), {
      certname,
    });
  });

const report = fc
  .record({ certname, minute, type: fc.constantFrom('agent', 'plan'), count: fc.integer({ min: 0, max: 2 }) })
  .map(({ certname, minute, type, count }) =>
    submit(
      'store report',
      reportPayload({
        certname,
        type,
        producer_timestamp: at(minute),
        resources: Array.from({ length: count }, (_, i) =>
          reportResource({ resource_title: `/r${i}`, events: [event({ new_value: i })] }),
        ),
        logs: count === 2 ? null : [],
      }),
      { certname },
    ),
  );

const deactivate = fc
  .record({ certname, minute })
  .map(({ certname, minute }) => submit('deactivate node', { certname, producer_timestamp: at(minute) }, { certname }));
const inputs = fc.record({ certname, minute, name: title }).map(({ certname, minute, name }) =>
  submit(
    'replace catalog inputs',
    {
      certname,
      catalog_uuid: '11111111-1111-1111-1111-111111111111',
      producer_timestamp: at(minute),
      inputs: [['hiera', name]],
    },
    { certname },
  ),
);
const expiration = fc
  .record({ certname, minute, facts: fc.boolean() })
  .map(({ certname, minute, facts }) =>
    submit('configure expiration', { certname, producer_timestamp: at(minute), expire: { facts } }, { certname }),
  );
/** Fails when it is carried out: it must leave nothing behind, and not disturb its neighbours. */
const failing = certname.map((name) =>
  submit('replace catalog', catalogPayload({ certname: name, resources: [resource({ exported: null })] }), {
    certname: name,
  }),
);

const sequence = fc
  .array(fc.oneof(facts, catalog, report, deactivate, inputs, expiration, failing), { minLength: 1, maxLength: 30 })
  .map((commands) => commands.map((command, index): QueuedCommand => ({ ...command, seq: index + 1 })));

test('batches: however a sequence is cut, and wherever the process ends, the state is the same', async () => {
  await fc.assert(
    fc.asyncProperty(sequence, fc.infiniteStream(fc.integer({ min: 1, max: 7 })), async (commands, sizes) => {
      const whole = fresh();
      applyBatch(whole, commands, SETTINGS);
      const single = fresh();
      for (const command of commands) applyBatch(single, [command], SETTINGS);
      let cut = fresh();
      while (cut.position < commands.length) {
        const from = commands.findIndex(({ seq }) => seq > cut.position);
        const size = sizes.next().value as number;
        applyBatch(cut, commands.slice(from, from + size), SETTINGS);
        if (size % 3 === 0) cut = await reopened(cut);
      }
      assert.deepEqual(stateOf(single), stateOf(whole));
      assert.deepEqual(stateOf(cut), stateOf(whole));
      for (const partition of [whole, single, cut]) {
        open.splice(open.indexOf(partition), 1);
        await partition.close();
        rmSync(partition.dir, { recursive: true });
      }
    }),
    { seed, numRuns: runs },
  );
});
