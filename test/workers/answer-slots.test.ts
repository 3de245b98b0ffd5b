import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newSlots, ownCopy, type Slot, SlotReader, SlotWriter } from '../../workers/answer-slots.ts';
import { Random, testSeed } from '../support/random.ts';

const SLOT_BYTES = 144 << 10;

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value & 0xff);

test('answer slots: what is put is there until its slot is free, in whatever order they become free', () => {
  const random = new Random(testSeed('answer-slots'));
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  const held: { slot: Slot; value: number }[] = [];
  let refused = 0;
  let most = 0;
  for (let value = 1; value <= 2000; value++) {
    const length = random.below(SLOT_BYTES) + 1;
    const slot = writer.put(filled(length, value));
    if (slot === null) refused++;
    else {
      assert.ok(!held.some((other) => other.slot.index === slot.index), `slot ${slot.index} is still needed`);
      held.push({ slot, value });
    }
    most = Math.max(most, held.length);
    // Now and then nobody reads for a while.
    while (held.length > 0 && random.below(slot === null ? 2 : 4) === 0) {
      const [{ slot: one, value: what }] = held.splice(random.below(held.length), 1) as [(typeof held)[0]];
      assert.equal(Buffer.compare(reader.view(one), filled(one.length, what)), 0, `number ${what}`);
      reader.free(one);
    }
  }
  assert.ok(refused > 50, `${refused} refused`);
  assert.ok(most >= 8, `${most} at once`);
});

test('answer slots: more than a slot holds is refused, and so is everything while all are needed', () => {
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  assert.equal(writer.put(filled(SLOT_BYTES + 1, 1)), null);
  const slots: Slot[] = [];
  for (;;) {
    const slot = writer.put(filled(SLOT_BYTES, slots.length));
    if (slot === null) break;
    slots.push(slot);
  }
  slots.forEach((slot, value) => {
    assert.equal(Buffer.compare(reader.view(slot), filled(SLOT_BYTES, value)), 0);
  });
  reader.free(slots[3]!);
  assert.equal(writer.put(filled(5, 5))?.index, slots[3]!.index);
  assert.equal(writer.put(filled(5, 6)), null);
});

test('answer slots: a copy does not change when its slot is used again', () => {
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  const slot = writer.put(filled(70_000, 1))!;
  const copy = ownCopy(reader.view(slot));
  reader.free(slot);
  assert.equal(writer.put(filled(70_000, 2))?.index, slot.index);
  assert.equal(Buffer.compare(copy, filled(70_000, 1)), 0);
  assert.equal(copy.buffer.byteLength, 70_000);
  assert.equal(ownCopy(new Uint8Array(0)).length, 0);
});
