// The store by itself: what a batch writes, a view reads; what is shared is stored once; what nobody has is gone.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Batch } from '../../../engine/store/batch.ts';
import { rowProblems } from '../../../engine/store/check/check.ts';
import { dataFileOf } from '../../../engine/store/file/layout.ts';
import { Scratch } from '../../../engine/store/file/lmdb.ts';
import { FORMAT_VERSION, openStoreInfo } from '../../../engine/store/file/store-info.ts';
import { FACT_BY_NAME, RESOURCE_BY_TAG, RESOURCE_BY_TYPE_TITLE } from '../../../engine/store/items/dictionaries.ts';
import { BodyRef } from '../../../engine/store/items/refs.ts';
import { openPartition, type PartitionOptions } from '../../../engine/store/partition.ts';
import { FACT, RESOURCE } from '../../../engine/store/records/bodies.ts';
import { Copies } from '../../../engine/store/records/copies.ts';
import type { ItemId, ResourceBody } from '../../../engine/store/records/records.ts';
import { NODES_ALL, NODES_INACTIVE } from '../../../engine/store/records/tables.ts';
import { encodeState, STATE } from '../../../engine/store/state.ts';
import { openPartitions } from '../../../engine/store/store.ts';
import type { View } from '../../../engine/store/view.ts';
import { nativeFunction } from '../../../workers/system/native.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { Random, testSeed } from '../../support/random.ts';
import { until } from '../../support/waiting.ts';
import { heldSnapshots, nextTurn } from './readers.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});
function fresh(options: PartitionOptions = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'muster-store-'));
  dirs.push(dir);
  return openPartition(dir, options);
}

const resource = (title: string, extra: Partial<ResourceBody> = {}): ResourceBody => ({
  type: 'File',
  title,
  hash: 'a'.repeat(40),
  tags: ['file', 'class'],
  ownTag: false,
  exported: false,
  file: null,
  line: 3,
  parameters: '{"ensure": "present"}',
  ...extra,
});

/** What the open file is; empty: it is open no more. */
function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

function addNode(
  batch: Batch,
  certname: string,
  titles: string[],
  extra?: (title: string) => Partial<ResourceBody>,
): number {
  const id = batch.view.nodeId(certname) || batch.createNode(certname);
  batch.setResources(id, Uint32Array.from(titles.map((t) => batch.resources.intern(resource(t, extra?.(t))).id)));
  return id;
}

test('dictionary: equal bodies of many nodes are stored once, and postings lead to every node', async () => {
  const p = fresh();
  p.write((b) => {
    for (let i = 0; i < 5000; i++) addNode(b, `n${i}.example.com`, ['/etc/hosts', `/own/${i}`]);
  });
  const v = p.snapshot();
  assert.equal(v.counts.nodes, 5000);
  assert.equal(v.counts.resources, 10000);
  const shared = v.resources.find(resource('/etc/hosts'));
  assert.notEqual(shared, 0);
  assert.equal(v.resources.nodes(shared).count(), 5000);
  const own = v.resources.find(resource('/own/4321'));
  assert.deepEqual([...v.resources.nodes(own).toArray()], [v.nodeId('n4321.example.com')]);
  assert.equal(v.resources.ids().length, 5001);
  assert.deepEqual(
    [...v.resources.lookup(RESOURCE_BY_TYPE_TITLE, ['File', '/own/17'])],
    [v.resources.find(resource('/own/17'))],
  );
  assert.equal(v.resources.lookup(RESOURCE_BY_TAG, ['class']).length, 5001);
  assert.deepEqual(v.resources.body(shared), resource('/etc/hosts'));
  v.close();
  await p.close();
});

