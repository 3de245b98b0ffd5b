import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JsonValue } from '../../engine/json/value.ts';
import { Float } from '../../engine/json/value.ts';
import { formatEventTime, formatTime, parseLenient, parseStrict } from '../../engine/time.ts';
import { testSeed } from '../support/random.ts';

const seed = testSeed('time');

describe('time: printing', () => {
  it('prints what a Date prints, for every year of four digits', () => {
    const time = fc.integer({ min: Date.UTC(0, 0, 1) - 62_000_000_000_000, max: 253_402_300_799_999 });
    fc.assert(
      fc.property(time, (ms) => {
        fc.pre(new Date(ms).getUTCFullYear() >= 0);
        assert.equal(formatTime(ms), new Date(ms).toISOString());
        assert.equal(parseStrict(formatTime(ms)), ms);
      }),
      { seed, numRuns: 2000 },
    );
  });

  it('prints years beyond four digits without a sign and years before 0 with one', () => {
    assert.equal(formatTime(253_402_300_800_000), '10000-01-01T00:00:00.000Z');
    assert.equal(formatTime(-62_167_219_200_001), '-0001-12-31T23:59:59.999Z');
    assert.equal(formatTime(8_640_000_000_000_000), '275760-09-13T00:00:00.000Z');
  });

  it('prints event times with an offset and the shortest fraction', () => {
    assert.equal(formatEventTime(Date.UTC(2026, 10, 19, 10, 10, 6)), '2026-11-19T10:10:06+00:00');
    assert.equal(formatEventTime(Date.UTC(2026, 10, 19, 10, 10, 6, 250)), '2026-11-19T10:10:06.25+00:00');
    assert.equal(formatEventTime(Date.UTC(2026, 10, 19, 10, 10, 6, 500)), '2026-11-19T10:10:06.5+00:00');
    assert.equal(formatEventTime(Date.UTC(2026, 10, 19, 10, 10, 6, 7)), '2026-11-19T10:10:06.007+00:00');
    assert.equal(formatEventTime(-1), '1969-12-31T23:59:59.999+00:00');
  });
});

const at = (text: string): number => new Date(text).getTime();

