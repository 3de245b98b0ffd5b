import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kept, newSlots, type Slot, SlotReader, SlotWriter } from '../../../workers/queries/answer-slots.ts';
import { Random, testSeed } from '../../support/random.ts';

const SLOT_BYTES = 144 << 10;

const filled = (length: number, value: number): Uint8Array => new Uint8Array(length).fill(value & 0xff);

test('answer slots: what is put is there until its slots are free, in whatever order they become free', () => {
  const random = new Random(testSeed('answer-slots'));
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  const held: { slot: Slot; value: number }[] = [];
  let refused = 0;
  let several = 0;
  let most = 0;
  for (let value = 1; value <= 3000; value++) {
    const length = random.below(value % 7 === 0 ? SLOT_BYTES * 4 : SLOT_BYTES) + 1;
    const slots = writer.put(filled(length, value));
    if (slots === null) refused++;
    else {
      assert.equal(
        slots.reduce((sum, slot) => sum + slot.length, 0),
        length,
      );
      if (slots.length > 1) several++;
      for (const slot of slots) {
        assert.ok(!held.some((other) => other.slot.index === slot.index), `slot ${slot.index} is still needed`);
        held.push({ slot, value });
      }
    }
    most = Math.max(most, held.length);
    // Now and then nobody reads for a while.
    while (held.length > 0 && random.below(slots === null ? 2 : 4) === 0) {
      const [{ slot: one, value: what }] = held.splice(random.below(held.length), 1) as [(typeof held)[0]];
      assert.equal(Buffer.compare(reader.view(one), filled(one.length, what)), 0, `number ${what}`);
      reader.free(one);
    }
  }
  assert.ok(refused > 50, `${refused} refused`);
  assert.ok(several > 20, `${several} in several`);
  assert.ok(most >= 8, `${most} at once`);
});

test('answer slots: bytes in several come together again in their order', () => {
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  const between = writer.put(filled(1, 1))!;
  const bytes = Buffer.alloc(SLOT_BYTES * 3 + 77);
  for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(at, Math.min(at, bytes.length - 4));
  const slots = writer.put(bytes)!;
  assert.equal(slots.length, 4);
  const taken = reader.take(slots);
  assert.equal(Buffer.compare(taken, bytes), 0);
  // They are free, and what was taken does not change when they are used again.
  assert.equal(writer.put(filled(SLOT_BYTES * 15, 2))?.length, 15);
  assert.equal(Buffer.compare(taken, bytes), 0);
  assert.equal(Buffer.compare(reader.view(between[0]!), filled(1, 1)), 0);
});

test('answer slots: more than is free is refused, and nothing is taken for it', () => {
  const shared = newSlots();
  const writer = new SlotWriter(shared);
  const reader = new SlotReader(shared);
  assert.equal(writer.put(filled(SLOT_BYTES * 17, 1)), null);
  const slots = Array.from({ length: 16 }, (_, value) => writer.put(filled(SLOT_BYTES, value))![0]!);
  assert.equal(writer.put(filled(5, 6)), null);
  slots.forEach((slot, value) => {
    assert.equal(Buffer.compare(reader.view(slot), filled(SLOT_BYTES, value)), 0);
  });
  reader.free(slots[3]!);
  assert.equal(writer.put(filled(SLOT_BYTES + 1, 5)), null);
  assert.equal(writer.put(filled(5, 5))?.[0]?.index, slots[3]!.index);
});

test('answer slots: what is kept of a slot is a copy of its own, and the slot is free', () => {
  let freed = 0;
  const free = () => void freed++;
  const chunk = Buffer.from(new SharedArrayBuffer(70_000)).fill(1);
  const copy = kept(chunk, free);
  assert.equal(Buffer.compare(copy, filled(70_000, 1)), 0);
  assert.equal(copy.buffer.byteLength, 70_000);
  assert.equal(kept(new Uint8Array(0), free).length, 0);
  assert.equal(freed, 2);
  assert.equal(kept(chunk), chunk);
});

test('answer slots: they are scarce as long as fewer than eight are free', () => {
  const shared = newSlots();
  const [writer, reader] = [new SlotWriter(shared), new SlotReader(shared)];
  const held: Slot[] = [];
  for (let count = 1; count <= 16; count++) {
    held.push(...writer.put(filled(10, count))!);
    assert.equal(reader.areScarce, count > 8, `${count} taken`);
  }
  assert.equal(writer.put(filled(10, 0)), null);
  for (const [count, slot] of held.entries()) {
    assert.equal(reader.areScarce, count < 8, `${count} freed`);
    reader.free(slot);
  }
  assert.equal(reader.areScarce, false);
});
