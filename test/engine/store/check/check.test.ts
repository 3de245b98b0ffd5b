// What `muster check` tells of copies that do not fit what they are copies of, of memos that nobody can use,
// and of resources by what nobody can know them.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { dataFileOf, partitionDir } from '../../../../engine/store/file/layout.ts';
import { openStoreInfo } from '../../../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import { encodeEvents, eventRange } from '../../../../engine/store/records/event-record.ts';
import type { EventRecord } from '../../../../engine/store/records/records.ts';
import type { MemoKind } from '../../../../engine/store/records/tables.ts';
import { MomentBlock } from '../../../../engine/store/reports/report-moments.ts';
import { StatusBlock } from '../../../../engine/store/reports/report-statuses.ts';
import { decodeState, encodeState, STATE } from '../../../../engine/store/state.ts';
import { checkStore } from '../../../support/check-store.ts';
import { reportRecord } from '../report-records.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** A store with a node that has a fact, and what is to be done to it; what the check tells then. */
async function problemsAfter(
  change: (partition: Partition, node: number) => void,
  damage: (file: string) => void = () => {},
): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'muster-check-'));
  dirs.push(dir);
  openStoreInfo(dir, { partitions: 1 });
  const partition = openPartition(partitionDir(dir, 0));
  const node = partition.write((batch) => {
    const id = batch.createNode('a.example.com');
    const item = batch.facts.intern({ name: 'kernel', value: '"Linux"' }).id;
    batch.setFacts(id, Uint32Array.from([batch.nameId('kernel'), item]));
    batch.addFactPath('string', ['kernel']);
    const factset = { environment: null, producer: null, producerTimestamp: 1, timestamp: 1, hash: 'a'.repeat(40) };
    batch.putNode(id, { ...batch.node(id)!, factset });
    return id;
  });
  change(partition, node);
  await partition.flush();
  await partition.close();
  damage(dataFileOf(partitionDir(dir, 0)));
  return checkStore(dir);
}

/** The same with the node's copies changed. */
const problemsWith = (change: (copies: Buffer) => Buffer): Promise<string[]> =>
  problemsAfter((partition, node) => {
    const table = partition.facts.tables.copy!;
    table.putSync(node, change(Buffer.from(table.get(node) as Buffer)));
  });

test('check: copies that fit are sound', async () => {
  assert.deepEqual(await problemsWith((copy) => copy), []);
});

test('check: a copy that differs from its body, of a fact that the node does not have, or cut off, is told', async () => {
  const differs = await problemsWith((copy) => {
    copy[copy.length - 2]! ^= 1;
    return copy;
  });
  assert.deepEqual(differs, ['partition 0: fact item 1: its copy for node 1 differs']);
  const foreign = await problemsWith((copy) => {
    copy.writeUInt32LE(7, 0);
    return copy;
  });
  assert.deepEqual(foreign, ['partition 0: fact item 7 is copied for node 1, which does not have it']);
  const cut = await problemsWith((copy) => copy.subarray(0, copy.length - 1));
  assert.deepEqual(cut, ['partition 0: fact_copy 1 of a.example.com cannot be read: a copy has no end']);
});

test('check: a memo of a node without what it is a memo of, or that cannot be read, is told', async () => {
  const memo = `${'a'.repeat(40)} ${'b'.repeat(40)} values 12 package_inventory 2`;
  const put = (kind: MemoKind, text: string) => (partition: Partition, node: number) =>
    partition.write((batch) => batch.setMemo(kind, node, text));
  assert.deepEqual(await problemsAfter(put('factset', memo)), []);
  assert.deepEqual(await problemsAfter(put('catalog', memo)), ['partition 0: catalog memo of node 1, which has none']);
  assert.deepEqual(await problemsAfter((partition) => put('factset', memo)(partition, 5)), [
    'partition 0: factset memo of node 5, which has none',
  ]);
  assert.deepEqual(await problemsAfter(put('factset', memo.slice(1))), [
    'partition 0: factset memo of node 1 cannot be read',
  ]);
  const ofParts = memo.replace(/\d+$/, (size) => `${size}:${'c'.repeat(32)}`);
  assert.deepEqual(await problemsAfter(put('factset', ofParts)), []);
  assert.deepEqual(await problemsAfter(put('factset', ofParts.slice(0, -1))), [
    'partition 0: factset memo of node 1 cannot be read',
  ]);
});

