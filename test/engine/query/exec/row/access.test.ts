// The text of one field at a time: what it is put together in is used again, also within another one's, but not kept when it was large.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type ByteWriter, bytesOf } from '../../../../../engine/bytes.ts';
import { textOf } from '../../../../../engine/query/exec/row/access.ts';
import type { Row } from '../../../../../engine/query/exec/row/row.ts';
import { collect } from '../../../../support/collect.ts';

const row = null as unknown as Row;
const LARGE = 64 << 20;

it('a field may ask for the text of another one', () => {
  const inner = { write: (_: Row, out: ByteWriter) => out.text('inner') };
  const outer = { write: (_: Row, out: ByteWriter) => out.text(`before ${textOf(inner, row)} behind`) };
  for (let i = 0; i < 2; i++) assert.equal(textOf(outer, row), 'before inner behind');
});

it('is right after one that failed', () => {
  const failing = {
    write(_: Row, out: ByteWriter): void {
      out.text('begun');
      throw new Error('no more');
    },
  };
  assert.throws(() => textOf(failing, row), /no more/);
  assert.equal(textOf({ write: (_, out) => out.text('whole') }, row), 'whole');
});

it('the memory of a large document does not stay', () => {
  const held = (): number => {
    // What the first one finds is given back before the second.
    collect();
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  assert.equal(textOf({ write: (_, out) => out.put(bytesOf('x'.repeat(LARGE))) }, row).length, LARGE);
  assert.ok(held() - before < LARGE / 2, `${held() - before}`);
});