test('dictionary: texts of one index key share it, in any number of chunks and whatever comes and goes', async () => {
  const p = fresh();
  // Half characters have no UTF-8; the long ones begin alike.
  const titles = ['x\ud800', 'x\udc00', 'x\ufffd', 'é', 'l'.repeat(500), `${'l'.repeat(500)}m`, 'x', ''];
  const all = titles.flatMap((title) => Array.from({ length: 700 }, (_, line) => resource(title, { line })));
  const keep = (b: Batch, bodies: readonly ResourceBody[]): void => {
    const id = b.view.nodeId('n') || b.createNode('n');
    b.setResources(id, Uint32Array.from(bodies.map((body) => b.resources.intern(body).id)));
  };
  const check = (bodies: readonly ResourceBody[]): void => {
    const v = p.snapshot();
    for (const [index, title] of titles.entries()) {
      const sharing = index < 3 ? titles.slice(0, 3) : [title];
      const expected = bodies.filter((body) => sharing.includes(body.title)).map((body) => v.resources.find(body));
      assert.deepEqual(
        [...v.resources.lookup(RESOURCE_BY_TYPE_TITLE, ['File', title])],
        expected.sort((a, b) => a - b),
        JSON.stringify(title.slice(0, 8)),
      );
    }
    v.close();
  };
  p.write((b) => keep(b, all));
  check(all);
  const some = all.filter(({ line }, index) => (line! + index) % 3 === 0);
  p.write((b) => keep(b, some));
  check(some);
  p.write((b) => keep(b, all));
  check(all);
  await p.close();
});

test('dictionary: a body that no node has any more is gone with its digest and index entries', async () => {
  const p = fresh();
  p.write((b) => {
    addNode(b, 'a', ['/x', '/y']);
    addNode(b, 'b', ['/x']);
  });
  p.write((b) => addNode(b, 'a', ['/z']));
  let v = p.snapshot();
  assert.equal(v.resources.find(resource('/y')), 0);
  assert.deepEqual([...v.resources.lookup(RESOURCE_BY_TYPE_TITLE, ['File', '/y'])], []);
  assert.deepEqual([...v.resources.nodes(v.resources.find(resource('/x'))).toArray()], [v.nodeId('b')]);
  v.close();
  p.write((b) => addNode(b, 'b', []));
  v = p.snapshot();
  assert.equal(v.resources.find(resource('/x')), 0);
  assert.equal(v.counts.resources, 1);
  v.close();
  await p.close();
});

test('dictionary: every ref to a body is forgotten with it', async () => {
  const p = fresh();
  const body = resource('/etc/motd');
  const give = (certname: string, ref: BodyRef | null): number =>
    p.write((b) => {
      const id = b.view.nodeId(certname) || b.createNode(certname);
      const items = ref === null ? [] : [b.resources.recall(ref) || b.resources.intern(body, ref).id];
      b.setResources(id, Uint32Array.from(items));
      return items[0] ?? 0;
    });
  // The same resource as two compilers write it.
  const refs = [new BodyRef(), new BodyRef()] as const;
  const item = give('a', refs[0]);
  assert.equal(give('b', refs[1]), item);
  p.write((b) => assert.equal(b.resources.recall(refs[0]), item));
  give('a', null);
  give('b', null);
  for (const ref of refs) {
    const again = give('a', ref);
    const v = p.snapshot();
    assert.deepEqual(v.resources.body(again), body);
    assert.deepEqual([...v.resources.nodes(again).toArray()], [v.nodeId('a')]);
    v.close();
  }
  await p.close();
});

