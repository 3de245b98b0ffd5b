// What is remembered of commands is little, however large their payloads are: no part of a payload keeps the rest of it in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CatalogCommand } from '../../../engine/ingest/command/commands.ts';
import type { QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../engine/ingest/decode.ts';
import type { Recollection } from '../../../engine/ingest/read/command-reader.ts';
import { collect } from '../../support/collect.ts';
import {
  at,
  catalogPayload,
  type Fields,
  NOTHING_STORED,
  reportPayload,
  resource,
  SETTINGS,
  submit,
} from './support.ts';

const LARGE = 'x'.repeat(500_000);
const COUNT = 60;

/** As an export has it: with white space, so that it is read as a whole; and with a double that JSON.parse would take for an integer. */
const exported = (command: string, payload: Fields): QueuedCommand =>
  submit(command, JSON.stringify(payload, null, 2).replace('"DOUBLE"', '1.0'), { certname: 'c' });

/** Bytes of the heap that stay when the work has been done for so many payloads. */
function keptBy(work: (n: number) => void, count = COUNT): number {
  work(0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let n = 1; n <= count; n++) work(n);
  collect();
  return process.memoryUsage().heapUsed - before;
}

const isLittle = (bytes: number): void => assert.ok(bytes < 5 << 20, `${bytes} bytes`);

/** A catalog of two resources, with a tag and names of its own, and an edge between them. */
function catalogOf(n: number, parameters: Fields): Fields {
  const [source, target] = [`the first resource of ${n}`, `the second resource of ${n}`];
  const resources = [
    resource({ title: source, tags: ['class', `some_tag_of_catalog_${n}`], parameters }),
    resource({ title: target }),
  ];
  const nameOf = (title: string): Fields => ({ type: 'Class', title });
  const edges = [{ source: nameOf(source), target: nameOf(target), relationship: 'contains' }];
  return catalogPayload({ resources, edges });
}

/** Makes all that would be stored of a catalog. */
function decode(command: QueuedCommand, stored: Recollection | null): void {
  const contents = (decodeCommand(command, SETTINGS, stored) as CatalogCommand).contents(() => 0);
  assert.equal(contents.edges().length, 1);
}

test('kept texts: tags and names of a catalog', () => {
  const kept = keptBy((n) => {
    decode(exported('replace catalog', catalogOf(n, { large: LARGE, number: 'DOUBLE' })), null);
  });
  isLittle(kept);
});

test('kept texts: names of a catalog whose resources are read one by one', () => {
  const large = LARGE.slice(0, 80_000);
  const kept = keptBy((n) => {
    decode(submit('replace catalog', catalogOf(1000 + n, { large })), NOTHING_STORED);
  }, 300);
  isLittle(kept);
});

test('kept texts: times of a report', () => {
  const kept = keptBy((n) => {
    const log = { file: null, line: null, level: 'info', message: LARGE, source: 'Puppet', tags: [], time: at(n) };
    const metrics = [{ category: 'time', name: 'total', value: 'DOUBLE' }];
    const command = exported('store report', reportPayload({ logs: [log], metrics, start_time: at(1000 + n) }));
    assert.equal(decodeCommand(command, SETTINGS, null).kind, 'report');
  });
  isLittle(kept);
});
