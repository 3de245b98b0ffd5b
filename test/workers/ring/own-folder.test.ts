import assert from 'node:assert/strict';
import { once } from 'node:events';
import { linkSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { requireOwnFolder } from '../../../workers/ring/own-folder.ts';
import { startRing } from '../../../workers/ring/start-ring.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { engineSettings } from '../../support/engine-settings.ts';

/** A folder with these files, by their paths in it; those that end in a slash are folders. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const dir = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    const path = join(dir, name);
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(path, text);
  }
  return dir;
}

test('own folder: what a first start that broke off leaves, and what a start leaves as it is, may be there', async (t) => {
  const dir = folderWith({
    'lost+found/': '',
    'notes/letter': 'mine',
    running: '1\n',
    'store.json.new': '{"format":5,"part',
    'partition-000/': '',
    'partition-001/lost+found/': '',
    'scratch-000/data.mdb': '',
    'scratch-007/partition-000/': '',
    'inbox/0000000001.commands': '',
    'inbox/suspects.json': '[]',
    'discarded/replace_facts/': '',
  });
  const server = createServer().listen(join(dir, 'lock'));
  t.after(() => server.close());
  await once(server, 'listening');
  mkdirSync(join(dir, 'lock.1234abcd'));
  linkSync(join(dir, 'lock'), join(dir, 'lock.1234abcd', '0123456789abcdef'));
  requireOwnFolder(dir);
  requireOwnFolder(join(dir, 'none'));
  requireOwnFolder(folderWith({ 'store.json': '{}', notes: 'mine' }));
  requireOwnFolder(folderWith({ 'partition-000/data.mdb': 'x', notes: 'mine' }));
});

test('own folder: what a start would write over or remove, and is something else, is told', () => {
  const strangers: readonly (readonly [file: string, text: string])[] = [
    ['lock', 'mine'],
    ['lock.1234abcd', 'mine'],
    ['lock/letter', 'mine'],
    ['lock.1234abcd/letter', 'mine'],
    ['running', 'a script that runs'],
    ['store.json.new', 'mine'],
    ['scratch-001', 'a file'],
    ['scratch-001/notes', 'mine'],
  ];
  for (const [file, text] of strangers) {
    const dir = folderWith({ [file]: text, notes: 'mine' });
    const [name] = file.split('/');
    assert.throws(
      () => requireOwnFolder(dir),
      (error: Error) =>
        error.message.startsWith(`${dir} is no data directory`) && error.message.includes(`, but ${name}, `),
      file,
    );
  }
});

test('own folder: nothing is done to one that is refused', async () => {
  const dir = folderWith({ 'scratch-001/notes': 'mine', running: 'mine', lock: 'mine' });
  await assert.rejects(startRing({ dir, engine: engineSettings, threads: 1 }), /is no data directory: .* but lock, /);
  assert.deepEqual(readdirSync(dir, { recursive: true }).sort(), [
    'lock',
    'running',
    'scratch-001',
    'scratch-001/notes',
  ]);
});