test('dictionary: what readers keep by item ids is not taken for that of items that get those ids later', async () => {
  const p = fresh({ itemRange: 8 });
  const reader = openPartition(p.dir, { readOnly: true });
  /** Titles that were read under an id. */
  const known = new Map<number, Set<string>>();
  let round = 0;
  const titles = (): string[] => {
    const v = reader.snapshot();
    const types = v.resources.classes();
    const records = v.resources.reader();
    if (v.itemRound('resource') !== round) {
      round = v.itemRound('resource');
      for (const id of known.keys()) assert.equal(types.get(id), 0, `${id} when ids begin anew`);
    }
    const found = [...v.resources.list(v.nodeId('n'))].map((id) => {
      const { title } = v.resources.body(id);
      assert.equal(v.resources.record(id).string(RESOURCE.title), title);
      assert.equal(records.read(id).string(RESOURCE.title), title);
      const number = types.get(id);
      assert.ok([0, types.add(id, v.resources.record(id))].includes(number), `${id}`);
      assert.ok(id < v.resources.end);
      known.set(id, (known.get(id) ?? new Set()).add(title));
      return title;
    });
    v.close();
    return found;
  };
  const set = (...wanted: string[]): void => {
    p.write((b) => addNode(b, 'n', wanted, (title) => ({ file: title })));
    assert.deepEqual(titles(), wanted);
  };
  set('a', 'b', 'c');
  set('d');
  set('d', 'e', 'f');
  set('g', 'e', 'h');
  set('g', 'e', 'i');
  // The ids begin anew, behind those that are taken.
  for (let run = 0; run < 60; run++) set(...['g', `${run}`, `${run} too`].slice(0, 1 + (run % 3)));
  assert.ok(Math.max(...[...known.values()].map(({ size }) => size)) > 3);
  assert.ok(round > 2, `${round}`);
  assert.ok(Math.max(...known.keys()) < 16, `${Math.max(...known.keys())}`);
  await reader.close();
  await p.close();
});

test('dictionary: what an older snapshot reads under an id that was given out anew is not taken for the new item', async () => {
  const p = fresh({ itemRange: 4 });
  const reader = openPartition(p.dir, { readOnly: true });
  const ofFiles = (title: string): Partial<ResourceBody> => ({ file: title });
  p.write((b) => addNode(b, 'n', ['a'], ofFiles));
  const readings = (v: View): unknown[] => {
    const types = v.resources.classes();
    const records = v.resources.reader();
    return [...v.resources.list(v.nodeId('n')), ...v.resources.list(v.nodeId('m'))].map((id) => {
      const record = v.resources.record(id);
      const number = types.get(id) || types.add(id, record);
      const titles = [
        v.resources.body(id).title,
        record.string(RESOURCE.title),
        records.read(id).string(RESOURCE.title),
      ];
      return [...new Set(titles), number];
    });
  };
  const before = reader.snapshot();
  const [[title, number]] = readings(before) as [[string, number]];
  assert.equal(title, 'a');
  // Goes on until the first id is free, and the next item gets it.
  const first = [...before.resources.list(before.nodeId('n'))];
  p.write((b) => addNode(b, 'n', ['b'], ofFiles));
  let last = '';
  let after = reader.snapshot();
  for (let run = 0; last === '' || after.resources.list(after.nodeId('m'))[0] !== first[0]; run++) {
    assert.ok(run < 20);
    last = `c${run}`;
    p.write((b) => addNode(b, 'm', [last], ofFiles));
    after.close();
    after = reader.snapshot();
    assert.equal((readings(before) as [[string, number]])[0][0], 'a');
  }
  assert.deepEqual([...after.resources.list(after.nodeId('m'))], [...before.resources.list(before.nodeId('n'))]);
  assert.equal((readings(before) as [[string, number]])[0][0], 'a');
  const [[second], [third, other]] = readings(after) as [[string, number], [string, number]];
  assert.deepEqual([second, third], ['b', last]);
  assert.notEqual(other, number);
  assert.equal((readings(before) as [[string, number]])[0][0], 'a');
  before.close();
  after.close();
  await reader.close();
  await p.close();
});

