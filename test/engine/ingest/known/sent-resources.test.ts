// Resources that are known by what the node sent before: what comes of a catalog is what comes of it where nothing is known.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { applyPrepared } from '../../../../engine/ingest/apply.ts';
import type { CatalogCommand } from '../../../../engine/ingest/command/commands.ts';
import { CommandFailure } from '../../../../engine/ingest/command/errors.ts';
import type { ApplyOutcome, QueuedCommand } from '../../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../../engine/ingest/decode.ts';
import { SentResources } from '../../../../engine/ingest/known/sent-resources.ts';
import type { Recollection } from '../../../../engine/ingest/read/command-reader.ts';
import type { Batch } from '../../../../engine/store/batch.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { at, catalogPayload, NOTHING_STORED, SETTINGS, submit } from '../support.ts';

const dir = mkdtempSync(join(tmpdir(), 'known-'));
const opened: Partition[] = [];
after(async () => {
  for (const partition of opened) await partition.close();
  rmSync(dir, { recursive: true });
});

function partitionOf(): Partition {
  const partition = openPartition(join(dir, `p${opened.length}`));
  opened.push(partition);
  return partition;
}

/** How many resources were looked for, and found. */
interface Counts {
  asked: number;
  found: number;
}

const recollecting = (batch: Batch, counts: Counts): Recollection => ({
  ...NOTHING_STORED,
  resources: (certname) => {
    const known = batch.knownResources(certname);
    const memory = known === null ? null : new SentResources(batch, known);
    return {
      find: (digest) => {
        const found = memory?.find(digest) ?? null;
        counts.asked++;
        if (found !== null) counts.found++;
        return found;
      },
    };
  },
});

function apply(partition: Partition, command: QueuedCommand, counts: Counts | null): ApplyOutcome | string {
  try {
    return partition.write((batch) => {
      const stored = counts === null ? null : recollecting(batch, counts);
      const decoded = decodeCommand(command, SETTINGS, stored);
      return applyPrepared(batch, { kind: 'decoded', seq: command.seq, command: decoded }, SETTINGS);
    });
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return error.message;
  }
}

function resourcesOf(partition: Partition, certname: string): object[] {
  const view = partition.snapshot();
  try {
    const id = view.nodeId(certname);
    return id === 0 ? [] : [...view.resources.list(id)].map((item) => view.resources.body(item));
  } finally {
    view.close();
  }
}

const NAME = 'own.example';
let minute = 0;

/** The name twice beside the tags: a resource of this node only, which no memory of the thread keeps. */
const own = (fields: object) => ({ type: 'File', exported: false, tags: [], ...fields, note: [NAME, NAME] });

/** Stands for a number that is spelled so. */
const numbered = (spelling: string): string => `number ${spelling}`;

function catalogOf(resources: readonly object[], certname = NAME): QueuedCommand {
  const payload = catalogPayload({ certname, resources, edges: [], producer_timestamp: at(++minute) });
  const text = JSON.stringify(payload).replaceAll(/"number ([^"]*)"/g, '$1');
  return submit('replace catalog', text, { certname });
}

test('sent resources: those that did not change are found, those that did are not', () => {
  const partition = partitionOf();
  const first = ['a', 'b', 'c'].map((title) => own({ title, parameters: { ensure: 'file', content: title } }));
  const counts: Counts = { asked: 0, found: 0 };
  apply(partition, catalogOf(first), counts);
  assert.deepEqual(counts, { asked: 3, found: 0 });
  const changed = [first[0]!, own({ title: 'b', parameters: { ensure: 'absent', content: 'b' } }), first[2]!];
  for (const [resources, found] of [
    [changed, 2],
    [[...changed].reverse().slice(0, 2), 2],
    [[...first, ...changed.slice(1, 2).map((one) => ({ ...one, title: 'd' }))], 1],
  ] as const) {
    const now: Counts = { asked: 0, found: 0 };
    const outcome = apply(partition, catalogOf(resources), now) as { hash: string };
    assert.deepEqual(now, { asked: resources.length, found });
    assert.equal(outcome.hash, (decodeCommand(catalogOf(resources), SETTINGS, null) as CatalogCommand).hash);
  }
});

test('sent resources: what a body does not keep is read from the payload each time', () => {
  const lossy = [
    own({ title: 5 }),
    own({ title: 'nul', parameters: { text: 'a\u0000b' } }),
    own({ title: 'ten', parameters: { number: numbered('1e10') } }),
  ];
  const kept = [
    own({ title: 'all', file: '/a.pp', line: 1, parameters: { a: 1.5, list: ['x', 'y'] } }),
    own({ title: 'none' }),
  ];
  const partition = partitionOf();
  for (const round of [0, 1, 2]) {
    const counts: Counts = { asked: 0, found: 0 };
    // One that is new makes the catalog another each time.
    const command = catalogOf([...lossy, ...kept, own({ title: 'round', parameters: { round } })]);
    const outcome = apply(partition, command, counts) as { hash: string };
    assert.deepEqual(counts, { asked: 6, found: round === 0 ? 0 : 2 });
    assert.equal(outcome.hash, (decodeCommand(command, SETTINGS, null) as CatalogCommand).hash);
  }
});

