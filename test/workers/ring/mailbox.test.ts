import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Envelope } from '../../../engine/inbox/envelope.ts';
import { type Entry, Mailbox, newEntry, type Waiter } from '../../../workers/ring/mailbox.ts';
import { envelope } from '../../engine/inbox/support.ts';

let seq = 0;
const entry = (certname: string, rest: Partial<Envelope> = {}, bytes = 10): Entry =>
  newEntry({ seq: ++seq, envelope: envelope(certname, rest), bytes, place: null });

const mailbox = (countMax = 4, sizeMax = 100): Mailbox => new Mailbox({ countMax, sizeMax, workMax: 1000 });

test('mailbox: batches leave in order, bounded in count and bytes', () => {
  const box = mailbox(3, 100);
  const all = [10, 10, 10, 60, 60, 500, 10].map((bytes) => entry('n', {}, bytes));
  for (const one of all) box.push(one);
  assert.equal(box.count, 7);
  assert.equal(box.size, 660);
  const batches: number[][] = [];
  while (box.count > 0) batches.push(box.take().map((one) => all.indexOf(one)));
  assert.deepEqual(batches, [[0, 1, 2], [3], [4], [5], [6]]);
  assert.equal(box.size, 0);
  assert.deepEqual(box.take(), []);
});

test('mailbox: a batch is as much work as it may be, as far as those before it tell, but never a few commands only', () => {
  const box = new Mailbox({ countMax: 200, sizeMax: 1e9, workMax: 100 });
  const next = (): number => {
    while (!box.isPressing) box.push(entry('n'));
    assert.equal(box.count, box.take().length, 'it presses as soon as a batch is full');
    for (let i = 0; i < 300; i++) box.push(entry('n'));
    const { length } = box.take();
    while (box.count > 0) box.take();
    return length;
  };
  const after = (ms: number): number => {
    for (let i = 0; i < 30; i++) box.worked(10, 10 * ms);
    return next();
  };
  assert.equal(after(1.25), 80);
  assert.equal(after(0.81), 123);
  assert.equal(after(0.1), 200, 'no more than are allowed');
  assert.equal(after(50), 64);
  box.worked(0, 0);
  assert.equal(next(), 64, 'a batch of nothing says nothing');
  box.worked(1, 1);
  assert.equal(next(), 64, 'nor does one alone say much');
});

test('mailbox: a newer command makes the waiting one obsolete, an older or equal one is obsolete itself', () => {
  const box = mailbox(10, 1000);
  const first = entry('n', { producerTimestamp: 10 });
  assert.deepEqual(box.push(first), { obsolete: false, superseded: null });
  const newer = entry('n', { producerTimestamp: 20 });
  assert.deepEqual(box.push(newer), { obsolete: false, superseded: first });
  assert.equal(box.push(entry('n', { producerTimestamp: 20 })).obsolete, true);
  assert.equal(box.push(entry('n', { producerTimestamp: 15 })).obsolete, true);
  assert.equal(box.size, 10);
  assert.deepEqual(
    box.take().map((one) => one.obsolete),
    [true, false, true, true],
  );
});

test('mailbox: only catalogs and facts with a producer timestamp supersede, each among its own kind', () => {
  const box = mailbox(20, 1000);
  for (const rest of [
    { command: 'store report', producerTimestamp: 1 },
    { command: 'store report', producerTimestamp: 2 },
    { command: 'deactivate node', producerTimestamp: 1 },
    { command: 'deactivate node', producerTimestamp: 2 },
    { command: 'replace catalog inputs', producerTimestamp: 1 },
    { command: 'replace catalog inputs', producerTimestamp: 2 },
    { command: 'replace facts', producerTimestamp: 1 },
    { command: 'replace catalog', producerTimestamp: 2 },
    { command: 'replace facts', producerTimestamp: null },
    { command: 'replace facts', producerTimestamp: null },
  ]) {
    assert.deepEqual(box.push(entry('n', rest)), { obsolete: false, superseded: null });
  }
  assert.deepEqual(box.push(entry('other', { producerTimestamp: 9 })), { obsolete: false, superseded: null });
  assert.equal(box.push(entry('n', { producerTimestamp: 2, version: 4 })).superseded?.record.envelope.version, 5);
});