test('dictionary: however many items came and went, ids stay few, also across starts and transactions that fail', async () => {
  const random = new Random(testSeed('item ids'));
  let p = fresh({ itemRange: 16 });
  const nodes = new Map<string, string[]>();
  let made = 0;
  let most = 0;
  const reader = openPartition(p.dir, { readOnly: true });
  const held: { view: View; nodes: Map<string, string[]> }[] = [];
  const look = (v: View, wanted: ReadonlyMap<string, string[]>): void => {
    const ids = new Map<number, string>();
    for (const [certname, titles] of wanted) {
      const list = [...v.resources.list(v.nodeId(certname))];
      const found = list.map((id) => v.resources.body(id).title);
      assert.deepEqual(found, titles);
      list.forEach((id, i) => {
        assert.equal(v.resources.record(id).string(RESOURCE.title), titles[i]);
        assert.equal(ids.get(id) ?? titles[i], titles[i]);
        assert.ok(id < v.resources.end);
        ids.set(id, titles[i]!);
      });
    }
    assert.equal(v.resources.ids().length, ids.size);
  };
  for (let run = 0; run < 400; run++) {
    const certname = `n${random.below(6)}`;
    const kept = (nodes.get(certname) ?? []).filter(() => random.below(3) > 0);
    const titles = [
      ...new Set([
        ...kept,
        ...Array.from({ length: random.below(5) }, () => `t${random.below(4) > 0 ? made++ : random.below(9)}`),
      ]),
    ];
    const fails = random.below(10) === 0;
    const change = (): void =>
      p.write((batch) => {
        addNode(batch, certname, titles);
        if (fails) throw new Error('given up');
      });
    if (fails) assert.throws(change, /given up/);
    else {
      change();
      nodes.set(certname, titles);
    }
    if (random.below(40) === 0) {
      const { dir } = p;
      await p.close();
      p = openPartition(dir, { itemRange: 16 });
    }
    const view = reader.snapshot();
    look(view, nodes);
    for (const { view: older, nodes: then } of held) look(older, then);
    held.push({ view, nodes: new Map(nodes) });
    if (held.length > 4) held.splice(random.below(4), 1)[0]!.view.close();
    most = Math.max(most, view.resources.ids().length);
    assert.ok(view.resources.end <= Math.max(16, 4 * most) + 16, `${view.resources.end} for ${most}`);
  }
  assert.ok(made > 300);
  for (const { view } of held) view.close();
  await reader.close();
  await p.close();
});

test('partition: a batch that throws leaves nothing behind, and readers keep their snapshot', async () => {
  const p = fresh();
  p.write((b) => addNode(b, 'a', ['/x']));
  const before = p.snapshot();
  assert.throws(() =>
    p.write((b) => {
      addNode(b, 'b', ['/x', '/never']);
      throw new Error('no');
    }),
  );
  const v = p.snapshot();
  assert.equal(v.nodeId('b'), 0);
  assert.equal(v.resources.find(resource('/never')), 0);
  assert.equal(v.counts.nodes, 1);
  v.close();
  p.write((b) => addNode(b, 'c', ['/x']));
  assert.equal(before.nodeId('c'), 0);
  assert.equal(before.resources.nodes(before.resources.find(resource('/x'))).count(), 1);
  before.close();
  await p.close();
});

test('partition: what a batch that was given up had stored is stored again by the next one', async () => {
  const p = fresh();
  const [resourceRef, factRef] = [new BodyRef(), new BodyRef()];
  const store = (fails: boolean): number =>
    p.write((b) => {
      const node = b.createNode('a');
      const item = b.resources.recall(resourceRef) || b.resources.intern(resource('/a'), resourceRef).id;
      b.setResources(node, Uint32Array.of(item));
      b.addFactPath('json', ['os']);
      b.addFactPath('string', ['os', 'name']);
      b.setFacts(
        node,
        Uint32Array.of(b.nameId('os'), b.facts.intern({ name: 'os', value: '{"name":"a"}' }, factRef).id),
      );
      if (fails) throw new Error('given up');
      return item;
    });
  assert.throws(() => store(true), /given up/);
  p.write((b) => addNode(b, 'other', ['/other']));
  const item = store(false);
  const v = p.snapshot();
  assert.equal(v.resources.body(item).title, '/a');
  v.close();
  // The nodes have neither catalogs nor factsets.
  const problems = rowProblems(p, () => true).filter((problem) => !problem.includes(' without '));
  assert.deepEqual(problems, []);
  await p.close();
});

test('dictionary: a round that began in a batch that was given up has not begun', async () => {
  const p = fresh({ itemRange: 8 });
  const put = (certname: string, ...titles: string[]): ItemId =>
    p.write((b) => b.resources.list(addNode(b, certname, titles))[0] ?? 0);
  for (let id = 1; id < 7; id++) assert.equal(put('a', `/first${id}`), id);
  put('a');
  // It has the last id of the first round, and goes in the second one, at whose end that is not free.
  const last = put('b', '/last');
  for (let id = 1; id < 7; id++) assert.equal(put('a', `/second${id}`), id);
  put('b');
  assert.throws(
    () =>
      p.write((b) => {
        addNode(b, 'b', ['/next']);
        throw new Error('given up');
      }),
    /given up/,
  );
  assert.notEqual(put('b', '/next'), last);
  await p.close();
});