test('sent resources: edges find a resource whose title UTF-8 cannot spell', () => {
  const partition = partitionOf();
  const title = '\ud800';
  const edges = [{ source: { type: 'File', title: 'a' }, target: { type: 'File', title }, relationship: 'contains' }];
  for (const round of [0, 1, 2]) {
    const resources = [own({ title }), own({ title: 'a', parameters: { round } })];
    const payload = catalogPayload({ certname: NAME, resources, edges, producer_timestamp: at(++minute) });
    const outcome = apply(partition, submit('replace catalog', payload), { asked: 0, found: 0 });
    assert.equal((outcome as { detail?: string }).detail, 'stored', String(outcome));
  }
});

test('sent resources: nothing is known of a catalog that went', () => {
  const partition = partitionOf();
  apply(partition, catalogOf([own({ title: 'a' })]), { asked: 0, found: 0 });
  partition.write((batch) => batch.setResources(batch.view.nodeId(NAME), new Uint32Array(0)));
  assert.deepEqual([...partition.tables.resource_known.getKeys()], []);
});

test('sent resources: catalogs one after the other leave what they leave where nothing is known', () => {
  const text = fc.oneof(
    fc.constantFrom('x', 'é', 'a"b', '\\', '\u001f', '\u0000', '\ud800', '😀', NAME, 'a/b', ''),
    fc.string({ unit: 'binary', maxLength: 3 }),
  );
  const scalar = fc.oneof(
    text,
    fc.constantFrom(1, 1.5, 123456789012, null, true),
    fc.constantFrom('1e10', '-0', '-0.0', '1.0', '1E-7', '1e400', '12345678901234567890123').map(numbered),
    fc.double({ noNaN: true }),
  );
  const parameters = fc.dictionary(
    fc.oneof(
      fc.constantFrom('ensure', 'a', 'bb', 'a/b', 'b/a'),
      text.filter((key) => !key.includes('\u0000')),
    ),
    fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(text, scalar, { maxKeys: 3 })),
    { maxKeys: 4 },
  );
  const fields = fc.record(
    {
      title: fc.constantFrom('a', 'b', 'c/d', 'é', '\ud800', NAME, 5),
      type: fc.constantFrom('File', 'Package'),
      exported: fc.boolean(),
      tags: fc.oneof(
        { weight: 6, arbitrary: fc.subarray(['file', 'class', 'profile::a', NAME, 'z']) },
        { weight: 1, arbitrary: fc.constantFrom(null, '', ['b', 'a', 'b']) },
      ),
      file: fc.constantFrom('/a.pp', null, '/b"\\.pp'),
      line: fc.constantFrom(1, null, 200),
      parameters: fc.oneof(
        { weight: 4, arbitrary: parameters },
        { weight: 1, arbitrary: fc.constantFrom(null, [], '') },
      ),
    },
    { requiredKeys: ['title', 'type', 'exported'] },
  );
  /** Which fields of which resource change from one catalog to the next. */
  const histories = fc.array(
    fc.uniqueArray(fields, { selector: ({ title, type }) => `${type} ${title}`, maxLength: 6 }),
    {
      minLength: 2,
      maxLength: 4,
    },
  );
  const knowing = partitionOf();
  const plain = partitionOf();
  const counts: Counts = { asked: 0, found: 0 };
  let run = 0;
  fc.assert(
    fc.property(histories, fc.boolean(), (history, repeats) => {
      const certname = `${run++}.${NAME}`;
      const rename = (resources: readonly object[]): object[] =>
        JSON.parse(JSON.stringify(resources).replaceAll(`"${NAME}"`, JSON.stringify(certname))) as object[];
      let before: object[] = [];
      for (const resources of history) {
        // Some stay as they were.
        const now = repeats ? [...before.slice(0, 3), ...resources.slice(0, 3)] : resources;
        const distinct = [
          ...new Map(
            now.map((one) => [`${(one as { type: string }).type} ${(one as { title: unknown }).title}`, one]),
          ).values(),
        ];
        before = distinct;
        const command = catalogOf(
          rename(distinct).map((one) => ({
            ...one,
            note: [certname, certname],
          })),
          certname,
        );
        assert.deepEqual(apply(knowing, command, counts), apply(plain, command, null));
        assert.deepEqual(resourcesOf(knowing, certname), resourcesOf(plain, certname));
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(counts.found > 20, `${counts.found} of ${counts.asked} found`);
});