test('check: what is known of resources that the node does not have, or cannot be found, is told', async () => {
  const body = { type: 'File', hash: 'b'.repeat(40), tags: [], ownTag: false, exported: false, file: null, line: null };
  const withResources = (change: (known: Buffer) => Buffer) =>
    problemsAfter((partition, node) => {
      partition.write((batch) => {
        const items = ['/a', '/b'].map((title) => batch.resources.intern({ ...body, title, parameters: '{}' }).id);
        const known = items.map((item) => ({ digest: String(9 - item).repeat(16), item, flags: 0 }));
        batch.setResources(node, Uint32Array.from(items), known);
        const times = { producerTimestamp: 1, timestamp: 1 };
        const texts = {
          environment: null,
          transactionUuid: null,
          catalogUuid: null,
          codeId: null,
          jobId: null,
          producer: null,
        };
        const catalog = { version: '1', ...texts, ...times, hash: 'c'.repeat(40) };
        batch.putNode(node, { ...batch.node(node)!, catalog });
      });
      const table = partition.tables.resource_known;
      table.putSync(node, change(Buffer.from(table.get(node) as Buffer)));
    });
  assert.deepEqual(await withResources((known) => known), []);
  assert.deepEqual(await withResources((known) => known.fill(9, 16, 17)), [
    'partition 0: resource item 9 is known for node 1, which does not have it',
  ]);
  const [first, second] = [0, 21] as const;
  assert.deepEqual(
    await withResources((known) => Buffer.concat([known.subarray(second), known.subarray(first, second)])),
    ['partition 0: what is known of the resources of node 1 is not in order'],
  );
  assert.deepEqual(await withResources((known) => known.subarray(0, 30)), [
    'partition 0: what is known of the resources of node 1 cannot be read',
  ]);
});

test('check: items of very large ids are in their indexes', async () => {
  const problems = await problemsAfter((partition) => {
    const { state } = partition.tables;
    const now = decodeState(Buffer.from(state.get(STATE) as Buffer));
    now.nextItem['fact'] = 2 ** 31 + 5;
    now.rounds['fact'] = { number: 0, end: 1, limit: 2 ** 32 - 1 };
    state.putSync(STATE, encodeState(now));
    partition.write((batch) => {
      const id = batch.view.nodeId('a.example.com');
      const item = batch.facts.intern({ name: 'kernel', value: '"Other"' }).id;
      assert.equal(item, 2 ** 31 + 5);
      batch.setFacts(id, Uint32Array.from([batch.nameId('kernel'), item]));
    });
  });
  assert.deepEqual(problems, []);
});

test('check: an item whose id would be given out again is told', async () => {
  const problems = await problemsAfter((partition) => {
    const { state } = partition.tables;
    const now = decodeState(Buffer.from(state.get(STATE) as Buffer));
    now.nextItem['fact'] = 1;
    state.putSync(STATE, encodeState(now));
  });
  assert.ok(problems.length > 0);
  for (const problem of problems)
    assert.match(problem, /^partition 0: fact item \d+ has an id that is still to be given out$/);
});

const EVENT: EventRecord = {
  status: 'success',
  timestamp: 1,
  resourceType: 'File',
  resourceTitle: '/a',
  property: 'ensure',
  name: null,
  newValue: '"file"',
  oldValue: '"absent"',
  message: 'made',
  file: null,
  line: 7,
  containmentPath: ['Stage[main]', 'File[/a]'],
  containingClass: null,
  correctiveChange: false,
};

/** Three reports of the node, each with an event. */
function addReports(partition: Partition, nodeId: number): void {
  partition.write((batch) => {
    for (let i = 1; i <= 3; i++) {
      const [certname, hash] = ['a.example.com', String(i).repeat(40)];
      const record = reportRecord({ nodeId, certname, hash, type: 'plan', ...eventRange([EVENT]) });
      batch.reports.add(record, encodeEvents([EVENT]), { logs: null, metrics: null, resources: null });
    }
  });
}

test('check: times that differ from the report of that number, or are of none, are told', async () => {
  const problems = await problemsAfter((partition, node) => {
    addReports(partition, node);
    const moments = partition.tables.report_moments;
    const block = new MomentBlock();
    block.bytes.set(moments.get(0) as Buffer);
    block.set(2, reportRecord({ ...eventRange([EVENT]), endTime: 77 }));
    block.set(4, reportRecord());
    moments.putSync(0, block.bytes);
  });
  assert.deepEqual(problems, [
    'partition 0: report 2: report_moments is wrong about its times',
    'partition 0: report_moments: 4, should be 3',
  ]);
});

test('check: counted events that differ from those of the report of that number, or are of none, are told', async () => {
  const problems = await problemsAfter((partition, node) => {
    addReports(partition, node);
    const statuses = partition.tables.report_statuses;
    const block = new StatusBlock();
    block.bytes.set(statuses.get(0) as Buffer);
    block.set(2, encodeEvents([{ ...EVENT, status: 'noop' }]).columns);
    block.set(4, null);
    statuses.putSync(0, block.bytes);
  });
  assert.deepEqual(problems, [
    'partition 0: report 2: report_statuses is wrong about its events',
    'partition 0: report_statuses: 4, should be 3',
  ]);
});

