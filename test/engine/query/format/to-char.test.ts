import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import { toChar } from '../../../../engine/query/format/to-char.ts';

const MONDAY = Date.UTC(2026, 10, 9, 6, 12, 0);
const AFTERNOON = Date.UTC(2027, 0, 3, 15, 4, 5, 678);

const TIMES: readonly (readonly [number, string, string])[] = [
  [MONDAY, 'YYYY-MM-DD', '2026-11-09'],
  [MONDAY, 'YY', '26'],
  [MONDAY, 'YYY', '026'],
  [MONDAY, 'Y', '6'],
  [MONDAY, 'Y,YYY', '2,026'],
  [MONDAY, 'DDD', '313'],
  [MONDAY, 'D', '2'],
  [MONDAY, 'ID', '1'],
  [MONDAY, 'Day', 'Monday   '],
  [MONDAY, 'DAY', 'MONDAY   '],
  [MONDAY, 'day', 'monday   '],
  [MONDAY, 'FMDay', 'Monday'],
  [MONDAY, 'TMDay', 'Monday'],
  [MONDAY, 'TMRM|', 'XI  |'],
  [MONDAY, 'Dy DY dy', 'Mon MON mon'],
  [MONDAY, 'Month', 'November '],
  [MONDAY, 'FMMONTH|', 'NOVEMBER|'],
  [MONDAY, 'MON mon Mon', 'NOV nov Nov'],
  [MONDAY, 'HH24:MI:SS', '06:12:00'],
  [MONDAY, 'HH:MI pm', '06:12 am'],
  [MONDAY, 'SSSS', '22320'],
  [MONDAY, 'MS US', '000 000000'],
  [MONDAY, 'WW IW IYYY', '45 46 2026'],
  [MONDAY, 'Q CC J W', '4 21 2461354 2'],
  [MONDAY, 'RM|rm|FMRM|', 'XI  |xi  |XI|'],
  [MONDAY, 'DDth DDTH', '09th 09TH'],
  [MONDAY, 'YYYY"year"MM', '2026year11'],
  [MONDAY, 'YYYY-MM-DD"T"HH24:MI:SS', '2026-11-09T06:12:00'],
  [MONDAY, 'OF TZ tz TZH TZM', '+00 UTC utc +00 00'],
  [MONDAY, 'bogus', 'bog000000'],
  [MONDAY, 'FMMM/FMDD', '11/9'],
  [MONDAY, 'a.m. P.M. AD b.c.', 'a.m. A.M. AD a.d.'],
  [MONDAY, '"a\\"b"', 'a"b'],
  [MONDAY, '\\"YYYY\\"', '"2026"'],
  [MONDAY, '"open YYYY', 'open YYYY'],
  [MONDAY, 'é🎉', 'é🎉'],
  [MONDAY, 'FM', ''],
  [AFTERNOON, 'HH12:MI:SS.MS AM', '03:04:05.678 PM'],
  [AFTERNOON, 'FF1 FF2 FF3 FF6', '6 67 678 678000'],
  [AFTERNOON, 'IYYY-IW-ID IDDD', '2026-53-7 371'],
  [AFTERNOON, 'FMHH24 FMDDD FMMS', '15 3 678'],
  [AFTERNOON, 'DDth DDDth', '03rd 003rd'],
  [Date.UTC(2026, 0, 1), 'DDth HH12', '01st 12'],
  [Date.UTC(2026, 0, 2), 'DDth', '02nd'],
  [Date.UTC(2026, 0, 11), 'DDth', '11th'],
  [Date.UTC(2026, 0, 22), 'DDTH', '22ND'],
  [Date.UTC(2000, 11, 31), 'CC', '20'],
  [Date.UTC(2001, 0, 1), 'CC', '21'],
  [Date.UTC(-1, 0, 1), 'YYYY BC', '0002 BC'],
];

const DECIMALS: readonly (readonly [number | bigint | Float | string, string, string])[] = [
  [new Float(0.5), '9.9', '  .5'],
  [new Float(0.5), '0.0', ' 0.5'],
  [new Float(0.5), '9', ' 1'],
  [new Float(1.5), '9', ' 2'],
  [new Float(-3.75), '99.9', ' -3.8'],
  [new Float(-3.75), 'FM99.99', '-3.75'],
  [new Float(-0.3), '9', ' 0'],
  [new Float(-0.3), '0PR', ' 0 '],
  [new Float(1.25), '9V99', ' 125'],
  [new Float(1.255), '9V99', ' 126'],
  [new Float(1.5e-7), '0.00000000', ' 0.00000015'],
  [new Float(1e20), '9'.repeat(21), ' 100000000000000000000'],
  [12345678901234567890n, '99', ' ##'],
  [12345678901234567890n, '99999999999999999999', ' 12345678901234567890'],
  [-12345678901234567890n, 'FM99999999999999999999', '-12345678901234567890'],
  [12345678901234567890n, '9.999EEEE', ' 1.235e+19'],
  [new Float(0.000125), '9.9EEEE', ' 1.3e-04'],
  [new Float(99999.5), '9EEEE', ' 10e+04'],
  [new Float(0), '9.9EEEE', ' 0.0e+00'],
  [new Float(3.5), 'FMRN', 'IV'],
  ['5', '99.9', '  5.0'],
  [' -1.25e1 ', '99.9', '-12.5'],
  ['.5', '9.9', '  .5'],
  ['5.', '9', ' 5'],
];

