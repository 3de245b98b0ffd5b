// The lists of reports in the store: each form they have, and those of older data.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ByteWriter } from '../../../../engine/bytes.ts';
import { LIST_READERS } from '../../../../engine/ingest/read/report/report.ts';
import type { Batch } from '../../../../engine/store/batch.ts';
import { partitionDir } from '../../../../engine/store/file/layout.ts';
import { FORMAT_VERSION, markComplete, openStoreInfo } from '../../../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../../../engine/store/partition.ts';
import {
  encodeReportLists,
  REPORT_LISTS,
  type ReportListName,
  type ReportLists,
  writeReportList,
} from '../../../../engine/store/records/report-lists.ts';
import { decodeState, encodeState } from '../../../../engine/store/state.ts';
import { reportRecord } from '../report-records.ts';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});
function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'muster-lists-'));
  dirs.push(dir);
  return dir;
}

const LOGS =
  '[{"file":null,"line":null,"tags":["notice"],"time":"2036-01-10T14:00:00.5Z","level":"notice","source":"P","message":"é"}]';
const METRICS =
  '[{"name":"changed","value":0,"category":"resources"},{"name":"total","value":0.00000010,"category":"time"}]';

const packed = (name: ReportListName, text: string) => {
  const bytes = LIST_READERS[name].read(Buffer.from(text, 'utf8'));
  assert.ok(bytes);
  return { form: 'packed', bytes } as const;
};

const addReport = (batch: Batch, lists: ReportLists): number =>
  batch.reports.add(reportRecord({ nodeId: batch.createNode('a') }), null, lists);

function listsOf(partition: Partition, report: number): (string | null)[] {
  const view = partition.snapshot();
  try {
    return REPORT_LISTS.map((name) => view.reports.list(report, name));
  } finally {
    view.close();
  }
}

function sizesOf(partition: Partition, report: number): (number | null)[] {
  const view = partition.snapshot();
  try {
    return REPORT_LISTS.map((name) => view.reports.listSize(report, name));
  } finally {
    view.close();
  }
}

test('report lists: each form gives its text again, null is none, and an empty list is a list', () => {
  const long = JSON.stringify(Array.from({ length: 500 }, () => ({ any: 'text\ud800' })));
  const value = encodeReportLists({
    logs: packed('logs', LOGS),
    metrics: { form: 'text', text: long },
    resources: packed('resources', '[]'),
  });
  const textOf = (name: ReportListName, bytes: Buffer): string | null => {
    const out = new ByteWriter(0);
    out.text('before');
    const isThere = writeReportList(bytes, name, out);
    assert.equal(out.toString().startsWith('before'), true);
    return isThere ? out.toString().slice('before'.length) : null;
  };
  assert.deepEqual(
    REPORT_LISTS.map((name) => textOf(name, value)),
    [LOGS, Buffer.from(long, 'utf8').toString(), '[]'],
  );
  assert.ok(value.length < 1000, `${value.length} bytes`);
  const nothing = encodeReportLists({ logs: null, metrics: packed('metrics', METRICS), resources: null });
  assert.deepEqual(
    REPORT_LISTS.map((name) => textOf(name, nothing)),
    [null, METRICS, null],
  );
});

test('report lists: damaged bytes end in an error, not in a loop', () => {
  const { bytes } = packed('metrics', METRICS);
  const value = encodeReportLists({
    logs: null,
    metrics: { form: 'packed', bytes: bytes.subarray(0, -1) },
    resources: null,
  });
  assert.throws(() => writeReportList(value, 'metrics', new ByteWriter(0)), /no end/);
});

test('report lists: those of format 1 are read, and go with their report', async () => {
  const partition = openPartition(temporary());
  const { tables } = partition;
  let report = 0;
  partition.write((batch) => {
    report = addReport(batch, { logs: null, metrics: null, resources: null });
    tables.report_lists.removeSync(report);
    tables.report_logs.putSync(report, Buffer.from(LOGS, 'utf8'));
    tables.report_metrics.putSync(report, Buffer.from(METRICS, 'utf8'));
  });
  assert.deepEqual(listsOf(partition, report), [LOGS, METRICS, null]);
  assert.deepEqual(sizesOf(partition, report), [Buffer.byteLength(LOGS), METRICS.length, null]);
  partition.write((batch) => batch.reports.delete(report));
  for (const table of [tables.report_logs, tables.report_metrics]) assert.equal(table.getKeysCount({}), 0);
  await partition.close();
});

test('report lists: they go with their report', async () => {
  const partition = openPartition(temporary());
  let report = 0;
  partition.write((batch) => {
    report = addReport(batch, { logs: packed('logs', LOGS), metrics: packed('metrics', METRICS), resources: null });
  });
  assert.deepEqual(listsOf(partition, report), [LOGS, METRICS, null]);
  const packedSize = (name: ReportListName, text: string): number => packed(name, text).bytes.length + 1;
  assert.deepEqual(sizesOf(partition, report), [packedSize('logs', LOGS), packedSize('metrics', METRICS), null]);
  partition.write((batch) => batch.reports.delete(report));
  assert.equal(partition.tables.report_lists.getKeysCount({}), 0);
  await partition.close();
});

test('store: data of an older format become those of this one as soon as they are written', async () => {
  const dir = temporary();
  const info = openStoreInfo(dir, { partitions: 1 });
  const partition = openPartition(partitionDir(dir, 0));
  const { state } = partition.tables;
  partition.write(() => undefined);
  const key = Buffer.from('state');
  const written = decodeState(state.get(key) as Buffer) as unknown as { format: number };
  state.putSync(key, encodeState({ ...written, format: 1 } as never));
  assert.equal(partition.readState({}).format, 1);
  partition.write((batch) => batch.createNode('a'));
  assert.equal(partition.readState({}).format, FORMAT_VERSION);
  await partition.flush();
  const { key: _, ...first } = info;
  writeFileSync(join(dir, 'store.json'), JSON.stringify({ ...first, format: 1, complete: true }));
  const older = openStoreInfo(dir);
  assert.equal(older.format, 1);
  markComplete(dir, older);
  const { key: secret, ...now } = JSON.parse(readFileSync(join(dir, 'store.json'), 'utf8'));
  assert.deepEqual(now, { format: FORMAT_VERSION, partitions: 1, complete: true });
  assert.match(secret, /^[0-9a-f]{32}$/);
  markComplete(dir, openStoreInfo(dir));
  assert.equal(openStoreInfo(dir).key, secret);
  await partition.close();
});