test('mailbox: taking a command forgets what was remembered for its certname', () => {
  const box = mailbox();
  box.push(entry('n', { producerTimestamp: 10 }));
  box.take();
  assert.equal(box.push(entry('n', { producerTimestamp: 5 })).obsolete, false);
});

test('mailbox: obsolete commands neither fill a batch nor end it', () => {
  const box = mailbox(2, 1000);
  for (let time = 1; time <= 5; time++) box.push(entry('n', { producerTimestamp: time }));
  box.push(entry('m'));
  box.push(entry('o'));
  const batch = box.take();
  assert.deepEqual(
    batch.map((one) => one.obsolete),
    [true, true, true, true],
  );
  assert.deepEqual(
    box.take().map((one) => one.record.envelope.certname),
    ['n', 'm'],
  );
});

test('mailbox: a batch put back comes out again first, suspects alone', () => {
  const box = mailbox(4, 1000);
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => entry(name));
  for (const one of all) box.push(one);
  const batch = box.take();
  for (const one of batch.slice(1, 3)) one.crashes++;
  box.putBack(batch);
  assert.equal(box.count, 6);
  assert.equal(box.size, 60);
  const names: string[] = [];
  while (box.count > 0)
    names.push(
      box
        .take()
        .map((one) => one.record.envelope.certname)
        .join(''),
    );
  assert.deepEqual(names, ['a', 'b', 'c', 'def']);
});

test('mailbox: what the partition has already is dropped', () => {
  const box = mailbox(4, 1000);
  const all = ['a', 'b', 'c'].map((name) => entry(name, { producerTimestamp: 3 }));
  for (const one of all) box.push(one);
  assert.deepEqual(box.dropThrough(all[1]!.record.seq), all.slice(0, 2));
  assert.equal(box.size, 10);
  assert.equal(box.push(entry('a', { producerTimestamp: 1 })).obsolete, false, 'dropped commands are forgotten');
  assert.deepEqual([...box.entries()].length, 2);
});

test('mailbox: it presses with a full batch, with one that must go alone, and while somebody waits', () => {
  const waiter: Waiter = { resolve: () => {}, reject: () => {} };
  const awaited = (certname: string): Entry =>
    newEntry({ seq: ++seq, envelope: envelope(certname, { producerTimestamp: 1 }), bytes: 10, place: null }, waiter);
  const box = mailbox(3, 100);
  assert.equal(box.isPressing, false, 'nothing is there');
  box.push(entry('a'));
  box.push(entry('b'));
  assert.equal(box.isPressing, false);
  box.push(entry('c'));
  assert.equal(box.isPressing, true, 'as many as a batch has');
  const batch = box.take();
  assert.equal(box.isPressing, false);
  box.push(entry('d', {}, 100));
  assert.equal(box.isPressing, true, 'as much as a batch has');
  box.take();
  batch[0]!.crashes++;
  box.putBack(batch.slice(0, 1));
  assert.equal(box.isPressing, true, 'a suspect');
  box.take();
  const waited = awaited('e');
  box.push(waited);
  box.push(entry('e', { producerTimestamp: 2 }));
  assert.equal(box.isPressing, true, 'awaited, if superseded');
  const both = box.take();
  assert.equal(box.isPressing, false);
  box.putBack(both);
  assert.equal(box.isPressing, true, 'put back');
  box.dropThrough(waited.record.seq);
  assert.equal(box.isPressing, false, 'dropped');
});

test('mailbox: whether what comes next is feared says the first command to be executed', () => {
  const box = mailbox();
  assert.equal(box.isNextFeared, false);
  box.push({ ...entry('n', { producerTimestamp: 1 }), feared: true });
  assert.equal(box.isNextFeared, true);
  box.push(entry('n', { producerTimestamp: 2 }));
  assert.equal(box.isNextFeared, false, 'it is obsolete');
});

test('mailbox: long queues keep their order through many takes', () => {
  const box = mailbox(7, 1e9);
  const wanted: number[] = [];
  const got: number[] = [];
  for (let i = 0; i < 5000; i++) {
    const one = entry(`n${i}`);
    wanted.push(one.record.seq);
    box.push(one);
    if (i % 11 === 0) got.push(...box.take().map((taken) => taken.record.seq));
  }
  while (box.count > 0) got.push(...box.take().map((taken) => taken.record.seq));
  assert.deepEqual(got, wanted);
});
