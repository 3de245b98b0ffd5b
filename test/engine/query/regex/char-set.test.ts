import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CharSet, isClassName, memberTest } from '../../../../engine/query/regex/char-set.ts';

const NAMES = 'alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit'.split(' ');

/** Where what is found run by run is put together: ends of blocks and pieces, halves of surrogate pairs, and some in between. */
const EDGES = [
  0, 0x7f, 0xfff, 0x1000, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff, 0x10000, 0x10fff, 0x11000, 0x3ffff,
  0x40000, 0xdffff, 0xe0000, 0xe0001, 0xe0fff, 0xe1000, 0xeffff, 0xf0000, 0xffffd, 0xffffe, 0x100000, 0x10fffd,
  0x10ffff,
];

describe('classes of characters', () => {
  for (const name of NAMES) {
    it(`[:${name}:] and what is outside it, also beside other members, are what a look at each character says`, () => {
      assert.ok(isClassName(name));
      const test = memberTest(name);
      // Beside other members, what is outside a class is written as its ranges.
      const inside = new CharSet([0x2603, 0x2603], [{ name, complement: false }]);
      const outside = new CharSet([0x2603, 0x2603], [{ name, complement: true }]);
      const codes = [...EDGES, ...Array.from({ length: 3000 }, (_, i) => (i * 7919) % 0x11000)];
      for (const code of codes) {
        if (code === 0x2603) continue;
        const isMember = test(String.fromCodePoint(code));
        assert.equal(inside.has(code), isMember, `U+${code.toString(16)}`);
        assert.equal(outside.has(code), !isMember, `U+${code.toString(16)} outside`);
      }
    });
  }
});