test('partition: with its first change an older one is of the present format', () => {
  const partition = fresh();
  const { format } = partition.readState({});
  partition.tables.state.putSync(STATE, encodeState({ ...partition.readState({}), format: format - 1 }));
  assert.equal(partition.readState({}).format, format - 1);
  partition.write(() => {});
  assert.equal(partition.readState({}).format, format);
});

test('partition: node sets follow the records, and facts are found by name', async () => {
  const p = fresh();
  const long = 'long'.repeat(200); // its index key ends in a digest
  p.write((b) => {
    const id = b.createNode('a');
    const facts = ['kernel', long, `${long}r`].flatMap((name) => [
      b.nameId(name),
      b.facts.intern({ name, value: '"Linux"' }).id,
    ]);
    b.setFacts(id, Uint32Array.from(facts));
    // Two values of a name are one name.
    const other = b.createNode('b');
    b.setFacts(other, Uint32Array.from([b.nameId('kernel'), b.facts.intern({ name: 'kernel', value: '"BSD"' }).id]));
    b.putNode(id, { ...b.node(id)!, deactivated: 5 });
    b.position = 7;
  });
  await p.flush();
  await p.close();
  const again = openPartition(p.dir);
  const v = again.snapshot();
  assert.equal(v.state.position, 7);
  assert.deepEqual([...v.set(NODES_ALL).toArray()], [1, 2]);
  assert.deepEqual([...v.set(NODES_INACTIVE).toArray()], [1]);
  assert.equal(v.node(1)?.deactivated, 5);
  assert.deepEqual(v.factNames().sort(), ['kernel', long, `${long}r`]);
  const [item] = v.facts.lookup(FACT_BY_NAME, ['kernel']);
  assert.deepEqual([...v.facts.list(1)].slice(0, 2), [v.nameId('kernel'), item]);
  v.close();
  await again.close();
});

/** Names of the facts that the node has copies of; each must be what is stored under its item. */
function copiedFacts(view: View, node: number): string[] {
  const copies = new Copies();
  view.facts.readCopies(node, copies, new Scratch());
  const list = view.facts.list(node);
  const reader = view.facts.reader();
  const names: string[] = [];
  for (let i = 1; i < list.length; i += 2) {
    const start = copies.find(list[i]!);
    if (start === 0) continue;
    const { name, record } = reader.at(copies.bytes, start);
    assert.deepEqual({ name, value: record.text(FACT.value) }, view.facts.body(list[i]!));
    names.push(name);
  }
  return names;
}

test('partition: facts that came with a node are copied beside its list, as long as they are in it', async () => {
  const p = fresh();
  const setFacts = (b: Batch, certname: string, facts: Record<string, string>): number => {
    const id = b.view.nodeId(certname) || b.createNode(certname);
    const pairs = Object.entries(facts).flatMap(([name, value]) => [
      b.nameId(name),
      b.facts.intern({ name, value: JSON.stringify(value) }).id,
    ]);
    b.setFacts(id, Uint32Array.from(pairs));
    return id;
  };
  const copied = (node: number): string[] => {
    const v = p.snapshot();
    try {
      return copiedFacts(v, node);
    } finally {
      v.close();
    }
  };
  const write = (certname: string, facts: Record<string, string>): number =>
    p.write((b) => setFacts(b, certname, facts));

  const a = write('a', { kernel: 'Linux', ip: '10.0.0.1', text: 'é'.repeat(300), uptime: '1 day' });
  assert.deepEqual(copied(a), ['kernel', 'ip', 'uptime'], 'long ones are not copied');
  const b = write('b', { uptime: '2 days', ip: '10.0.0.2', kernel: 'Linux' });
  assert.deepEqual(copied(b), ['uptime', 'ip'], 'nor what was there before');
  write('b', { uptime: '2 days', ip: '10.0.0.2', kernel: 'Linux' });
  assert.deepEqual(copied(b), ['uptime', 'ip']);
  write('b', { ip: '10.0.0.2', kernel: 'BSD', uptime: '3 days' });
  assert.deepEqual(copied(b), ['ip', 'kernel', 'uptime'], 'in the order of the list');
  assert.deepEqual(copied(a), ['kernel', 'ip', 'uptime']);
  write('b', { kernel: 'Linux' });
  assert.deepEqual(copied(b), []);
  assert.equal(p.facts.tables.copy?.get(b), undefined, 'nothing is kept of a node without copies');
  assert.throws(() =>
    p.write((batch) => {
      setFacts(batch, 'b', { ip: '10.0.0.3' });
      throw new Error('taken back');
    }),
  );
  assert.deepEqual(copied(b), []);
  write('a', {});
  assert.equal(p.facts.tables.copy?.get(a), undefined);
  await p.close();
});

