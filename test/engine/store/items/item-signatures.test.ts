// Signatures of items: each item's own, found once, and found again after the budget was used up.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ClassBudget } from '../../../../engine/store/items/item-classes.ts';
import { Mark } from '../../../../engine/store/items/item-signatures.ts';
import { encodePackage, PACKAGE, StoredPackage } from '../../../../engine/store/records/bodies.ts';
import type { Fields } from '../../../../engine/store/records/fields.ts';

/** The version tells the bit. */
function reader(): { glance(id: number): Fields; read: number } {
  const record = new StoredPackage();
  return {
    read: 0,
    glance(id) {
      this.read++;
      record.load(encodePackage({ name: 'p', version: String(id % 64), provider: 'apt' }));
      return record;
    },
  };
}

const sign = (record: Fields, mark: Mark): void => mark.add(Number(record.string(PACKAGE.version)));

function markOf(...hashes: number[]): Mark {
  const mark = new Mark();
  for (const hash of hashes) mark.add(hash);
  return mark;
}

it('an item has the bits of its own things, and is read once', () => {
  const signatures = new ClassBudget().sign(sign);
  const read = reader();
  for (let round = 0; round < 2; round++) {
    for (let id = 1; id <= 5000; id++) {
      const signature = signatures.of(id, read);
      assert.ok(signature.covers(markOf(id)));
      assert.ok(!signature.covers(markOf(id + 2)));
      assert.ok(!signature.covers(markOf(id, id + 7)));
      assert.ok(signature.covers(new Mark()));
    }
  }
  assert.equal(read.read, 5000);
});

it('every bit but the first stands for something, and none for what is known', () => {
  const all = new Set<string>();
  for (let hash = 0; hash < 64; hash++) {
    const { low, high } = markOf(hash);
    assert.equal(low & 1, 0);
    assert.notEqual(low | high, 0);
    all.add(`${low} ${high}`);
  }
  assert.equal(all.size, 63);
});

it('beyond their bound all are forgotten and found again', () => {
  const budget = new ClassBudget(64 << 10);
  const signatures = budget.sign(sign);
  const read = reader();
  for (let id = 1; id <= 20_000; id++) assert.ok(signatures.of(id, read).covers(markOf(id)));
  assert.equal(read.read, 20_000);
  for (let id = 1; id <= 20_000; id++) assert.ok(signatures.of(id, read).covers(markOf(id)));
  assert.ok(read.read > 30_000, 'most had been forgotten');
});