const replaced = (bytes: Buffer, text: string, by: string): Buffer =>
  Buffer.from(bytes.toString('latin1').replace(text, by), 'latin1');

test('check: records that cannot be read are told one by one, with their tables, keys and certnames', async () => {
  assert.deepEqual(await problemsAfter(addReports), []);
  const problems = await problemsAfter((partition, node) => {
    addReports(partition, node);
    const { report_event, report_event_value } = partition.tables;
    const columns = Buffer.from(report_event.get(1) as Buffer);
    report_event.putSync(1, columns.fill(0xff, 1, 5));
    report_event.putSync(2, replaced(columns.fill(1, 1, 2).fill(0, 2, 5), '"File"', '"\x01\x1b\n"'));
    const values = Buffer.from(report_event_value.get(3) as Buffer);
    report_event_value.putSync(3, replaced(values, 'Stage', '\x07\x9bage'));
    const copies = partition.facts.tables.copy!;
    copies.putSync(node, Buffer.from('garbage'));
    partition.tables.catalog_memo.putSync(node, Buffer.from('no memo'));
  });
  const start = 'partition 0: ';
  assert.deepEqual(
    problems.map((problem) => problem.replace(/(cannot be read: (?:Bad control|.* in JSON)).*/, '$1')),
    [
      `${start}catalog memo of node 1, which has none`,
      `${start}catalog memo of node 1 cannot be read`,
      `${start}fact_copy 1 of a.example.com cannot be read: a copy has no end`,
      `${start}report_event 1 of a.example.com cannot be read: its columns have no end`,
      `${start}report_event 2 of a.example.com cannot be read: Bad control`,
      `${start}report_event_value 3 of a.example.com cannot be read: Bad control`,
    ],
  );
});

test('check: a node or a report that cannot be read is one problem, and what it would count in is none', async () => {
  const node = await problemsAfter((partition, id) => {
    partition.tables.node.putSync(id, Buffer.from('garbage'));
  });
  assert.deepEqual(node, ['partition 0: node 1 of a.example.com cannot be read: it has no certname']);
  const report = await problemsAfter((partition, id) => {
    addReports(partition, id);
    const stored = Buffer.from(partition.tables.report.get(2) as Buffer);
    partition.tables.report.putSync(2, replaced(stored, '"production"', '"produ\\tio"').fill(0x80, 1, 9));
    partition.tables.report_event.removeSync(3);
    partition.tables.report_event_value.removeSync(3);
  });
  assert.equal(report.length, 3);
  assert.match(report[0]!, /^partition 0: report 2 of a\.example\.com cannot be read: /);
  assert.deepEqual(report.slice(1), [
    'partition 0: report 3: 0 events, header 1',
    "partition 0: set 'reports with events' is wrong about 3",
  ]);
});

test('check: garbage within a long value is told in a line, and the check goes on', async () => {
  const targets = Array.from({ length: 500 }, (_, i) => {
    return { relationship: 'contains', targetType: 'File', targetTitle: `/srv/some/folder/${i}` };
  });
  const problems = await problemsAfter(
    (partition, node) => {
      addReports(partition, node);
      partition.write((batch) => {
        const item = batch.edges.intern({ sourceType: 'Class', sourceTitle: 'main', targets }).id;
        batch.setEdges(node, Uint32Array.from([item]));
      });
      partition.tables.report_event.putSync(2, Buffer.from('garbage'));
    },
    (file) => {
      const bytes = readFileSync(file);
      for (let at = bytes.indexOf('/srv/some/folder/300'); at >= 0; ) {
        bytes.set(Buffer.from('\x00\x1b[31m\n\\\u2028\u202e\ufeff'.repeat(40)), at);
        at = bytes.indexOf('/srv/some/folder/300', at);
      }
      writeFileSync(file, bytes);
    },
  );
  for (const problem of problems) assert.match(problem, /^partition 0: [ -~]{1,700}$/);
  const read = problems.filter((problem) => problem.includes('cannot be read'));
  assert.equal(read.length, 2);
  assert.match(read[0]!, /^partition 0: edge_body 1 of a\.example\.com cannot be read: /);
  assert.match(read[1]!, /^partition 0: report_event 2 of a\.example\.com cannot be read: /);
});

test('check: a node that has reports of its agent, and none that is the latest, is told', async () => {
  const problems = await problemsAfter((partition, nodeId) => {
    partition.write((batch) => {
      const record = reportRecord({ nodeId, certname: 'a.example.com', type: 'agent' });
      batch.reports.add(record, null, { logs: null, metrics: null, resources: null });
    });
  });
  assert.deepEqual(problems, ['partition 0: a.example.com: none of its reports is its latest']);
});