test('partition: a closed view holds no snapshot, also when its ranges were left before their end', async () => {
  const p = fresh();
  p.write((b) => {
    for (let i = 0; i < 10; i++) addNode(b, `n${i}.example.com`, ['/etc/hosts']);
    b.setFacts(1, Uint32Array.from([b.nameId('kernel'), b.facts.intern({ name: 'kernel', value: '"Linux"' }).id]));
  });
  const ranges = [
    (v: View) => v.nodesByName(false),
    (v: View) => v.nodesByName(true),
    (v: View) => v.reports.byTime({}),
    (v: View) => v.factPaths(),
  ];
  for (const range of ranges) {
    const v = p.snapshot();
    range(v).next();
    assert.equal(heldSnapshots(p), 1);
    v.close();
    await nextTurn();
    assert.equal(heldSnapshots(p), 0, String(range));
  }
  await p.close();
});

test('partition: a snapshot whose state cannot be read is not held', async () => {
  const p = fresh();
  p.write(() => {});
  const state = p.tables.state.get(STATE)!;
  p.tables.state.putSync(STATE, Buffer.from('no state'));
  assert.throws(() => p.snapshot());
  await nextTurn();
  assert.equal(heldSnapshots(p), 0);
  p.tables.state.putSync(STATE, state);
  p.snapshot().close();
  await p.close();
});

test('store: where one of its partitions cannot be opened nothing stays open', async (t) => {
  if (!existsSync('/proc/self/fd')) return t.skip('open files cannot be seen here');
  const dir = temporaryDirectory();
  const info = openStoreInfo(dir, { partitions: 2 });
  const [first, last] = openPartitions(dir, info);
  const state = encodeState({ ...last!.readState({}), format: FORMAT_VERSION + 1 });
  last!.tables.state.putSync(STATE, state);
  await Promise.all([first!.close(), last!.close()]);
  const open = () => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(dir)).length;
  for (let i = 0; i < 3; i++) assert.throws(() => openPartitions(dir, info), /newer version/);
  await until('all are closed', () => open() === 0);
  assert.throws(() => openPartition(last!.dir), /newer version/);
  await until('it is closed', () => open() === 0);
  // What has the name of a table is none.
  const again = openPartition(first!.dir);
  again.tables.report_period.dropSync();
  again.env.putSync(Buffer.from('report_period\0'), 'no table');
  await again.close();
  assert.throws(() => openPartition(first!.dir), /MDB_INCOMPATIBLE/);
  await until('it is closed, too', () => open() === 0);
});

