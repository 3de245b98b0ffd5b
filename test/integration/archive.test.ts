// An export imports again: another server then gives the same answers. Needs no packages, so it runs everywhere;
// migration.test.ts does the same with a real PuppetDB at the other end.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../support/endings.ts';
import { muster } from '../support/muster.ts';
import { outputOf } from '../support/programs.ts';
import { TestServer } from '../support/server.ts';
import { assertSameContents, contentsOf } from './support/contents.ts';
import { oddCommands, oddName } from './support/odd-node.ts';

const fill = fileURLToPath(new URL('../../dist/perf/fill.js', import.meta.url));
/** The fleet's runs took place at times of their own. */
const keepAll = ['--node-ttl', '0s', '--report-ttl', '3650d'];

const node = (script: string, ...args: string[]) => outputOf(process.execPath, [script, ...args], { maxMs: 60_000 });

test('an archive holds what queries show: imported elsewhere, and once more, it gives the same answers', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-archive-'));
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }));
  const source = await TestServer.start(t, { args: keepAll });
  const fleet = ['--nodes', '4', '--runs', '2', '--resources', '20-60', '--quiet'];
  await node(fill, '--url', source.url, ...fleet);
  for (const command of oddCommands(Date.now() - 60_000)) await source.apply(command);

  const file = join(folder, 'all.tgz');
  await node(muster, 'export', '--url', source.url, file);
  const target = await TestServer.start(t, { args: keepAll });
  const expected = await contentsOf(source.url, { factsetHashes: false });
  assert.ok(expected.get('nodes')?.some((row) => row.includes(oddName)));
  for (const time of ['first', 'second']) {
    await node(muster, 'import', '--url', target.url, file);
    assertSameContents(await contentsOf(target.url, { factsetHashes: false }), expected);
    assert.equal((await target.query('reports')).length, expected.get('reports')?.length, time);
  }
});
