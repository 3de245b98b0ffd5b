// The nearest double of a decimal text, in lists that are read from their bytes: as the way over values finds it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from '../../../../../engine/bytes.ts';
import { LIST_READERS } from '../../../../../engine/ingest/read/report/report.ts';
import { parseJsonDocument } from '../../../../../engine/json/parse.ts';
import { storedText } from '../../../../../engine/json/stored.ts';
import { ListUnpacker } from '../../../../../engine/store/records/packed-list.ts';
import { REPORT_LIST_SHAPES } from '../../../../../engine/store/records/report-lists.ts';
import { Random, testSeed } from '../../../../support/random.ts';

const unpacker = new ListUnpacker(REPORT_LIST_SHAPES.metrics);
/** A list for many texts: each is read as a value. */
let pending: string[] = [];

function check(text: string): void {
  // Leading zeros are none of JSON.
  pending.push(text.replace(/^(-?)0+(?=\d)/, '$1'));
  if (pending.length === 1000) checkAll();
}

function checkAll(): void {
  const list = `[${pending.map((text) => `{"category":"c","name":"n","value":${text}}`).join()}]`;
  pending = [];
  const packed = LIST_READERS.metrics.read(Buffer.from(list));
  assert.ok(packed);
  const out = new ByteWriter(0);
  unpacker.write(packed, 0, packed.length, out);
  const read = out.toString().split('},{');
  const expected = storedText(parseJsonDocument(list)).split('},{');
  assert.equal(read.length, expected.length);
  for (let i = 0; i < read.length; i++) assert.equal(read[i], expected[i], list.split('},{')[i]);
}

test('doubles: of texts of every length, and of the texts of doubles', () => {
  const random = new Random(testSeed('doubles'));
  const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('');
  for (let round = 0; round < 50_000; round++) {
    const text = digits(random.between(1, 20));
    const point = random.below(text.length + 1);
    check(`${text.slice(0, point) || '0'}.${text.slice(point) || '0'}`);
    check(`-0.${'0'.repeat(random.below(26))}${text}`);
    const value = random.unit() * 10 ** random.between(-5, 15);
    if (!String(value).includes('e')) check(String(value));
  }
  checkAll();
});

test('doubles: in the middle between two, and next to it', () => {
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 20_000; round++) {
    // An odd number of 54 bits over a power of two lies in the middle, and has as many decimals as that power.
    const decimals = random.between(1, 4);
    const middle = 2n ** 53n + 2n * BigInt(random.below(2 ** 32)) + 1n;
    const text = String(middle * 5n ** BigInt(decimals));
    const at = text.length - decimals;
    check(`${text.slice(0, at)}.${text.slice(at)}`);
    // Of numbers below, seventeen digits come as near to it as they can.
    const part =
      (Number(middle >> 1n) / 2 ** 53 + Number((middle >> 1n) + 1n) / 2 ** 53) / 2 + 2 ** -random.between(3, 9);
    check(part.toFixed(17));
    check(part.toFixed(16));
  }
  for (const text of ['0.0', '-0.0', '0.1', '9007199254740993.0', '0.30000000000000004', '99999999999999999.9'])
    check(text);
  checkAll();
});