test('store: files that may not be used are told by their names', async (t) => {
  if (process.getuid === undefined) return t.skip('there are no users here');
  const p = fresh();
  await p.close();
  const module = new URL('../../../engine/store/partition.ts', import.meta.url).href;
  const opened = () => {
    const code = `const { openPartition } = await import(${JSON.stringify(module)});
      if (process.getuid() === 0) process.setuid(65534);
      try { await openPartition(${JSON.stringify(p.dir)}).close(); } catch (error) { console.log(error.message); }`;
    const cwd = new URL('../../..', import.meta.url);
    return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
      cwd,
      encoding: 'utf8',
    });
  };
  const all = (mode: number) => {
    for (const name of readdirSync(p.dir)) chmodSync(join(p.dir, name), mode);
  };
  chmodSync(p.dir, 0o777);
  all(0o666);
  assert.deepEqual([opened().status, opened().stdout], [0, '']);
  for (const name of ['data.mdb', 'lock.mdb']) {
    all(0o666);
    chmodSync(join(p.dir, name), 0o444);
    const { status, stdout } = opened();
    assert.equal(status, 0, stdout);
    assert.match(stdout, new RegExp(`${name} cannot be read and written: EACCES: permission denied`));
  }
  // Where the lock file is missing it has to be made.
  rmSync(join(p.dir, 'lock.mdb'));
  all(0o666);
  chmodSync(p.dir, 0o555);
  assert.match(opened().stdout, /cannot be read and written: EACCES: permission denied/);
  chmodSync(p.dir, 0o700);
});

test('store: a process that is killed while it reads holds no pages back, one that lives does', async () => {
  const p = fresh();
  const writeSome = (): void => {
    for (let run = 0; run < 130; run++) p.write((b) => addNode(b, 'a', [`title ${run}`]));
  };
  writeSome();
  const module = new URL('../../../engine/store/partition.ts', import.meta.url).href;
  const code = `const { openPartition } = await import(${JSON.stringify(module)});
    const view = openPartition(${JSON.stringify(p.dir)}, { readOnly: true }).snapshot();
    process.stdin.on('data', () => process.stdout.write(String(view.nodeId('a'))));
    process.stdout.write('held');`;
  const reader = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    cwd: new URL('../../..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    assert.equal(String((await once(reader.stdout, 'data'))[0]), 'held');
    const size = () => statSync(dataFileOf(p.dir)).size;
    writeSome();
    assert.equal(heldSnapshots(p), 1);
    reader.stdin.write('look');
    assert.equal(String((await once(reader.stdout, 'data'))[0]), '1');
    reader.kill('SIGKILL');
    await once(reader, 'exit');
    writeSome();
    assert.equal(heldSnapshots(p), 0);
    const before = size();
    for (let round = 0; round < 5; round++) writeSome();
    assert.ok(size() <= before * 1.2, `${before} to ${size()} bytes`);
  } finally {
    reader.kill('SIGKILL');
  }
  await p.close();
});

test('partition: where the system lets no more files be opened the reason is told, and the process goes on', (t) => {
  const call = nativeFunction('int prlimit(int pid, int resource, const uint64_t *limits, uint64_t *before)');
  if (process.platform !== 'linux' || call === null) return t.skip('the limit cannot be set here');
  const NOFILE = 7;
  const before = new BigUint64Array(2);
  call(0, NOFILE, null, before);
  const p = fresh();
  const { dir } = p;
  const taken: number[] = [];
  call(0, NOFILE, BigUint64Array.of(BigInt(readdirSync('/proc/self/fd').length + 20), before[1]!), null);
  try {
    assert.throws(() => {
      for (;;) taken.push(openSync(dir, 'r'));
    }, /EMFILE/);
    for (const file of taken.splice(-2)) closeSync(file);
    // A directory of its own: what the process has open already lmdb does not open again.
    assert.throws(() => openPartition(join(dir, 'another')), /EMFILE/);
  } finally {
    call(0, NOFILE, before, null);
    for (const file of taken) closeSync(file);
  }
});

test('partition: the first change of a copy may be a large one', () => {
  // In a process of its own, which LMDB would end.
  const dir = mkdtempSync(join(tmpdir(), 'muster-store-'));
  dirs.push(dir);
  const module = new URL('../../../engine/store/partition.ts', import.meta.url).href;
  const code = `const { openPartition } = await import(${JSON.stringify(module)});
    const fill = (partition, byte) => partition.write((batch) => {
      for (let seq = 1; seq <= 3000; seq++) batch.putRetry(seq, Buffer.alloc(1500, byte));
    });
    const first = openPartition(${JSON.stringify(join(dir, 'first'))});
    fill(first, 1);
    await first.backupTo(${JSON.stringify(join(dir, 'copy'))});
    await first.close();
    const copy = openPartition(${JSON.stringify(join(dir, 'copy'))});
    fill(copy, 2);
    fill(copy, 3);
    process.stdout.write(String(copy.retry(3000)[0]));
    await copy.close();`;
  const { stdout, signal, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', code],
    { cwd: new URL('../../..', import.meta.url), encoding: 'utf8' },
  );
  assert.deepEqual([stdout, signal], ['3', null], stderr);
});

