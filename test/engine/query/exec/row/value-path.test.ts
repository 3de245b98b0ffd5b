import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { storedText } from '../../../../../engine/json/stored.ts';
import type { JsonValue } from '../../../../../engine/json/value.ts';
import { ValuePath } from '../../../../../engine/query/exec/row/value-path.ts';
import type { PathPart } from '../../../../../engine/query/tree.ts';
import { encodeFact, StoredFact } from '../../../../../engine/store/records/bodies.ts';
import { testSeed } from '../../../../support/random.ts';

const seed = testSeed('value-path');

const keys = fc.constantFrom('a', 'b', '0', '1', '01', 'x"y', 'é', '', '\ud800', '\ufffd');
const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(null, false, 12, 'x', ']', '"', '\\', 12345678901234567890n),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      keys.filter((key) => key !== '\ud800'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ) as fc.Arbitrary<JsonValue>,
}));
const parts = fc.array(
  fc.oneof(
    keys.map((name): PathPart => ({ kind: 'name', name, quoted: false })),
    fc.tuple(keys, fc.nat(3)).map(([name, index]): PathPart => ({ kind: 'indexed', name, index })),
    fc.constant<PathPart>({ kind: 'match', pattern: '.' }),
  ),
  { maxLength: 4 },
);

test('a path leads to the same in the stored text as in the value', () => {
  fc.assert(
    fc.property(values, parts, fc.boolean(), (value, steps, digitsAreIndexes) => {
      const fact = new StoredFact();
      fact.load(encodeFact({ name: 'f', value: storedText(value) }));
      const path = new ValuePath(steps, digitsAreIndexes);
      assert.deepEqual(path.findInFact(fact), path.find(fact.value));
    }),
    { seed, numRuns: 3000 },
  );
});

test('a path finds members, elements, and a scalar as a list of itself', () => {
  const fact = new StoredFact();
  fact.load(encodeFact({ name: 'f', value: '{"a":[1,{"b":"c"}],"d":"e","5":[7]}' }));
  const name = (text: string): PathPart => ({ kind: 'name', name: text, quoted: false });
  const indexed = (text: string, index: number): PathPart => ({ kind: 'indexed', name: text, index });
  const find = (steps: readonly PathPart[], digits = false): unknown => new ValuePath(steps, digits).findInFact(fact);
  assert.equal(find([indexed('a', 1), name('b')]), 'c');
  assert.equal(find([indexed('a', 2)]), undefined);
  assert.equal(find([indexed('d', 0)]), 'e');
  assert.equal(find([indexed('d', 1)]), undefined);
  assert.equal(find([name('a'), name('1'), name('b')]), undefined);
  assert.equal(find([name('a'), name('1'), name('b')], true), 'c');
  assert.deepEqual(find([name('5')], true), [7]);
  assert.deepEqual(find([]), fact.value);
});