const NUMBERS: readonly (readonly [number, string, string])[] = [
  [10, '999', '  10'],
  [10, 'FM0000', '0010'],
  [10, '0000', ' 0010'],
  [-10, '999', ' -10'],
  [-10, 'FM999', '-10'],
  [10, '9', ' #'],
  [-10, '9', '-#'],
  [0, '9', ' 0'],
  [5, '0', ' 5'],
  [10, '99PR', ' 10 '],
  [-10, '99PR', '<10>'],
  [10, 'FM99PR', '10'],
  [10, 'S99', '+10'],
  [-10, 'S999', ' -10'],
  [10, '99S', '10+'],
  [-10, '999S', ' 10-'],
  [10, '9,999', '    10'],
  [1234, '9,999', ' 1,234'],
  [1234, 'FM9,999,999', '1,234'],
  [1234567, '9G999G999', ' 1,234,567'],
  [10, '99.99', ' 10.00'],
  [10, 'FM99.99', '10.'],
  [10, 'FM99.00', '10.00'],
  [0, '9.9', '  .0'],
  [0, 'FM9.9', '0.'],
  [0, '0.9', ' 0.0'],
  [-7, '999.9', '  -7.0'],
  [12, 'MI99', ' 12'],
  [-12, 'MI99', '-12'],
  [-12, '99MI', '12-'],
  [12, 'FM99MI', '12'],
  [12, 'PL99', '+ 12'],
  [12, 'SG99', '+12'],
  [-12, 'SG99', '-12'],
  [1, '9th', ' 1st'],
  [12, '99TH', ' 12TH'],
  [12, '99V99', ' 1200'],
  [485, 'RN', '        CDLXXXV'],
  [485, 'FMrn', 'cdlxxxv'],
  [0, 'RN', '###############'],
  [1234, '9.99EEEE', ' 1.23e+03'],
  [12, '"n: "99', 'n:  12'],
  [148, '999 "x"', ' 148 x'],
];

describe('to_char: numbers with fractions, and beyond the doubles', () => {
  for (const [value, mask, expected] of DECIMALS) {
    it(`${value instanceof Float ? value.value : value} ${mask}`, () => {
      assert.equal(toChar(value, mask, 'number'), expected);
    });
  }
});

describe('to_char: texts that are no numbers', () => {
  for (const text of ['', ' ', 'Linux', '5 apples', '0x10', '1e', '.', '-', '1e999999', '--5', 'NaN']) {
    it(JSON.stringify(text), () => assert.equal(toChar(text, '99', 'number'), null));
  }
});

describe('to_char: what the original leaves off', () => {
  const INTEGERS: readonly (readonly [number, string, string])[] = [
    // Nothing stands behind the last digit where the mask asks for a point, and the text ends there.
    [3, '9.', ' 3'],
    [3, '0FM. ', '3'],
    [12, 'PL00.GSGMI', '+12'],
    [10, '9.|', ' #.|'],
    // Roman numbers have no sign to be shown.
    [12, '09RNSGV', '            XII'],
    [12, 'FMPLRN|', 'XII|'],
    [12, 'PLFMRN', 'XII'],
    // As doubles print themselves.
    [25, '9EEEE', ' 2e+01'],
    [35, '9EEEE', ' 4e+01'],
    [99, '9EEEE', ' 1e+02'],
    // Only a B that stands before all digits has a meaning.
    [10, '9BEEEE', ' 1e+01'],
    // Brackets and signs of their own go together in this order.
    [10, '99PRMI', '1 0 '],
    [-10, '99PRMI', '1>0-'],
    [10, 'FM99PRMI', '1 0'],
    [10, '99PRPL', ' 10 +'],
    [-10, '99PRPL', '<10> '],
    // A column of integers has 32 bits, and so has their product with a power of ten.
    [2_147_483_647, 'V9TM', '-#TM'],
    [2_147_483_647, '9V99999', '-100000'],
    [4_294_967, '9V99999', ' -29600'],
    [3, 'V9999999999', '-2147483648'],
    [4, '9V9999999999', '           0'],
  ];
  for (const [value, mask, expected] of INTEGERS) {
    it(`${value} ${mask}`, () => assert.equal(toChar(value, mask, 'integer'), expected));
  }
  for (const mask of ['TH', 'FM9EEEE', 'B9EEEE', 'S9EEEE', '9PREEEE', 'RNEEEE', '9V9EEEE', '9EEEEEEEE']) {
    it(`${mask} is refused`, () => assert.throws(() => toChar(3, mask, 'integer'), QueryError));
  }
});

describe('to_string of times', () => {
  for (const [ms, mask, expected] of TIMES) {
    it(`prints ${JSON.stringify(mask)} as ${JSON.stringify(expected)}`, () => {
      assert.equal(toChar(ms, mask, 'time'), expected);
    });
  }

  it('has no text for an empty mask', () => {
    assert.equal(toChar(MONDAY, '', 'time'), null);
    assert.equal(toChar(1, '', 'number'), '');
    assert.equal(toChar('x', '', 'number'), null);
  });
});

describe('to_string of numbers', () => {
  for (const [value, mask, expected] of NUMBERS) {
    it(`prints ${value} through ${JSON.stringify(mask)} as ${JSON.stringify(expected)}`, () => {
      assert.equal(toChar(value, mask, 'number'), expected);
    });
  }

  it('refuses masks that contradict themselves', () => {
    for (const mask of ['9.9.9', 'S9S', 'S9PR', 'PR9', '9V.9', 'EEEE9']) {
      assert.throws(() => toChar(1, mask, 'number'), QueryError, mask);
    }
  });
});
