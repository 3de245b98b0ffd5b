// The texts of packed lists: as they are written without WebAssembly, doubles as `decimalText` spells them, damage told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteWriter } from '../../../../engine/bytes.ts';
import { decimalText } from '../../../../engine/json/stored.ts';
import type { ListShape } from '../../../../engine/store/records/list-shape.ts';
import { ListUnpacker, PlainUnpacker } from '../../../../engine/store/records/packed-list.ts';
import { Random, testSeed } from '../../../support/random.ts';

const SHAPE: ListShape = {
  keys: ['file', 'line', 'events', 'title'],
  lists: { events: { keys: ['status', 'message'], lists: {} } },
};
const ABSENT = 0;
const SAME = 1;
const DOUBLE = 2;
const LIST = 2;
const END = 3;
const TEXT = 4;

const unpacker = new ListUnpacker(SHAPE);
const plain = new PlainUnpacker(SHAPE);

function textOf(
  from: { write(bytes: Buffer, start: number, end: number, out: ByteWriter): number },
  bytes: Buffer,
): string {
  const out = new ByteWriter(0);
  out.text('before ');
  assert.equal(from.write(bytes, 0, bytes.length, out), bytes.length);
  assert.equal(out.toString().slice(0, 7), 'before ');
  return out.toString().slice(7);
}

const text = (shared: number, rest: string): number[] => {
  const bytes = [...Buffer.from(rest)];
  const size = [];
  let left = bytes.length;
  for (; left > 0x7f; left >>= 7) size.push((left & 0x7f) | 0x80);
  return [TEXT + shared, ...size, left, ...bytes];
};
const double = (value: number): number[] => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return [DOUBLE, ...bytes];
};

const listOf = (...maps: readonly (readonly number[])[]): Buffer => Buffer.from([...maps.flat(), END]);

test('packed lists: what is shared, the same, absent, and lists inside', () => {
  const bytes = listOf(
    [...text(0, '"/etc/a"'), ...double(1.5), LIST, END, ...text(0, '"one"')],
    [...text(7, 'b"'), SAME, LIST, ...text(0, '"ok"'), ABSENT, SAME, ...text(0, '"m"'), END, ABSENT],
    [ABSENT, SAME, SAME, ...text(4, '"')],
    [ABSENT, ABSENT, ABSENT, ABSENT],
    [SAME, SAME, ABSENT, SAME],
  );
  const expected =
    '[{"file":"/etc/a","line":1.5,"events":[],"title":"one"},' +
    '{"file":"/etc/ab","line":1.5,"events":[{"status":"ok"},{"status":"ok","message":"m"}]},' +
    '{"line":1.5,"events":null,"title":"one"},{},' +
    '{"file":"/etc/ab","line":1.5,"title":"one"}]';
  assert.equal(textOf(unpacker, bytes), expected);
  assert.equal(textOf(plain, bytes), expected);
});

/** A list of so many maps of any form. */
function randomList(random: Random, maps: number, sizeMax: number): Buffer {
  const out: number[] = [];
  const last = new Map<string, string>();
  const field = (name: string): void => {
    const before = last.get(name);
    const kind = random.below(before === undefined ? 2 : 4);
    if (kind === 0) {
      out.push(ABSENT);
      return;
    }
    if (kind === 2) {
      out.push(SAME);
      return;
    }
    if (kind === 1 && random.below(5) === 0) {
      const value = (random.unit() - 0.5) * 10 ** random.between(-6, 12);
      out.push(...double(value));
      last.set(name, decimalText(value));
      return;
    }
    const shared = kind === 3 ? random.below(Math.min(before!.length, 251) + 1) : 0;
    const rest = 'x'.repeat(random.below(sizeMax));
    out.push(...text(shared, rest));
    last.set(name, (before ?? '').slice(0, shared) + rest);
  };
  for (let map = 0; map < maps; map++) {
    field('file');
    field('line');
    const events = random.below(4);
    if (events < 2) out.push(events);
    else {
      out.push(LIST);
      for (let event = random.below(4); event > 0; event--) {
        field('status');
        field('message');
      }
      out.push(END);
    }
    field('title');
  }
  out.push(END);
  return Buffer.from(out);
}

