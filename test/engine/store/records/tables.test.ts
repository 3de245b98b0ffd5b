// A store that is older than a table, where nobody can write: the table has nothing in it.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fast, openEnvironment, present, raw } from '../../../../engine/store/file/lmdb.ts';
import { FACTS } from '../../../../engine/store/items/dictionaries.ts';
import { Dictionary } from '../../../../engine/store/items/dictionary.ts';
import { RecordBudget } from '../../../../engine/store/items/record-cache.ts';
import { openTables } from '../../../../engine/store/records/tables.ts';
import { readKinds } from '../../../../engine/store/reports/report-kinds.ts';

const dir = mkdtempSync(join(tmpdir(), 'muster-tables-'));
after(() => rmSync(dir, { recursive: true, force: true }));

it('a table that is not there and cannot be made is empty to all that read', async () => {
  const path = join(dir, 'data');
  const writer = openEnvironment({ path, noSubdir: false, maxDbs: 64 });
  const before = writer.openDB<Buffer, Buffer>('environment', { encoding: 'binary', keyEncoding: 'binary' });
  before.putSync(Buffer.from('production'), Buffer.from('production'));
  await writer.close();

  const env = openEnvironment({ path, noSubdir: false, maxDbs: 64, readOnly: true });
  const tables = openTables(env);
  assert.equal(fast(tables.environment, Buffer.from('production'))?.toString(), 'production');
  const { copy, index } = new Dictionary(env, FACTS, new RecordBudget()).tables;
  for (const table of [...Object.values(tables), copy!, index] as (typeof tables.report_kind)[]) {
    if (table === tables.environment) continue;
    const key = Buffer.alloc(8);
    assert.equal(fast(table, key), undefined);
    assert.equal(raw(table, key), undefined);
    assert.equal(present(table, key), false);
    assert.equal(table.get(key), undefined);
    assert.deepEqual([...table.getKeys({})], []);
    assert.deepEqual([...table.getRange({})], []);
    assert.equal(table.getKeysCount({}), 0);
  }
  assert.deepEqual(readKinds(tables.report_kind, {}), []);
  await env.close();
});
