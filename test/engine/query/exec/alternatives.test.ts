import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gathered } from '../../../../engine/query/exec/alternatives.ts';
import type { Filter } from '../../../../engine/query/tree.ts';

const eq = (field: string, value: string | number, nullSafe = false): Filter => ({
  kind: 'eq',
  field,
  value,
  nullSafe,
});
const isOneOf = (field: string, ...values: string[]): Filter => ({ kind: 'in', field, values });
const or = (...args: Filter[]): Filter => ({ kind: 'or', args });
const and = (...args: Filter[]): Filter => ({ kind: 'and', args });
const not = (arg: Filter): Filter => ({ kind: 'not', arg });
const parameter = (name: string, text: string): Filter => ({ kind: 'parameter', op: '=', name, text });

describe('alternatives', () => {
  it('of one text field become a list, however they are written and nested', () => {
    const nested = or(eq('title', 'a'), or(isOneOf('title', 'b', 'c'), or(eq('title', 'd'))));
    assert.deepEqual(gathered(nested), isOneOf('title', 'a', 'b', 'c', 'd'));
    assert.deepEqual(gathered(and(nested)), and(gathered(nested)));
    assert.deepEqual(gathered(not(nested)), not(gathered(nested)));
  });
  it('of several fields become a list each, in place', () => {
    const mixed = or(
      eq('title', 'a'),
      { kind: 'null', field: 'file' },
      eq('type', 'x'),
      eq('title', 'b'),
      eq('type', 'y'),
    );
    const gatheredToo = or(isOneOf('title', 'a', 'b'), { kind: 'null', field: 'file' }, isOneOf('type', 'x', 'y'));
    assert.deepEqual(gathered(mixed), gatheredToo);
  });
  it('of values and of one parameter, too', () => {
    const value = (...values: (string | number)[]): Filter => ({ kind: 'value-in', field: 'value', values });
    assert.deepEqual(gathered(or(value('a'), value(1, 'b'))), value('a', 1, 'b'));
    assert.deepEqual(gathered(or(parameter('p', '1'), parameter('q', '2'), parameter('p', '3'), parameter('p', '4'))), {
      kind: 'or',
      args: [{ ...parameter('p', '1'), others: ['3', '4'] }, parameter('q', '2')],
    });
  });
  it('that treat null otherwise, or have no text, stay', () => {
    for (const filter of [
      or(eq('title', 'a', true), eq('title', 'b', true)),
      or(eq('title', 'a'), isOneOf('title')),
      or(eq('line', 1), eq('line', 2)),
      or({ ...parameter('p', 'a'), op: '~' } as Filter, { ...parameter('p', 'b'), op: '~' } as Filter),
    ]) {
      assert.deepEqual(gathered(filter), filter);
    }
  });
  it('that are negated become conditions of their own, as do those that are negated together', () => {
    const [a, b] = [eq('title', 'a'), eq('type', 'b')];
    const isNull: Filter = { kind: 'null', field: 'file' };
    assert.deepEqual(gathered(not(or(a, b))), and(not(a), not(b)));
    assert.deepEqual(gathered(not(and(a, isNull))), or(not(a), not(isNull)));
    assert.deepEqual(gathered(not(or(a, and(b, not(isNull))))), and(not(a), or(not(b), isNull)));
    assert.deepEqual(gathered(not(not(a))), a);
    const above: Filter = { kind: 'order', field: 'line', op: '>', value: 3 };
    assert.deepEqual(gathered(not(or(above, isNull))), and({ ...above, op: '<=' }, not(isNull)));
    assert.deepEqual(gathered(not({ ...above, op: '<=' })), above);
    assert.deepEqual(gathered(not(or(a, eq('title', 'c'), b))), and(not(isOneOf('title', 'a', 'c')), not(b)));
  });
  it('that stay are the same objects: what a subquery found is kept by its condition', () => {
    const one = eq('title', 'a');
    const other: Filter = { kind: 'node-state', state: 'active' };
    const { args } = gathered(or(one, other)) as { args: readonly Filter[] };
    assert.equal(args[0], one);
    assert.equal(args[1], other);
    const negated = gathered(not(or(one, other))) as { args: readonly { arg: Filter }[] };
    assert.deepEqual(
      negated.args.map(({ arg }) => arg === one || arg === other),
      [true, true],
    );
  });
});
