// Conditions on nodes may be very many, such as the paths that a `match()` finds: they give way between one another. Of certnames
// that begin in a certain way no others are looked at.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { JsonValue } from '../../../../../engine/json/value.ts';
import { type CompileScope, scopeOf } from '../../../../../engine/query/exec/filter/filter.ts';
import { evaluateNodes } from '../../../../../engine/query/exec/filter/node-filter.ts';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import { Row } from '../../../../../engine/query/exec/row/row.ts';
import type { Filter } from '../../../../../engine/query/tree.ts';
import { NodeSet } from '../../../../../engine/store/items/node-set.ts';
import { NODES_ALL } from '../../../../../engine/store/records/tables.ts';
import { contextOptions, facts, newFleet } from '../../request/fleet.ts';

/** Compares a fact, or a member of one: names with dots between them. */
const fact = (path: string, op: '=' | '~' | '>' | 'null?', value: JsonValue): Filter => ({
  kind: 'json',
  root: 'facts',
  parts: path.split('.').map((name) => ({ kind: 'name', name, quoted: false })),
  op,
  value,
});

/** Certnames of the nodes that the condition finds, sorted. `asked`: of these, or else of all. */
const found = (ctx: ExecContext, scope: CompileScope, filter: Filter, asked?: readonly string[]): string[] =>
  ctx.views
    .flatMap((view, part) => {
      const candidates = asked === undefined ? view.set(NODES_ALL) : new NodeSet(view.maxNodeId + 1);
      for (const node of asked?.map((name) => view.nodeId(name)) ?? []) if (node !== 0) candidates.add(node);
      const work = evaluateNodes(filter, candidates, new Row(view, part), scope);
      let step = work.next();
      while (!step.done) step = work.next();
      return Array.from(step.value.yes.toArray(), (node) => view.node(node)!.certname);
    })
    .sort();

it('conditions on nodes give way between one another', async () => {
  const fleet = newFleet();
  for (let i = 0; i < 100; i++) fleet.apply('replace facts', 5, facts(`n${i}`, { kernel: 'Linux' }));
  const ctx = new ExecContext(fleet.partitions, { ...contextOptions, slice: 0 });
  try {
    const named = (name: string): Filter => ({ kind: 'eq', field: 'certname', value: name, nullSafe: false });
    const args = Array.from({ length: 50 }, (_, i) => named(`n${i}`));
    for (const kind of ['and', 'or'] as const) {
      const found = ctx.views.map((view, part) => {
        const work = evaluateNodes({ kind, args }, view.set(NODES_ALL), new Row(view, part), scopeOf(ctx, 'nodes'));
        let pauses = 0;
        for (;;) {
          const { done, value } = work.next();
          if (done) {
            assert.equal(pauses, args.length);
            return value.yes.count();
          }
          pauses++;
        }
      });
      assert.equal(
        found.reduce((sum, count) => sum + count),
        kind === 'or' ? args.length : 0,
      );
    }
  } finally {
    ctx.close();
    await fleet.close();
  }
});

it('certnames by regular expression: those alone that begin as it does, long and odd ones, too', async () => {
  const long = 'L'.repeat(1100);
  const names = [
    ...Array.from({ length: 80 }, (_, i) => `web-${i}`),
    'web',
    'wec',
    'we',
    'WEB-1',
    'é1',
    'é2',
    'f',
    '🎉1',
    '🎉2',
    ...['a', 'b', 'ba', 'c'].map((end) => long + end),
    ...Array.from({ length: 300 }, (_, i) => `x-${i}`),
  ];
  const cases: [pattern: string, looks: number][] = [
    ['^web-7', 11],
    ['^web-[0-9]$', 80],
    ['^web', 81],
    ['^é', 2],
    ['^🎉.', 2],
    [`^${long}b`, 4],
    ['^zz', 0],
    // So many that a look at every record is cheaper.
    ['^x', names.length],
  ];
  const fleet = newFleet();
  for (const name of names) fleet.apply('replace facts', 5, facts(name, { kernel: 'Linux' }));
  try {
    for (const [pattern, looks] of cases) {
      const ctx = new ExecContext(fleet.partitions, contextOptions);
      try {
        let looked = 0;
        const { test, ...matcher } = ctx.regex(pattern);
        const counting = { ...matcher, test: (name: string) => ++looked > 0 && test(name) };
        const scope = scopeOf(Object.assign(ctx, { regex: () => counting }), 'nodes');
        const filter: Filter = { kind: 'regex', field: 'certname', pattern, nullIsFalse: false };
        const wanted = new RegExp(pattern, 'u');
        assert.deepEqual(found(ctx, scope, filter), names.filter((name) => wanted.test(name)).sort(), pattern);
        assert.equal(looked, looks, pattern);
      } finally {
        ctx.close();
      }
    }
  } finally {
    await fleet.close();
  }
});

it('conditions on certnames and facts find none but candidates', async () => {
  const fleet = newFleet();
  const names = Array.from({ length: 200 }, (_, i) => `n${i}`);
  for (const name of names) fleet.apply('replace facts', 5, facts(name, { kernel: 'Linux', team: name.slice(-1) }));
  const cases: [filter: Filter, test: (name: string) => boolean][] = [
    [{ kind: 'eq', field: 'certname', value: 'n7', nullSafe: false }, (name) => name === 'n7'],
    [{ kind: 'in', field: 'certname', values: ['n7', 'n8'] }, (name) => name === 'n7' || name === 'n8'],
    [{ kind: 'regex', field: 'certname', pattern: '^n7', nullIsFalse: false }, (name) => name.startsWith('n7')],
    [fact('kernel', '=', 'Linux'), () => true],
    [fact('team', '~', '[78]'), (name) => /[78]$/.test(name)],
  ];
  const asked = names.filter((name) => !name.endsWith('7'));
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    for (const [filter, test] of cases) {
      const wanted = asked.filter(test).sort();
      assert.deepEqual(found(ctx, scopeOf(ctx, 'inventory'), filter, asked), wanted, JSON.stringify(filter));
    }
  } finally {
    ctx.close();
    await fleet.close();
  }
});