test('check: what belongs to a report or a node that is not there is told', async () => {
  const problems = await problemsAfter((partition, node) => {
    addReports(partition, node);
    const { tables } = partition;
    tables.report_event.putSync(7, Buffer.from(tables.report_event.get(1) as Buffer));
    tables.report_event_value.putSync(8, Buffer.from('x'));
    tables.report_lists.putSync(9, Buffer.alloc(8));
    for (const name of ['logs', 'metrics', 'resources'] as const)
      tables[`report_${name}`].putSync(10, Buffer.from('[]'));
    tables.inputs.putSync(5, Buffer.from('[["hiera","a"]]'));
    tables.inputs.putSync(node, Buffer.from('[["hiera",'));
  });
  assert.deepEqual(problems, [
    'partition 0: inputs of a.example.com, which has none',
    'partition 0: inputs 1 of a.example.com cannot be read: Unexpected end of JSON input',
    'partition 0: inputs of node 5, which is not there',
    'partition 0: report_event 7 is of no report',
    'partition 0: report_event_value 8 is of no report',
    'partition 0: report_lists 9 is of no report',
    'partition 0: report_logs 10 is of no report',
    'partition 0: report_metrics 10 is of no report',
    'partition 0: report_resources 10 is of no report',
  ]);
  const values = await problemsAfter((partition, node) => {
    addReports(partition, node);
    partition.write((batch) => batch.reports.setEvents(2, []));
    partition.tables.report_event_value.putSync(2, Buffer.from('x'));
  });
  assert.deepEqual(values, ['partition 0: report_event_value 2 is of no events']);
});

test('check: inputs that a node should have and has not are told', async () => {
  const withInputs = (text: string | null): Promise<string[]> =>
    problemsAfter((partition, node) => {
      partition.write((batch) => {
        const inputs = { catalogUuid: 'u', producerTimestamp: 1, hash: 'd'.repeat(40) };
        if (text !== null) batch.setInputs(node, text);
        batch.putNode(node, { ...batch.node(node)!, inputs });
      });
    });
  assert.deepEqual(await withInputs('[["hiera","a"]]'), []);
  assert.deepEqual(await withInputs(null), ['partition 0: a.example.com: its inputs are not there']);
});

test('check: facts whose names or paths are not registered are told; what no fact has may be registered', async () => {
  const addNested = (partition: Partition, node: number): void => {
    partition.write((batch) => {
      const ids = [batch.nameId('kernel'), batch.facts.intern({ name: 'kernel', value: '"Linux"' }).id];
      const item = batch.facts.intern({ name: 'os', value: '{"name":"a","list":[1,{"x":null}]}' }).id;
      for (const path of [['os'], ['os', 'name'], ['os', 'list', 0], ['os', 'list', 1, 'x']])
        batch.addFactPath(path.length === 1 ? 'json' : 'string', path);
      batch.setFacts(node, Uint32Array.from([...ids, batch.nameId('os'), item]));
    });
  };
  const unused = await problemsAfter((partition, node) => {
    addNested(partition, node);
    partition.write((batch) => {
      batch.nameId('gone');
      batch.addFactPath('string', ['gone', 3]);
    });
  });
  assert.deepEqual(unused, []);
  const missing = await problemsAfter((partition, node) => {
    addNested(partition, node);
    const { fact_name, fact_path } = partition.tables;
    fact_name.removeSync(Buffer.from('kernel'));
    const rows = [...fact_path.getRange({})];
    for (const { key, value } of rows) if (value.toString('utf8').endsWith('"list",1,"x"]')) fact_path.removeSync(key);
  });
  assert.deepEqual(missing, [
    'partition 0: fact item 1: its name "kernel" has no id',
    'partition 0: fact item 2: its path ["os","list",1,"x"] is not registered',
  ]);
  const wrong = await problemsAfter((partition, node) => {
    addNested(partition, node);
    const { fact_name, fact_path } = partition.tables;
    fact_name.putSync(Buffer.from('kernel'), Buffer.from([0, 0, 0, 2]));
    fact_name.putSync(Buffer.from('zone'), Buffer.from([0, 0, 0, 9]));
    fact_path.putSync(Buffer.alloc(16, 1), Buffer.from('["string","kernel"]'));
  });
  assert.deepEqual(wrong, [
    'partition 0: fact_name "os": its id 2 is that of another name',
    'partition 0: fact_name "zone": its id 9 was never given out',
    `partition 0: fact_path ${'01'.repeat(16)}: its key is not the digest of its path`,
    'partition 0: fact item 1: name id 1, that of "kernel" is 2',
  ]);
});
