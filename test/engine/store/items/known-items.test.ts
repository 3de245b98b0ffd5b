// What a node's items are known by: each is found by its digest, also among those that begin alike.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeKnown, type KnownItem, KnownItems } from '../../../../engine/store/items/known-items.ts';

// Of few first bytes, so that many digests differ behind them only.
const byte = fc.integer({ min: 0, max: 255 });
const digest = fc
  .tuple(
    fc.array(fc.constantFrom(0, 1, 255), { minLength: 4, maxLength: 4 }),
    fc.array(byte, { minLength: 12, maxLength: 12 }),
  )
  .map(([head, rest]) => String.fromCharCode(...head, ...rest));
const items = fc.uniqueArray(fc.record({ digest, item: fc.integer({ min: 1, max: 2 ** 32 - 1 }), flags: byte }), {
  selector: (known: KnownItem) => known.digest,
  maxLength: 300,
});

test('known items: each is found, and no other', () => {
  fc.assert(
    fc.property(items, digest, (known, other) => {
      const stored = new KnownItems(encodeKnown(known));
      for (const { digest, item, flags } of known) {
        const place = stored.find(digest);
        assert.ok(place >= 0);
        assert.equal(stored.item(place), item);
        assert.equal(stored.flags(place), flags);
      }
      if (!known.some(({ digest }) => digest === other)) assert.equal(stored.find(other), -1);
    }),
  );
});
