// A ref says which item it is in each dictionary of a name, also in those that were opened after it had been used.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BodyRef, ListRef, openRefs, Refs } from '../../../../engine/store/items/refs.ts';

test('refs: each dictionary has its own item, whenever it was opened', () => {
  const first = new Refs('some');
  const ref = new BodyRef();
  const other = new BodyRef();
  assert.equal(first.get(ref), 0);
  first.set(ref, 7);
  const later = [new Refs('some'), new Refs('some'), new Refs('some')] as const;
  assert.deepEqual(
    later.map((refs) => refs.get(ref)),
    [0, 0, 0],
  );
  later[2].set(ref, 9);
  later[0].set(ref, 8);
  assert.deepEqual(
    [first, ...later].map((refs) => refs.get(ref)),
    [7, 8, 0, 9],
  );
  later[1].set(other, 0xffff_ffff);
  assert.deepEqual(
    [first, ...later].map((refs) => refs.get(other)),
    [0, 0, 0xffff_ffff, 0],
  );
  // A ref that was never used shares nothing with one that was.
  assert.deepEqual(
    [first, ...later].map((refs) => refs.get(new BodyRef())),
    [0, 0, 0, 0],
  );
});

test('refs: a dictionary has the place of one that was closed, and nothing that it knew', () => {
  const others = [openRefs('open'), openRefs('open')] as const;
  const closing = openRefs('open');
  const [ref, list] = [new BodyRef(), new ListRef()];
  closing.set(ref, 7);
  const { length } = ref.items;
  closing.setList(list, Uint32Array.of(7));
  closing.close();
  let later = closing;
  for (let i = 0; i < 100; i++) {
    later = openRefs('open');
    assert.deepEqual([later.get(ref), later.list(list)], [0, null]);
    later.set(ref, 8);
    later.setList(list, Uint32Array.of(8));
    if (i < 99) later.close();
  }
  assert.deepEqual([later.get(ref), later.list(list)], [8, Uint32Array.of(8)]);
  assert.equal(ref.items.length, length);
  others[1].set(ref, 9);
  assert.deepEqual([others[0].get(ref), others[1].get(ref), later.get(ref)], [0, 9, 8]);
  assert.notEqual(openRefs('open'), later);
});

test('refs: what went is not found, nor anything from before its id was given anew', () => {
  const refs = new Refs('other');
  const [gone, stays] = [new BodyRef(), new BodyRef()];
  refs.set(gone, 3);
  refs.set(stays, 4);
  refs.drop(3);
  assert.deepEqual([refs.get(gone), refs.get(stays)], [0, 4]);
  refs.renew(3);
  assert.deepEqual([refs.get(gone), refs.get(stays)], [0, 0]);
  refs.set(stays, 3);
  assert.deepEqual([refs.get(gone), refs.get(stays)], [0, 3]);
});

test('refs: of ids of any size what went is not found, and what stays is', () => {
  const refs = new Refs('large');
  const ids = [1, 5, 0x0200_0003, 0x8000_0009, 0xffff_fffe];
  const known = ids.map((id) => {
    const ref = new BodyRef();
    refs.set(ref, id);
    return ref;
  });
  refs.drop(0x0200_0003);
  refs.drop(0xffff_fffe);
  assert.deepEqual(
    known.map((ref) => refs.get(ref)),
    [1, 5, 0, 0x8000_0009, 0],
  );
  // Given out for the first time, so nothing is forgotten for it, though it is remembered in the place of one that went.
  refs.renew(0xffff_ffff);
  assert.equal(refs.get(known[0]!), 1);
  refs.renew(0x0200_0003);
  assert.equal(refs.get(known[0]!), 0);
});