it('conditions on facts that are negated leave out what is unknown, of many nodes as of few', async () => {
  const fleet = newFleet();
  // Of each fact a name, none within, or nothing at all.
  const OS = [{ name: 'Linux' }, { family: 'x' }, null];
  const names = Array.from({ length: 240 }, (_, i) => `n${i}`);
  const kindOf = (name: string): number => Number(name.slice(1)) % OS.length;
  for (const name of names) {
    const os = OS[kindOf(name)];
    fleet.apply('replace facts', 5, facts(name, os === null ? { kernel: 'x' } : { kernel: 'x', os }));
  }
  const cases: [filter: Filter, kinds: number[]][] = [
    [fact('os.name', '~', '^Lin'), [2]],
    [fact('os.name', '~', '^AIX'), [0, 2]],
    [fact('os.name', '=', 'Linux'), [1, 2]],
    [fact('os.name', 'null?', true), [0]],
    [fact('os.name', 'null?', false), []],
  ];
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    for (const [arg, kinds] of cases) {
      for (const asked of [names, names.slice(0, 60)]) {
        const wanted = asked.filter((name) => kinds.includes(kindOf(name))).sort();
        const filter: Filter = { kind: 'not', arg };
        assert.deepEqual(found(ctx, scopeOf(ctx, 'inventory'), filter, asked), wanted, JSON.stringify(arg));
        // Of what is unknown nothing more is known beside what is true, or false.
        const [yes, no]: Filter[] = [fact('kernel', '=', 'x'), fact('kernel', '=', 'y')];
        for (const whole of [
          { kind: 'and', args: [arg, yes!] },
          { kind: 'or', args: [no!, arg] },
        ] as Filter[])
          assert.deepEqual(found(ctx, scopeOf(ctx, 'inventory'), { kind: 'not', arg: whole }, asked), wanted);
      }
    }
  } finally {
    ctx.close();
    await fleet.close();
  }
});

it('facts whose long names begin alike are told apart', async () => {
  const fleet = newFleet();
  const [one, other] = ['a', 'b'].map((end) => `${'long'.repeat(200)}${end}`);
  const names = Array.from({ length: 100 }, (_, i) => `n${i}`).sort();
  for (const [i, name] of names.entries())
    fleet.apply('replace facts', 5, facts(name, { [i % 2 === 0 ? one! : other!]: 1 }));
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const scope = scopeOf(ctx, 'inventory');
    for (const op of ['=', '~', '>'] as const) {
      const wanted = names.filter((_, i) => i % 2 === 0);
      assert.deepEqual(found(ctx, scope, fact(one!, op, op === '~' ? '1' : op === '>' ? 0 : 1)), wanted, op);
    }
  } finally {
    ctx.close();
    await fleet.close();
  }
});

it('conditions on facts: of few nodes that are left their own facts are looked at, not all that there are of the name', async () => {
  const fleet = newFleet();
  const NODES = 400;
  for (let i = 0; i < NODES; i++) {
    const values = { kernel: i % 4 === 0 ? 'Linux' : 'AIX', team: i % 4, uuid: `u${i}`, os: { name: `o${i % 5}` } };
    fleet.apply('replace facts', 5, facts(`n${i}`, i % 8 === 0 ? values : { ...values, serial: i }));
  }
  const uuid = fact('uuid', '~', '^u[0-9]*4$');
  const isWanted = (i: number): boolean => i % 4 === 0 && i % 10 === 4;
  // Of each: how many values are tested by the pattern.
  const cases: [args: Filter[], test: (i: number) => boolean, looks: number][] = [
    [[uuid], (i) => i % 10 === 4, NODES],
    [[uuid, fact('kernel', '=', 'Linux')], isWanted, NODES / 4],
    [[fact('team', '=', 0), uuid], isWanted, NODES / 4],
    [[uuid, fact('team', '=', 0)], isWanted, NODES / 4],
    [[fact('kernel', '~', '^(Lin|AI)'), uuid], (i) => i % 10 === 4, NODES + 4],
    [[fact('team', '=', 0), uuid, fact('serial', '>', 100)], (i) => isWanted(i) && i % 8 !== 0 && i > 100, NODES / 4],
  ];
  try {
    for (const [args, test, looks] of cases) {
      for (const kind of ['and', 'not'] as const) {
        const ctx = new ExecContext(fleet.partitions, contextOptions);
        try {
          let looked = 0;
          const { regex } = ctx;
          const counting = (pattern: string) => {
            const matcher = regex(pattern);
            return { ...matcher, test: (text: string) => ++looked > 0 && matcher.test(text) };
          };
          const scope = scopeOf(Object.assign(ctx, { regex: counting }), 'inventory');
          const both: Filter = { kind: 'and', args };
          const filter: Filter = kind === 'and' ? both : { kind: 'not', arg: { kind: 'not', arg: both } };
          const wanted = Array.from({ length: NODES }, (_, i) => i).filter(test);
          const names = wanted.map((i) => `n${i}`).sort();
          assert.deepEqual(found(ctx, scope, filter), names, JSON.stringify(args));
          assert.equal(looked, looks, JSON.stringify(args));
        } finally {
          ctx.close();
        }
      }
    }
  } finally {
    await fleet.close();
  }
});
