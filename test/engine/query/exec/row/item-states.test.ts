// Numbers kept by item: in a map while they are few, in an array when there are more, in a map again where an array would be large.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ItemStates, KeptItems } from '../../../../../engine/query/exec/row/item-states.ts';

for (const [name, end, Numbers, max] of [
  ['bytes', 1000, Uint8Array, 255],
  ['words', 1000, Uint32Array, 1e9],
  ['too many for an array', 2 ** 31, Uint8Array, 255],
] as const) {
  it(`what was set is there, whatever their number: ${name}`, () => {
    const states = new ItemStates(end, Numbers);
    const wanted = new Map<number, number>();
    for (let i = 0; i < 500; i++) {
      const id = (i * 7) % 997;
      assert.equal(states.get(id), 0);
      states.set(id, (i + 1) % max);
      wanted.set(id, (i + 1) % max);
      if (i % 50 === 0) for (const [known, state] of wanted) assert.equal(states.get(known), state);
    }
    states.set(7, 0);
    wanted.set(7, 0);
    for (let id = 0; id < 1000; id++) assert.equal(states.get(id), wanted.get(id) ?? 0);
  });
}

it('what is met once is not kept, before and after there are many', () => {
  const kept = new KeptItems<string>(300);
  for (let id = 0; id < 300; id++) {
    assert.equal(kept.meets(id), false);
    assert.equal(kept.get(id), undefined);
    assert.equal(kept.meets(id), true);
    if (id % 3 === 0) kept.keep(id, `item ${id}`);
  }
  for (let id = 0; id < 300; id++) assert.equal(kept.get(id), id % 3 === 0 ? `item ${id}` : undefined);
});

it('an array over all items is made when there are many, or some that are looked for often, not for the items of one node', () => {
  const END = 3_000_000;
  const arrays = (): number => process.memoryUsage().arrayBuffers;
  const before = arrays();
  const states = new ItemStates(END, Uint32Array);
  for (let id = 0; id < 5000; id++) states.set(id * 500, id);
  assert.ok(arrays() - before < END, `${arrays() - before} bytes for 5,000 items`);
  const often = new ItemStates(END, Uint32Array);
  for (let id = 0; id < 1000; id++) often.set(id, id);
  for (let look = 0; look < 20_000; look++) assert.equal(often.get(look % 2000), look % 2000 < 1000 ? look % 2000 : 0);
  assert.ok(arrays() - before > END * 3, `${arrays() - before} bytes for 1,000 items that are looked for often`);
  for (let id = 0; id < 60_000; id++) states.set(id, 1);
  assert.ok(arrays() - before > END * 7, `${arrays() - before} bytes for 60,000 items, too`);
  assert.equal(often.get(999), 999);
});
