import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { gathered } from '../../../../../engine/query/exec/filter/alternatives.ts';
import { compileFilter, scopeOf } from '../../../../../engine/query/exec/filter/filter.ts';
import { FALSE, TRUE, type Truth, UNKNOWN } from '../../../../../engine/query/exec/filter/truth.ts';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import { END, ROW } from '../../../../../engine/query/exec/sources/cursor.ts';
import { TreeRows } from '../../../../../engine/query/exec/sources/rows.ts';
import type { Filter } from '../../../../../engine/query/tree.ts';
import { processorTime } from '../../../../support/processor-time.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, catalog, contextOptions, newFleet } from '../../request/fleet.ts';
import { sourceOf } from '../source-of.ts';

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
    const pair = (...texts: readonly [string, string]): Filter => or(...texts.map((text) => parameter('p', text)));
    assert.deepEqual(gathered(or(pair('1', '2'), pair('3', '4'))), {
      ...parameter('p', '1'),
      others: ['2', '3', '4'],
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

describe('very many alternatives that compare a text each', () => {
  const random = new Random(testSeed('alternatives'));
  const fleet = newFleet();
  after(() => fleet.close());
  const files = [null, ...Array.from({ length: 15 }, (_, i) => `f${i}`)];
  for (let node = 0; node < 40; node++) {
    const resources = Array.from({ length: 12 }, (_, i) => ({
      type: random.pick(['File', 'User']),
      title: `t${node}-${i}`,
      exported: false,
      tags: ['x'],
      file: random.pick(files),
      line: random.pick([null, 1, 2, 3]),
      parameters: {},
    }));
    fleet.apply('replace catalog', 9, { ...catalog(`n${node}`), edges: [], resources });
  }
  const line = (): Filter => ({
    kind: 'order',
    field: 'line',
    op: random.pick(['<', '>='] as const),
    value: random.below(4),
  });
  const arm = (): Filter => {
    const file = random.pick([eq('file', `f${random.below(20)}`), isOneOf('file', `f${random.below(20)}`, 'f3')]);
    return random.pick([file, and(file, line()), and(line(), file, eq('type', 'User')), and(file, not(line()))]);
  };

  it('are true, false and unknown for the same rows as one by one', () => {
    const ctx = new ExecContext(fleet.partitions, contextOptions);
    const scope = scopeOf(ctx, 'resources');
    const counts = [0, 0, 0];
    for (let round = 0; round < 20; round++) {
      const args = Array.from({ length: 20 + random.below(40) }, arm);
      // Not all of them compare the file then.
      if (round % 4 === 3) args.splice(random.between(1, args.length), 0, and(eq('type', 'User'), line()));
      const { test } = compileFilter(or(...args), scope);
      const tests = args.map((arg) => compileFilter(arg, scope).test);
      const rows = new TreeRows(sourceOf({ entity: 'resources', filter: null }, ctx));
      for (let step = rows.next(); step !== END; step = rows.next()) {
        if (step !== ROW) continue;
        const truths = tests.map((one) => one(rows.row));
        const wanted: Truth = truths.includes(TRUE) ? TRUE : truths.includes(UNKNOWN) ? UNKNOWN : FALSE;
        assert.equal(test(rows.row), wanted);
        counts[wanted]!++;
      }
    }
    assert.ok(
      counts.every((count) => count > 0),
      String(counts),
    );
    ctx.close();
  });

  it('of nodes and titles have the rows of each, however many they are', () => {
    const certname = (i: number): string => `n${i % 40}`;
    const pairs = (count: number): string =>
      JSON.stringify([
        'or',
        ...Array.from({ length: count }, (_, i) => [
          'and',
          ['=', 'certname', certname(i)],
          ['=', 'title', `t${i % 80 === i ? i % 40 : 'no'}-${i % 12}`],
        ]),
      ]);
    for (const count of [19, 20, 480, 11_000]) {
      const { head, text } = ask(fleet, { path: '/resources', query: { query: pairs(count) } });
      assert.equal(head.status, 200, text);
      const found = (JSON.parse(text) as { certname: string; title: string }[]).map(
        (row) => `${row.certname} ${row.title}`,
      );
      const wanted = Array.from({ length: Math.min(count, 80) }, (_, i) => `${certname(i)} t${i % 40}-${i % 12}`);
      assert.deepEqual(found.sort(), [...new Set(wanted)].sort());
    }
  });

  it('with long lists each, or in each other, each of them is compiled once', () => {
    const names = (count: number, from: number) => Array.from({ length: count }, (_, i) => `n${from + i}`);
    const arms = Array.from({ length: 20 }, (_, i) =>
      and(isOneOf('certname', ...names(3000, i)), eq('type', i % 2 === 0 ? 'File' : 'User')),
    );
    let nested: Filter = eq('title', 't1-1');
    for (let depth = 0; depth < 14; depth++) {
      const others = Array.from({ length: 20 }, (_, i) => and(eq('title', `x${i}`), eq('type', 'File')));
      nested = or(and(isOneOf('title', 't1-1', 't2-2'), nested), ...others);
    }
    const ctx = new ExecContext(fleet.partitions, contextOptions);
    const scope = scopeOf(ctx, 'resources');
    const spent = processorTime();
    compileFilter(or(...arms), scope);
    const rows = new TreeRows(sourceOf({ entity: 'resources', filter: nested }, ctx));
    let found = 0;
    for (let step = rows.next(); step !== END; step = rows.next()) if (step === ROW) found++;
    assert.equal(found, 1);
    // Seconds, and a heap that is full, when every text has its alternatives compiled for itself.
    assert.ok(spent() < 5000);
    ctx.close();
  });

  it('nested deeply among conditions they cost little, and others have their turns', () => {
    let query: unknown = ['or', ['=', 'certname', 'a'], ['=', 'type', 'File']];
    for (let i = 0; i < 240; i++) query = ['or', ['=', 'certname', `c${i}`], ['and', query, ['=', 'line', i]]];
    const spent = processorTime();
    const { head, text } = ask(fleet, { path: '/resources', query: { query: JSON.stringify(query) } });
    assert.deepEqual([head.status, text], [200, '[]']);
    // Without what is kept of the parts: half a minute.
    assert.ok(spent() < 10_000);
  });
});
