// The checksum in script is the one of zlib.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, crc32InScript } from '../../engine/crc32.ts';

test('crc32: the script gives the sums that zlib gives', () => {
  const given: readonly [string, number][] = [
    ['', 0],
    ['123456789', 0xcbf43926],
  ];
  for (const sum of [crc32, crc32InScript]) {
    for (const [text, expected] of given) assert.equal(sum(Buffer.from(text)), expected);
    assert.equal(sum(Buffer.from('6789'), sum(Buffer.from('12345'))), 0xcbf43926);
  }
});
