// Times read from bytes are those of their texts, whatever was read before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { strictTime, strictTimeAt } from '../../../../engine/ingest/command/validate.ts';
import { parseStrict } from '../../../../engine/time.ts';
import { collect } from '../../../support/collect.ts';

const minute = fc.constantFrom(
  '2036-01-10T14:00:',
  '2036-01-10T14:01:',
  '2036-01-10t14:00:',
  '2036-01-10T23:59:',
  '2036-01-10T24:00:',
  '2036-01-10T24:01:',
  '2036-02-30T14:00:',
  '1969-12-31T23:59:',
  '2036-01-10 14:00:',
  '+12036-01-10T14:0',
  '+002036-01-10T14:',
  '-0001-01-10T14:00',
);
const second = fc.constantFrom('00', '07', '59', '60', '5', '0x', '', ':01');
const fraction = fc.oneof(
  fc.constantFrom('', '.', '.5', '.123', '.1239999', '.123456789', '.1234567890', ',5'),
  fc.nat(999).map((millis) => `.${millis}`),
);
const zone = fc.constantFrom('Z', 'Z', 'Z', 'z', '', '+02:00', '-02', 'ZZ');
const anyTime = fc.tuple(minute, second, fraction, zone).map((parts) => parts.join(''));

test('strict times: from bytes as from texts, in any order', () => {
  fc.assert(
    fc.property(fc.array(anyTime, { minLength: 1, maxLength: 8 }), (texts) => {
      const bytes = Buffer.from(texts.join('"'), 'latin1');
      let at = 0;
      for (const text of texts) {
        assert.equal(strictTimeAt(bytes, at, at + text.length), parseStrict(text), text);
        at += text.length + 1;
      }
    }),
    { numRuns: 3000 },
  );
});

test('strict times: where a year of six digits puts the minutes are no seconds', () => {
  for (const text of ['+002036-01-10T14:00Z', '+002036-01-10T14:30Z', '+002036-01-10T14:30.5Z']) {
    const bytes = Buffer.from(text, 'latin1');
    assert.equal(strictTimeAt(bytes, 0, bytes.length), parseStrict(text), text);
  }
});

test('strict times: of texts that never come again few are remembered', () => {
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const read = (from: number, to: number): void => {
    for (let ms = from; ms < to; ms++) assert.equal(strictTime(new Date(ms).toISOString()), ms);
  };
  read(0, 10_000);
  const before = used();
  read(10_000, 200_000);
  assert.ok(used() - before < 5e6, `${used() - before} bytes`);
});
