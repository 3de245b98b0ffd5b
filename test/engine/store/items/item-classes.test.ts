// Classes of items: equal where the fields at the places are equal, over the dictionaries of one budget, and found again after
// the budget was used up.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ClassBudget } from '../../../../engine/store/items/item-classes.ts';
import { encodePackage, PACKAGE, StoredPackage } from '../../../../engine/store/records/bodies.ts';

function record(name: string, version: string): StoredPackage {
  const stored = new StoredPackage();
  stored.load(encodePackage({ name, version, provider: 'apt' }));
  return stored;
}

it('items that are equal in the fields have one class, others have others', () => {
  const budget = new ClassBudget();
  const first = budget.open('package', [PACKAGE.name]);
  const second = budget.open('package', [PACKAGE.name]);
  const whole = budget.open('package', [PACKAGE.name, PACKAGE.version]);
  assert.equal(first.get(1), 0);
  const bash = first.add(1, record('bash', '1'));
  assert.notEqual(bash, 0);
  assert.equal(first.get(1), bash);
  assert.equal(first.add(5000, record('bash', '2')), bash);
  assert.equal(second.add(9, record('bash', '3')), bash, 'the same over the partitions of a thread');
  assert.notEqual(first.add(2, record('zsh', '1')), bash);
  assert.notEqual(whole.add(1, record('bash', '1')), whole.add(2, record('bash', '2')));
  assert.notEqual(whole.get(1), bash, 'by other fields other numbers');
});

it('what is equal in one field after the other is not taken for equal', () => {
  const classes = new ClassBudget().open('package', [PACKAGE.name, PACKAGE.version]);
  assert.notEqual(classes.add(1, record('a', 'b"\n"c')), classes.add(2, record('a"\n"b', 'c')));
});

it('beyond its bound everything is forgotten and found again', () => {
  const budget = new ClassBudget();
  const classes = budget.open('package', [PACKAGE.name]);
  const long = 'x'.repeat(1 << 20);
  let forgotten = 0;
  for (let id = 1; id <= 40; id++) {
    const number = classes.add(id, record(`${id}${long}`, '1'));
    assert.notEqual(number, 0);
    if (id > 1 && classes.get(id - 1) === 0) forgotten++;
  }
  assert.ok(forgotten > 0);
  assert.ok(forgotten < 10);
  const again = classes.add(40, record(`40${long}`, '1'));
  assert.equal(classes.get(40), again);
});
