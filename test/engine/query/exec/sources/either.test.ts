// Conditions that look at a node and an item together: which nodes and items tell where they can be true, and that the rows are those that
// pass.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ExecContext } from '../../../../../engine/query/exec/plan/context.ts';
import { Row } from '../../../../../engine/query/exec/row/row.ts';
import { eitherOf } from '../../../../../engine/query/exec/sources/either.ts';
import type { Filter } from '../../../../../engine/query/tree.ts';
import { ask, catalog, contextOptions, type Fleet, newFleet } from '../../request/fleet.ts';
import { sourceOf } from '../source-of.ts';

const NODES = 40;
const TYPES = ['File', 'Package', 'Service', 'User'];
const name = (node: number): string => `n${node}.example.com`;

interface Resource {
  readonly certname: string;
  readonly type: string;
  readonly title: string;
  readonly tags: readonly string[];
}

let fleet: Fleet;
let all: readonly Resource[];

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const resources = Array.from({ length: 20 }, (_, n) => ({
      type: TYPES[n % TYPES.length]!,
      title: `t${n}`,
      exported: false,
      // Most have their node's name among their tags, and one has that of another node.
      tags: ['class', ...(n < 15 ? [name(i)] : []), ...(n === 17 ? [name(3)] : [])],
      file: null,
      line: null,
      parameters: {},
    }));
    fleet.apply('replace catalog', 9, { ...catalog(name(i)), edges: [], resources });
  }
  all = asked('["~", "certname", "."]');
  assert.equal(all.length, NODES * 20);
});
after(() => fleet.close());

function asked(query: string, more: Record<string, string> = {}): Resource[] {
  const { head, text } = ask(fleet, { path: '/resources', query: { query, ...more } });
  assert.equal(head.status, 200, text);
  return JSON.parse(text) as Resource[];
}

const place = ({ certname, type, title }: Resource): string => `${certname} ${type} ${title}`;

const cases: readonly (readonly [query: string, test: (row: Resource) => boolean])[] = [
  [`["=", "tag", "${name(3)}"]`, ({ tags }) => tags.includes(name(3))],
  [
    `["and", ["=", "tag", "${name(3)}"], ["=", "type", "User"]]`,
    (it) => it.tags.includes(name(3)) && it.type === 'User',
  ],
  [
    `["or", ["=", "certname", "${name(5)}"], ["=", "type", "User"]]`,
    (it) => it.certname === name(5) || it.type === 'User',
  ],
  [
    `["or", ["and", ["=", "certname", "${name(5)}"], ["=", "type", "File"]], ["~", "title", "^t1$"]]`,
    (it) => (it.certname === name(5) && it.type === 'File') || it.title === 't1',
  ],
  [
    `["or", ["=", "tag", "${name(4)}"], ["and", ["~", "certname", "^n1"], ["=", "title", "t19"]]]`,
    (it) => it.tags.includes(name(4)) || (it.certname.startsWith('n1') && it.title === 't19'),
  ],
  [
    `["and", ["=", "type", "User"], ["or", ["=", "certname", "${name(5)}"], ["=", "title", "t3"]]]`,
    (it) => it.type === 'User' && (it.certname === name(5) || it.title === 't3'),
  ],
  [`["not", ["=", "tag", "${name(3)}"]]`, ({ tags }) => !tags.includes(name(3))],
  [
    `["or", ["not", ["=", "tag", "${name(3)}"]], ["=", "certname", "${name(3)}"]]`,
    (it) => !it.tags.includes(name(3)) || it.certname === name(3),
  ],
];

it('the rows are those that pass, in any order and counted', () => {
  for (const [query, test] of cases) {
    const wanted = all.filter(test).map(place).sort();
    assert.ok(wanted.length > 0, query);
    assert.deepEqual(asked(query).map(place).sort(), wanted, query);
    const ordered = { order_by: '[{"field":"certname"},{"field":"title"}]' };
    assert.deepEqual(asked(query, ordered).map(place).sort(), wanted, query);
    const counted = ask(fleet, {
      path: '/resources',
      query: { query: `["extract", [["function", "count"]], ${query}]` },
    });
    assert.equal(counted.text, `[{"count":${wanted.length}}]`, query);
  }
});

/** How many nodes of which all rows, and items of which those of other nodes are to be looked at; null: all. */
function told(filter: Filter): { nodes: number; items: number } | null {
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const source = sourceOf({ entity: 'resources', filter }, ctx);
    let nodes = 0;
    let items = 0;
    for (const part of source.parts) {
      const row = new Row(ctx.view(part), part);
      const finding = source.nodes(row);
      let found = finding.next();
      while (!found.done) found = finding.next();
      const work = eitherOf(source.split.mixed, found.value, row, source.items);
      let step = work.next();
      while (!step.done) step = work.next();
      if (step.value === null) return null;
      nodes += step.value.nodes.count();
      for (const item of row.view.resources.ids()) items += step.value.items.get(item);
    }
    return { nodes, items };
  } finally {
    ctx.close();
  }
}

it('nodes and items tell where such a condition can be true, if they tell it of all its alternatives', () => {
  const node: Filter = { kind: 'eq', field: 'certname', value: name(5), nullSafe: false };
  const item: Filter = { kind: 'eq', field: 'type', value: 'User', nullSafe: false };
  const own: Filter = { kind: 'member', field: 'tag', value: name(3) };
  assert.deepEqual(told({ kind: 'or', args: [node, item] }), { nodes: 1, items: 2 * 5 });
  // One shared body in each partition has the name as a tag that is not its node's own.
  assert.deepEqual(told(own), { nodes: 1, items: 2 });
  assert.deepEqual(told({ kind: 'or', args: [own, { kind: 'and', args: [own, node] }] }), { nodes: 2, items: 2 });
  assert.equal(told({ kind: 'not', arg: own }), null);
  assert.equal(told({ kind: 'or', args: [node, { kind: 'not', arg: own }] }), null);
});