test('packed lists: as without WebAssembly, also large ones', () => {
  const random = new Random(testSeed('packed lists'));
  for (let round = 0; round < 300; round++) {
    const bytes = randomList(random, random.below(60), random.below(3) === 0 ? 400 : 20);
    assert.equal(textOf(unpacker, bytes), textOf(plain, bytes));
  }
  // A text of 200 KB that thousands of maps repeat: it does not fit at once.
  const again = [SAME, ABSENT, ABSENT, ABSENT];
  const first = [...text(0, 'y'.repeat(200_000)), ABSENT, ABSENT, ABSENT];
  const repeated = listOf(first, ...Array.from({ length: 100 }, () => again));
  const whole = textOf(unpacker, repeated);
  assert.equal(whole.length, 101 * ('{"file":}'.length + 200_000) + 102);
  assert.equal(whole, textOf(plain, repeated));
});

test('packed lists: what is damaged is refused, or gives some text', () => {
  const random = new Random(testSeed('packed lists'));
  const bytes = randomList(random, 30, 20);
  const out = new ByteWriter(0);
  const list = new ListUnpacker(SHAPE);
  for (let end = 0; end < bytes.length; end++) {
    assert.throws(() => list.write(bytes.subarray(0, end), 0, end, out), /a packed list has no end/);
  }
  for (let round = 0; round < 20_000; round++) {
    const damaged = Buffer.from(bytes);
    for (let i = random.between(1, 4); i > 0; i--) damaged[random.below(damaged.length)] = random.below(256);
    out.length = 0;
    try {
      list.write(damaged, 0, damaged.length, out);
    } catch (error) {
      assert.match(String(error), /a packed list has no end/);
    }
  }
});

const NUMBERS = new ListUnpacker({ keys: ['v'], lists: {} });
/** Doubles whose texts are looked at together. */
let pending: number[] = [];

function assertSame(value: number): void {
  pending.push(value);
  if (pending.length === 1000) assertAll();
}

function assertAll(): void {
  const texts = textOf(NUMBERS, Buffer.from([...pending.flatMap(double), END]));
  assert.equal(texts, `[${pending.map((value) => `{"v":${decimalText(value)}}`).join()}]`);
  pending = [];
}

test('packed lists: doubles that are well known', () => {
  const cases: readonly [number, string][] = [
    [0.1, '0.1'],
    [0.30000000000000004, '0.30000000000000004'],
    [22.742744088172913, '22.742744088172913'],
    [-0.018877983093261719, '-0.01887798309326172'],
    [0.001, '0.001'],
    [0.0009999999999999998, '0.0009999999999999998'],
    [9999999.999999998, '9999999.999999998'],
    [1.5, '1.5'],
    [0.5, '0.5'],
    [2, '2.0'],
    [0, '0.0'],
    [1e-7, '0.00000010'],
    [1e21, '1000000000000000000000'],
    [-123456.78, '-123456.78'],
    [Number.POSITIVE_INFINITY, '"Infinity"'],
  ];
  for (const [value, expected] of cases) {
    assert.equal(textOf(NUMBERS, Buffer.from([...double(value), END])), `[{"v":${expected}}]`);
  }
});

test('packed lists: doubles of all sizes', () => {
  const powers = Array.from({ length: 14 }, (_, i) => 10 ** (i - 5));
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 20_000; round++) {
    const fraction = random.unit();
    for (const power of powers) assertSame(fraction * power);
    assertSame(-fraction);
  }
  assertAll();
});

test('packed lists: short decimals, and their neighbours', () => {
  const value = new Float64Array(1);
  const bits = new BigInt64Array(value.buffer);
  const random = new Random(testSeed('doubles'));
  for (let round = 0; round < 40_000; round++) {
    value[0] = Number((random.unit() * 10 ** random.below(8)).toFixed(random.below(17)));
    for (const step of [0n, 1n, -2n, 3n]) {
      bits[0]! += step;
      assertSame(value[0]!);
    }
  }
  assertAll();
});

test('packed lists: doubles at powers of two and of ten, and their neighbours', () => {
  const value = new Float64Array(1);
  const bits = new BigInt64Array(value.buffer);
  for (let power = -14; power < 26; power++) {
    for (const base of [2, 10]) {
      for (const times of [1, 3, 5, 7, 9, 999, 1 / 3]) {
        value[0] = times * base ** power;
        bits[0]! -= 20n;
        for (let i = 0; i < 40; i++) {
          assertSame(value[0]!);
          bits[0]! += 1n;
        }
      }
    }
  }
  assertAll();
});