test('partition: its lock file has all of its room from the beginning, as a full disk would end the process later', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'muster-store-'));
  dirs.push(dir);
  const partition = openPartition(dir);
  const { size, blocks, ino } = statSync(join(dir, 'lock.mdb'));
  assert.ok(size > 2000 * 64 && blocks * 512 >= size, `${size} bytes in ${blocks} blocks`);
  // One that is there is left alone: others may have it open.
  const other = openPartition(dir, { readOnly: true });
  assert.equal(statSync(join(dir, 'lock.mdb')).ino, ino);
  await other.close();
  await partition.close();
  assert.deepEqual(readdirSync(dir).sort(), ['data.mdb', 'lock.mdb']);
});

test('partition: it is closed once its flushes are done', async () => {
  const partition = fresh();
  const env = partition.env as unknown as Record<'sync', unknown>;
  let isDone = false;
  env.sync = (done: () => void) =>
    setTimeout(() => {
      isDone = true;
      done();
    }, 50);
  const flushed = partition.flush();
  await partition.close();
  assert.equal(isDone, true);
  await flushed;
});

test('partition: after a sync that failed everything is written again before one is believed', async () => {
  const dir = temporaryDirectory();
  const partition = openPartition(dir);
  partition.write((batch) => void batch.createNode('a.example.com'));
  await partition.flush();
  const file = dataFileOf(dir);
  const written = (): bigint => statSync(file, { bigint: true }).mtimeNs;
  const before = written();
  await partition.flush();
  assert.equal(written(), before, 'nothing to write');

  const env = partition.env as unknown as Record<'sync' | 'transactionSync', unknown>;
  const failing = () => Object.assign(new Error('Input/output error'), { code: 5 });
  env.sync = (done: (error: Error) => void) => done(failing());
  await assert.rejects(partition.flush(), /Input\/output error/);
  delete (env as Partial<typeof env>).sync;
  const bytes = readFileSync(file);
  assert.throws(() => partition.write(() => {}), /could not be flushed; nothing is written until it could/);
  await partition.flush();
  assert.ok(written() > before, 'written again');
  assert.equal(existsSync(join(dir, 'unsynced')), false, 'nor need the next process');
  assert.deepEqual(readFileSync(file), bytes);
  const again = written();
  await partition.flush();
  assert.equal(written(), again, 'once');

  // The sync within a commit; of a full disk the system tells before.
  for (const [code, isWrittenAgain] of [
    [28, false],
    [5, true],
  ] as const) {
    const then = written();
    env.transactionSync = () => {
      throw Object.assign(new Error('failed'), { code });
    };
    assert.throws(() => partition.write(() => {}), /failed/);
    delete (env as Partial<typeof env>).transactionSync;
    await partition.flush();
    assert.equal(written() > then, isWrittenAgain, String(code));
  }
  partition.write((batch) => void batch.createNode('b.example.com'));
  const view = partition.snapshot();
  assert.equal(view.counts.nodes, 2);
  view.close();

  // The system's memory outlives a process that ends between the failure and the flush.
  await partition.flush();
  env.sync = (done: (error: Error) => void) => done(failing());
  await assert.rejects(partition.flush(), /Input\/output error/);
  await partition.close();
  const last = written();
  const reader = openPartition(dir, { readOnly: true });
  assert.equal(written(), last);
  await reader.close();
  await openPartition(dir).close();
  const opened = written();
  assert.ok(opened > last, 'written again when it is opened');
  await openPartition(dir).close();
  assert.equal(written(), opened, 'once');
});
