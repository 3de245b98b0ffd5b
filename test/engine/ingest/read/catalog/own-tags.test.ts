// The certname among the tags of a resource that is remembered for all nodes: where it cannot be taken out so that it comes back as
// it was sent, what is stored is what the whole payload says.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { CatalogCommand } from '../../../../../engine/ingest/command/commands.ts';
import { CommandFailure } from '../../../../../engine/ingest/command/errors.ts';
import type { QueuedCommand } from '../../../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../../../engine/ingest/decode.ts';
import type { Recollection } from '../../../../../engine/ingest/read/command-reader.ts';
import { openPartition } from '../../../../../engine/store/partition.ts';
import { tagListAt, withOwnTag } from '../../../../../engine/store/records/own-tag.ts';
import { applyBatch } from '../../../../support/apply.ts';
import { at, catalogPayload, NOTHING_STORED, resource, SETTINGS, submit } from '../../support.ts';

function outcome(command: QueuedCommand, stored: Recollection | null): object {
  try {
    const { hash, contents } = decodeCommand(command, SETTINGS, stored) as CatalogCommand;
    return { hash, bodies: contents(() => 0).resources.map(({ body }) => body) };
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return { kind: error.kind, message: error.message };
  }
}

/** `tags`: JSON texts. */
function catalogOf(certname: string, title: string, tags: readonly string[], minute = 0): QueuedCommand {
  const one = JSON.stringify(resource({ type: 'File', title, tags: 0 })).replace('"tags":0', () => `"tags":[${tags}]`);
  const payload = JSON.stringify(catalogPayload({ certname, resources: 0, producer_timestamp: at(minute) }));
  const text = payload.replace('"resources":0', () => `"resources":[${one}]`);
  return submit('replace catalog', text, { certname });
}

function assertSame(commands: readonly QueuedCommand[]): void {
  commands.forEach((command, index) => {
    assert.deepEqual(outcome(command, NOTHING_STORED), outcome(command, null), `catalog ${index}`);
  });
}

test('own tags: spelled with escapes, beside a title that is the certname', () => {
  const escaped = ['"\\u006fne.example"'];
  assertSame(
    ['one', 'one', 'one', 'two', 'two'].map((name) => catalogOf(`${name}.example`, `${name}.example`, escaped)),
  );
});

test('own tags: a certname that is no tag is refused each time', () => {
  assertSame([1, 2, 3].map(() => catalogOf('Upper.example', '/a', ['"Upper.example"', '"file"'])));
  assertSame(['lower', 'lower', 'lower', 'Upper'].map((name) => catalogOf(name, '/b', [`"${name}"`, '"file"'])));
});

test('own tags: beside one whose place in the set is the same', () => {
  // "al" and "c." have one hash in Java.
  for (const tags of [
    ['"al"', '"c."'],
    ['"c."', '"al"'],
  ])
    assertSame([1, 2, 3].map(() => catalogOf('al', `/${tags}`, tags)));
});

test('own tags: a certname with dollar signs is a name as any other', () => {
  for (const name of ['a$$b', 'a$&b', "a$'b", 'a$`b', '$1'])
    assertSame([1, 2, 3].map(() => catalogOf(name, name, ['"é"'])));
});

test('own tags: what is shown of a node is what it sent, whatever is shared', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'own-tags-'));
  const partition = openPartition(dir);
  t.after(async () => {
    await partition.close();
    rmSync(dir, { recursive: true });
  });
  const long = ['a', 'b', 'c'].map((name) => name.repeat(1100));
  const sent: [certname: string, tags: string[]][] = [
    [long[1]!, [long[0]!]],
    [long[0]!, [long[0]!]],
    [long[2]!, [long[0]!]],
    ['al', ['al', 'c.']],
    ['am', ['c.']],
  ];
  sent.forEach(([certname, tags], minute) => {
    const texts = tags.map((tag) => JSON.stringify(tag));
    applyBatch(partition, [catalogOf(certname, '/c', texts, minute)], SETTINGS);
  });
  const view = partition.snapshot();
  for (const [certname, tags] of sent) {
    const [item] = view.resources.list(view.nodeId(certname));
    const record = view.resources.record(item!);
    assert.deepEqual(record.ownTag ? withOwnTag(record, certname) : record.tags, tags);
  }
  view.close();
});

test('own tags: the places of a list share its text', () => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
  for (const tags of [[], ['a'], ['a', 'é"', 'b\\'], Array.from({ length: 20_000 }, (_, index) => `tag${index}`)]) {
    const json = Buffer.from(JSON.stringify(tags));
    const { before, after } = tagListAt(json, 0, json.length).places;
    assert.equal(before.length, tags.length + 1);
    assert.ok(new Set([...before, ...after].map(({ buffer }) => buffer)).size <= 2);
    for (let place = 0; place <= tags.length; place += tags.length > 100 ? 1999 : 1) {
      const whole = `${text(before[place]!)}"x"${text(after[place]!)}`;
      assert.deepEqual(JSON.parse(whole), tags.toSpliced(place, 0, 'x'));
    }
  }
});