// text, strict, lenient; both in UTC, null: refused
const TEXTS: readonly (readonly [string, string | null, string | null])[] = [
  ['2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['2024-01-01T00:00:00.1Z', '2024-01-01T00:00:00.100Z', '2024-01-01T00:00:00.100Z'],
  ['2024-01-01T00:00:00.123999Z', '2024-01-01T00:00:00.123Z', '2024-01-01T00:00:00.123Z'],
  ['2024-01-01T00:00:00.123456789+02:00', '2023-12-31T22:00:00.123Z', '2023-12-31T22:00:00.123Z'],
  ['2024-01-01T00:00:00.1234567891Z', null, null],
  ['2024-01-01T00:00Z', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['2024-01-01t00:00:00z', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z'],
  ['+10000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z'],
  ['10000-01-01T00:00:00Z', null, '+010000-01-01T00:00:00Z'],
  ['-0000-01-01T00:00:00Z', null, '0000-01-01T00:00:00Z'],
  ['2024-01-01T00:00:00+02', '2023-12-31T22:00:00Z', '2023-12-31T22:00:00Z'],
  ['2024-01-01T00:00:00-05:30', '2024-01-01T05:30:00Z', '2024-01-01T05:30:00Z'],
  ['2024-01-01T00:00:00+0200', null, '2023-12-31T22:00:00Z'],
  ['2024-01-01T00:00:00+24:00', null, null],
  ['2024-01-01T00:00:00+02:60', null, null],
  ['2024-01-01T00:00:00+02:00:60', null, null],
  ['2024-01-01T00:00:00+18', '2023-12-31T06:00:00Z', '2023-12-31T06:00:00Z'],
  ['2024-01-01T00:00:00+18:01', null, '2023-12-31T05:59:00Z'],
  ['2024-01-01T00:00:00+18:00:01', null, '2023-12-31T05:59:59Z'],
  ['2024-01-01T24:00:00Z', '2024-01-02T00:00:00Z', null],
  ['2024-01-01T24:00:01Z', null, null],
  ['2024-01-01T24:00Z', null, null],
  ['2024-12-31T23:59:60Z', '2024-12-31T23:59:59Z', null],
  ['2024-12-31T22:59:60Z', null, null],
  ['2024-01-01T00:00:61Z', null, null],
  ['2024-01-01T00:00:00', null, '2024-01-01T00:00:00Z'],
  ['2024-01-01T00:00:00.123', null, '2024-01-01T00:00:00.123Z'],
  ['2024-01-01T10:10', null, '2024-01-01T10:10:00Z'],
  ['2024-01-01T10', null, '2024-01-01T10:00:00Z'],
  ['2024-01-01T10.5', null, '2024-01-01T10:30:00Z'],
  ['2024-01-01T10:10,25Z', null, '2024-01-01T10:10:15Z'],
  ['2024-01-01T', null, '2024-01-01T00:00:00Z'],
  ['2024-01-01T+01:00', null, '2023-12-31T23:00:00Z'],
  ['2024-01-01Z', null, null],
  ['2024-01-01', null, '2024-01-01T00:00:00Z'],
  ['2024-1-5', null, '2024-01-05T00:00:00Z'],
  ['2024-02-29', null, '2024-02-29T00:00:00Z'],
  ['2023-02-29', null, null],
  ['2000-02-29', null, '2000-02-29T00:00:00Z'],
  ['1900-02-29', null, null],
  ['20240101', null, '2024-01-01T00:00:00Z'],
  ['20241301', null, null],
  ['20240101T000000Z', null, '2024-01-01T00:00:00Z'],
  ['20240101T101112.500Z', null, '2024-01-01T10:11:12.500Z'],
  ['20240101T101112', null, null],
  ['20240101T101112+0130', null, '2024-01-01T08:41:12Z'],
  ['2024-W01-1', null, '2024-01-01T00:00:00Z'],
  ['2036-W10-6', null, '2036-03-08T00:00:00Z'],
  ['2026-W46', null, '2026-11-09T00:00:00Z'],
  ['2020-W53-7', null, '2021-01-03T00:00:00Z'],
  ['2021-W53-1', null, null],
  ['2024W011', null, '2024-01-01T00:00:00Z'],
  ['2024-W01-8', null, null],
  ['2024-001', null, '2024-01-01T00:00:00Z'],
  ['2036-061', null, '2036-03-01T00:00:00Z'],
  ['2024-366', null, '2024-12-31T00:00:00Z'],
  ['2023-366', null, null],
  ['2024-000', null, null],
  ['2024061', null, null],
  ['2024061T101010Z', null, '2024-03-01T10:10:10Z'],
  ['2024061T10:10:10Z', null, null],
  ['2024W011T101010Z', null, '2024-01-01T10:10:10Z'],
  ['2024W011T10:10:10Z', null, null],
  ['20240101T', null, null],
  ['20240101T10', null, null],
  ['20240101T10:10:10Z', null, null],
  ['2024-01-01T101010Z', null, null],
  ['2024-061T101010Z', null, null],
  ['2024-W01-1T101010Z', null, null],
  ['2024T101010Z', null, null],
  ['2024-061T12:00Z', null, '2024-03-01T12:00:00Z'],
  ['2024-01', null, '2024-01-01T00:00:00Z'],
  ['2024-32', null, '2024-02-01T00:00:00Z'],
  ['2024-32T', null, null],
  ['2024-32T08', null, null],
  ['2024-32T08:05', null, null],
  ['2024-32T8:5Z', null, null],
  ['2024-32T8:5:3', null, null],
  ['2024-32T08:05:00.5', null, null],
  ['2024-32T08:05:00,5Z', null, null],
  ['2024-32T8:5:3Z', null, '2024-02-01T08:05:03Z'],
  ['2024-32T08:05:00.5+01:00', null, '2024-02-01T07:05:00.500Z'],
  ['2024-032T08:05', null, '2024-02-01T08:05:00Z'],
  ['2024-12T08:05', null, '2024-12-01T08:05:00Z'],
  ['2026-13-01', null, null],
  ['2024', null, '2024-01-01T00:00:00Z'],
  ['202401', null, '+202401-01-01T00:00:00Z'],
  ['2024-01-01 10:20:30', null, '2024-01-01T10:20:30Z'],
  ['2024-01-01 10:20:30.5', null, null],
  ['2024-01-01 10:20', null, null],
  ['Mon, 01 Jan 2024 00:00:00 +0000', null, '2024-01-01T00:00:00Z'],
  ['Mon, 23 Nov 2026 10:10:10 Z', null, '2026-11-23T10:10:10Z'],
  ['Mon, 23 Nov 2026 10:10:10 z', null, '2026-11-23T10:10:10Z'],
  ['Mon, 23 Nov 2026 10:10:10Z', null, null],
  ['Tue, 10 Nov 2026 00:00:00 +0100', null, '2026-11-09T23:00:00Z'],
  ['thursday, 19 november 2026 10:00:00 -01:30', null, '2026-11-19T11:30:00Z'],
  ['Fri, 19 Nov 2026 10:00:00 +0000', null, '2026-11-20T10:00:00Z'],
  ['Thu, 19 Nov 2026 10:00:00 GMT', null, null],
  ['Thx, 19 Nov 2026 10:00:00 +0000', null, null],
  ['12:00', null, '1970-01-01T12:00:00Z'],
  ['10:10:10', null, '1970-01-01T10:10:10Z'],
  ['10:10:10.25', null, '1970-01-01T10:10:10.250Z'],
  ['T10:10:10+01:00', null, '1970-01-01T09:10:10Z'],
  ['101010Z', null, '1970-01-01T10:10:10Z'],
  ['25:00', null, null],
  ['10:60', null, null],
  ['1704067200000', null, null],
  ['2024-02-30T00:00:00Z', null, null],
  ['2024-01-01T00:00:00 Z', null, null],
  [' 2024-01-01', null, null],
  ['2024-01-01\n', null, null],
  ['', null, null],
  ['  ', null, null],
  ['T', null, null],
  ['TZ', null, null],
  ['T+01:00', null, null],
  ['2026-11-19T+01:00', null, '2026-11-18T23:00:00Z'],
  ['Z', null, null],
  ['now', null, null],
  ['yesterday', null, null],
  ['garbage', null, null],
];

describe('time: reading', () => {
  for (const [text, strict, lenient] of TEXTS) {
    it(`reads ${JSON.stringify(text)} as ${strict ?? 'refused'} on the wire and ${lenient ?? 'refused'} elsewhere`, () => {
      assert.equal(parseStrict(text), strict === null ? null : at(strict));
      assert.equal(parseLenient(text), lenient === null ? null : at(lenient));
    });
  }

  it('reads usual texts with any change of a character as a Date does, or refuses them', () => {
    const usual = fc.constantFrom(
      '2026-11-09T06:10:31.123Z',
      '2026-11-09T06:10:31Z',
      '2024-02-29T23:59:59.5+02:00',
      '2024-02-29T23:59:59-18:00',
    );
    const character = fc.constantFrom(...'0123456789-+:.TZ /'.split(''));
    fc.assert(
      fc.property(usual, fc.nat({ max: 24 }), character, (text, index, c) => {
        const changed = text.slice(0, index) + c + text.slice(index + 1);
        const ms = parseStrict(changed);
        if (ms === null) return;
        const lastOfDay = /T24:00:00|:60/.test(changed);
        if (!lastOfDay && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?(Z|[+-]\d\d:\d\d)$/.test(changed)) {
          assert.equal(ms, at(changed), changed);
        }
      }),
      { seed, numRuns: 5000 },
    );
  });

  it('takes integers as epoch milliseconds and no other JSON value', () => {
    assert.equal(parseLenient(1_704_067_200_000), 1_704_067_200_000);
    assert.equal(parseLenient(-1), -1);
    for (const last of [-8.64e15, 8.64e15]) assert.equal(parseLenient(last), last);
    const others: JsonValue[] = [1.5, new Float(1), 10n ** 20n, 9e15, true, false, null, [], {}];
    for (const other of others) assert.equal(parseLenient(other), null);
  });

  it('reads back its own lenient output in every form of a day', () => {
    fc.assert(
      fc.property(fc.integer({ min: -700_000, max: 2_900_000 }), (day) => {
        const text = formatTime(day * 86_400_000).slice(0, 10);
        fc.pre(/^\d{4}-/.test(text));
        assert.equal(parseLenient(text), day * 86_400_000);
        assert.equal(parseLenient(text.replaceAll('-', '')), day * 86_400_000);
      }),
      { seed, numRuns: 1000 },
    );
  });
});
