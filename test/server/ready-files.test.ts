// Files that tell scripts that the server is ready, in folders that others may write to.

import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { countRestart, writePorts } from '../../server/ready-files.ts';
import { temporaryDirectory } from '../support/directories.ts';

test('ready files: a link that somebody has put in the way is not followed', () => {
  const folder = temporaryDirectory();
  const own = join(folder, 'own');
  writeFileSync(own, 'precious');
  const file = join(folder, 'file');
  const writers: readonly (readonly [write: () => void, text: string])[] = [
    [() => writePorts(file, [8080, 8081]), '8080\n8081\n'],
    [() => countRestart(file), '8081'],
    [() => countRestart(file), '8082'],
  ];
  for (const [write, text] of writers) {
    symlinkSync(own, `${file}.new`);
    write();
    assert.equal(readFileSync(file, 'utf8'), text);
    assert.equal(lstatSync(file).isFile(), true);
  }
  assert.equal(readFileSync(own, 'utf8'), 'precious');
  assert.deepEqual(readdirSync(folder).sort(), ['file', 'own']);
});
