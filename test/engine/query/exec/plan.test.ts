// Plans are data: which index a query uses, from which side it is driven, and how its conditions are told apart. The fleet is
// large enough that an index pays, and partly equal from node to node as real ones are.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseJson } from '../../../../engine/json/parse.ts';
import { execute } from '../../../../engine/query/exec/execute.ts';
import { partsOf } from '../../../../engine/query/exec/plan/compiled-selection.ts';
import { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import { planItems } from '../../../../engine/query/exec/plan/item-plan.ts';
import type { PartitionPlan } from '../../../../engine/query/exec/plan/selection.ts';
import { Row } from '../../../../engine/query/exec/row/row.ts';
import { END, ROW } from '../../../../engine/query/exec/sources/cursor.ts';
import { TreeRows } from '../../../../engine/query/exec/sources/rows.ts';
import type { Source } from '../../../../engine/query/exec/sources/source.ts';
import { prepareFilter } from '../../../../engine/query/exec/subquery.ts';
import { compileRegex } from '../../../../engine/query/regex/regex.ts';
import { RowList } from '../../../../engine/query/request/body.ts';
import { resolveEntity } from '../../../../engine/query/resolve/resolve.ts';
import type { Filter } from '../../../../engine/query/tree.ts';
import { slotOf } from '../../../../engine/store/file/store-info.ts';
import { NODES_WITH_CATALOG } from '../../../../engine/store/records/tables.ts';
import type { EntityName } from '../../../../schemas/entities.ts';
import { ask, catalog, contextOptions, type Fleet, facts, NOW, newFleet, report } from '../request/fleet.ts';
import { sourceOf } from './source-of.ts';

const NODES = 120;
const HOUR = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();
const REPORT_TIME = NOW - 2 * HOUR;

let fleet: Fleet;
let reportHash: string;

function resource(type: string, title: string, more: Record<string, unknown> = {}) {
  return {
    type,
    title,
    exported: false,
    tags: [type.toLowerCase()],
    file: '/site.pp',
    line: 1,
    parameters: {},
    ...more,
  };
}

/** 40 resources that all nodes share, and three of the node's own; one of 20 nodes exports its key. */
function resourcesOf(i: number) {
  const shared = Array.from({ length: 40 }, (_, n) => resource('File', `/shared/${n}`));
  const tags = i < 3 ? ['package', 'rare'] : ['package'];
  return [
    ...shared,
    resource('File', `/home/${i}`),
    resource('Package', `p${i}`, { tags }),
    resource('Sshkey', `k${i}`, { exported: i % 20 === 0 }),
  ];
}

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const certname = `n${i}.example.com`;
    const values = {
      kernel: i % 2 === 0 ? 'Linux' : 'FreeBSD',
      hostname: `n${i}`,
      serial: i,
      os: { family: `f${i % 4}` },
    };
    const packages = [
      [`pkg${i % 30}`, '1.0', 'apt'],
      ['bash', '5.2', 'apt'],
    ];
    fleet.apply('replace facts', 5, { ...facts(certname, values), package_inventory: packages });
    fleet.apply('replace catalog', 9, { ...catalog(certname), edges: [], resources: resourcesOf(i) });
    const hash = fleet.apply('store report', 8, report(certname, { producer_timestamp: iso(REPORT_TIME + i * 1000) }));
    reportHash = hash as string;
  }
});
after(() => fleet.close());

function drive<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

interface Planned {
  readonly source: Source;
  readonly plans: readonly PartitionPlan[];
}

/** What is decided for the query (JSON text of a filter) on each partition. */
function planned(entity: EntityName, query: string): Planned {
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const tree = resolveEntity(entity, parseJson(query));
    const filter = drive(prepareFilter(tree.filter, tree, ctx));
    const source = sourceOf({ entity, filter }, ctx);
    for (const [part, view] of ctx.views.entries()) drive(source.open(new Row(view, part)));
    return { source, plans: source.plans };
  } finally {
    ctx.close();
  }
}

/** Drive and index; the same on all partitions. */
function access(entity: EntityName, query: string): string {
  const shown = planned(entity, query).plans.map(({ items }) => `${items?.drive} by ${items?.path?.index ?? 'none'}`);
  assert.equal(new Set(shown).size, 1, `one plan for all partitions: ${shown}`);
  return shown[0]!;
}

/** Names of the indexes on all partitions; which side drives a scan without one depends on the partition. */
const indexes = (entity: EntityName, query: string): readonly (string | null)[] =>
  planned(entity, query).plans.map(({ items }) => items?.path?.index ?? null);
const NO_INDEX = [null, null];

/** Items that the index holds, over all partitions. */
function estimate(entity: EntityName, query: string): number {
  return planned(entity, query).plans.reduce((sum, { items }) => sum + (items?.path?.estimate ?? 0), 0);
}

/** How many rows the query has. */
function rowCount(entity: EntityName, query: string): number {
  const ctx = new ExecContext(fleet.partitions, contextOptions);
  try {
    const tree = resolveEntity(entity, parseJson(query));
    const source = sourceOf({ entity, filter: drive(prepareFilter(tree.filter, tree, ctx)) }, ctx);
    const rows = new TreeRows(source);
    let count = 0;
    for (let step = rows.next(); step !== END; step = rows.next()) if (step === ROW) count++;
    return count;
  } finally {
    ctx.close();
  }
}

const reportPaths = (entity: EntityName, query: string) => planned(entity, query).plans.map(({ reports }) => reports);

describe('plan: resources', () => {
  it('type and title together use the index over both', () => {
    const query = '["and", ["=", "type", "File"], ["=", "title", "/home/7"]]';
    assert.equal(access('resources', query), 'items by type and title');
    assert.equal(estimate('resources', query), 1);
  });
  it('lists of types and titles use it with every pair', () => {
    const query =
      '["and", ["in", "type", ["array", ["File", "Package"]]], ["in", "title", ["array", ["/home/7", "p3"]]]]';
    assert.equal(access('resources', query), 'items by type and title');
    assert.equal(estimate('resources', query), 2);
  });
  it('long lists of both use one of them: pairs would be too many', () => {
    const list = JSON.stringify(Array.from({ length: 2000 }, (_, i) => `/home/${i}`));
    const query = `["and", ["in", "type", ["array", ${list}]], ["in", "title", ["array", ${list}]]]`;
    assert.match(access('resources', query), /^items by (type|title)$/);
  });
  it('a very long list uses none: all items are looked at sooner', () => {
    const titles = (count: number) => JSON.stringify(Array.from({ length: count }, (_, i) => `/home/${i}`));
    assert.equal(access('resources', `["in", "title", ["array", ${titles(10_000)}]]`), 'items by title');
    assert.deepEqual(indexes('resources', `["in", "title", ["array", ${titles(10_001)}]]`), NO_INDEX);
  });
  it('type alone, title alone', () => {
    assert.equal(access('resources', '["=", "type", "Sshkey"]'), 'items by type');
    assert.equal(access('resources', '["=", "title", "p5"]'), 'items by title');
  });
  it('the index with fewer items wins', () => {
    assert.equal(access('resources', '["and", ["=", "type", "Package"], ["=", "tag", "rare"]]'), 'items by tag');
    assert.equal(access('resources', '["and", ["=", "tag", "package"], ["=", "title", "p5"]]'), 'items by title');
  });
  it('exported resources have an index, the others do not', () => {
    assert.equal(access('resources', '["and", ["=", "exported", true], ["=", "type", "Sshkey"]]'), 'items by exported');
    assert.deepEqual(indexes('resources', '["=", "exported", false]'), NO_INDEX);
  });
  it('a condition of another kind beside it does not keep the index from being used', () => {
    const query = '["and", ["~", "file", "site"], ["=", "title", "p5"], [">", "line", 0]]';
    assert.equal(access('resources', query), 'items by title');
  });
  it('under or and not no index holds all rows', () => {
    assert.deepEqual(indexes('resources', '["or", ["=", "title", "p5"], ["=", "line", 3]]'), NO_INDEX);
    assert.deepEqual(indexes('resources', '["not", ["=", "title", "p5"]]'), NO_INDEX);
  });
  it('alternatives of one field are a list', () => {
    const titles = '["or", ["=", "title", "p5"], ["=", "title", "p6"]]';
    assert.equal(access('resources', titles), 'items by title');
    assert.equal(estimate('resources', titles), 2);
    const both = `["and", ["=", "type", "Package"], ["or", ["=", "title", "p5"], ["in", "title", ["array", ["p6"]]]]]`;
    assert.equal(access('resources', both), 'items by type and title');
    assert.equal(estimate('resources', both), 2);
  });
  it('alternatives that have an index each are looked up one by one', () => {
    const resource = (type: string, title: string) => `["and", ["=", "type", "${type}"], ["=", "title", "${title}"]]`;
    const pairs = `["or", ${resource('Package', 'p5')}, ${resource('Sshkey', 'k6')}, ${resource('File', '/home/7')}]`;
    assert.equal(access('resources', pairs), 'items by type and title');
    assert.equal(estimate('resources', pairs), 3);
    const mixed = `["or", ${resource('Package', 'p5')}, ["=", "tag", "rare"], ["and", ["=", "title", "k1"], [">", "line", 0]]]`;
    assert.equal(access('resources', mixed), 'items by type and title or tag or title');
    assert.equal(access('resources', `["and", ["=", "exported", true], ${pairs}]`), 'items by type and title');
    assert.deepEqual(indexes('resources', `["or", ${pairs}, ["=", "line", 3]]`), NO_INDEX);
    const many = Array.from({ length: 10_001 }, (_, i) => resource(`T${i}`, 'x'));
    const others = many.map((one, i) => (i % 2 === 0 ? one : `["=", "tag", "t${i}"]`));
    assert.deepEqual(indexes('resources', `["or", ${others}]`), NO_INDEX);
    // What all of them compare leads to the items, however many they are.
    assert.deepEqual(indexes('resources', `["or", ${many}]`), ['title', 'title']);
  });
  it('few nodes are driven from the nodes, however good the index is', () => {
    const query = '["and", ["=", "certname", "n5.example.com"], ["=", "tag", "package"]]';
    const { plans } = planned('resources', query);
    assert.deepEqual(plans.map(({ nodes }) => nodes).sort(), [0, 1]);
    assert.ok(plans.some(({ nodes, items }) => nodes === 1 && items?.drive === 'nodes'));
  });
  it('no condition on resources: node by node', () => {
    assert.equal(access('resources', '["=", ["fact", "kernel"], "Linux"]'), 'nodes by none');
  });
});

describe('plan: facts and packages', () => {
  it('a name, and names that a regular expression matches, use the index of names', () => {
    assert.equal(access('facts', '["=", "name", "serial"]'), 'items by name');
    assert.equal(access('facts', '["~", "name", "^ser"]'), 'items by name');
    assert.equal(estimate('facts', '["=", "name", "serial"]'), NODES);
  });
  it('a path uses the index of names by its first element', () => {
    assert.equal(access('fact_contents', '["=", "path", ["os", "family"]]'), 'items by name');
    assert.equal(access('fact_contents', '["~>", "path", ["o.", "fam.*"]]'), 'items by name');
  });
  it('names and text values are the items themselves, unless the lists are so long that pairs would be too many', () => {
    const view = fleet.partitions[0]!.snapshot();
    const texts = (length: number) => Array.from({ length }, (_, i) => (i === 0 ? 'hostname' : `n${i}`));
    const found = (length: number) => {
      const filters: Filter[] = [
        { kind: 'in', field: 'name', values: texts(length) },
        { kind: 'value-in', field: 'value', values: texts(length) },
      ];
      const { path } = planItems('facts', filters, NODES, view, compileRegex);
      return path?.kind === 'found' ? path.items : null;
    };
    try {
      assert.ok(found(100)!.length > 0);
      assert.equal(found(101), null);
    } finally {
      view.close();
    }
    assert.equal(
      access('facts', '["and", ["=", "name", "hostname"], ["=", "value", "n5"]]'),
      'items by name and value',
    );
  });
  it('alternatives of names, and of names with their values', () => {
    assert.equal(access('facts', '["or", ["=", "name", "kernel"], ["=", "name", "os"]]'), 'items by name');
    const fact = (name: string, value: string) => `["and", ["=", "name", "${name}"], ["=", "value", "${value}"]]`;
    assert.equal(
      access('facts', `["or", ${fact('hostname', 'n5')}, ${fact('kernel', 'Linux')}]`),
      'items by name and value',
    );
    const paths = '["or", ["=", "path", ["os", "family"]], ["~>", "path", ["ker.*"]]]';
    assert.equal(access('fact_contents', paths), 'items by name');
  });
  it('a value alone has no index', () => {
    assert.deepEqual(indexes('facts', '["=", "value", "n5"]'), NO_INDEX);
  });
  it('a text alone, or with a pattern for names, is looked up under all names, where there are many facts to be spared', async () => {
    const many = newFleet();
    const values = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`fact${n}`, `value${n % 8}`]));
    for (let i = 0; i < NODES; i++)
      many.apply('replace facts', 5, facts(`n${i}.example.com`, { ...values, id: `id${i}`, serial: i, list: ['id7'] }));
    const view = many.partitions[0]!.snapshot();
    const path = (nodes: number, ...filters: Filter[]) => planItems('facts', filters, nodes, view, compileRegex).path;
    const rows = (query: string) => JSON.parse(ask(many, { path: '/facts', query: { query } }).text) as unknown[];
    try {
      const text: Filter = { kind: 'value-in', field: 'value', values: ['value3', 'value5'] };
      const names: Filter = { kind: 'regex', field: 'name', pattern: '^fact[1-3]', nullIsFalse: false };
      const { index, estimate } = path(view.counts.nodes, text)!;
      assert.deepEqual({ index, estimate }, { index: 'name and value', estimate: 20 });
      assert.equal(path(view.counts.nodes, text, names)!.estimate, 9);
      // Few nodes, other values than texts.
      assert.equal(path(3, text), null);
      assert.equal(path(view.counts.nodes, { ...text, values: ['value3', 5] }), null);
      assert.equal(rows('["=", "value", "value3"]').length, 10 * NODES);
      assert.equal(rows('["=", "value", "id7"]').length, 1);
      assert.equal(rows('["and", ["=", "value", "value3"], ["~", "name", "^fact[1-3]"]]').length, 5 * NODES);
      // Long names, of which the index has the beginning only.
      const long = 'L'.repeat(600);
      const odd = { ...values, [`${long}a`]: 'value3', [`${long}b`]: 'value3' };
      many.apply('replace facts', 5, facts('n0.example.com', odd));
      assert.equal(rows('["=", "value", "value3"]').length, 10 * NODES + 2);
    } finally {
      view.close();
      await many.close();
    }
  });
  it('packages by name', () => {
    assert.equal(access('package_inventory', '["=", "package_name", "pkg3"]'), 'items by package_name');
  });
});

describe('plan: reports and events', () => {
  it('a hash is looked up', () => {
    const path = { kind: 'hash', hashes: [reportHash] };
    assert.deepEqual(reportPaths('reports', `["=", "hash", "${reportHash}"]`), [path, path]);
    assert.deepEqual(reportPaths('events', `["=", "report", "${reportHash}"]`), [path, path]);
  });
  it('latest reports come from the nodes', () => {
    const path = { kind: 'latest' };
    assert.deepEqual(reportPaths('reports', '["=", "latest_report?", true]'), [path, path]);
    const query = '["and", ["=", "latest_report?", true], ["=", "status", "failure"]]';
    assert.deepEqual(reportPaths('events', query), [path, path]);
    assert.notDeepEqual(reportPaths('reports', '["=", "latest_report?", false]'), [path, path]);
  });
  it('one node among many: its own reports', () => {
    const path = { kind: 'nodes' };
    assert.deepEqual(reportPaths('reports', '["=", "certname", "n5.example.com"]'), [path, path]);
    assert.deepEqual(reportPaths('events', '["=", "certname", "n5.example.com"]'), [path, path]);
  });
  it('producer times bound the range of the index of times', () => {
    const from = REPORT_TIME + 10_000;
    const to = REPORT_TIME + 11_000;
    const query = `["and", [">=", "producer_timestamp", "${iso(from)}"], ["<", "producer_timestamp", "${iso(to)}"]]`;
    const path = { kind: 'time', from, to: to - 1 };
    assert.deepEqual(reportPaths('reports', query), [path, path]);
    const late = REPORT_TIME + (NODES - 2) * 1000;
    const onlyFrom = { kind: 'time', from: late + 1, to: null };
    assert.deepEqual(reportPaths('reports', `[">", "producer_timestamp", "${iso(late)}"]`), [onlyFrom, onlyFrom]);
  });
  it('those that leave more of the reports do not: the times of all are told side by side', () => {
    const path = { kind: 'all' };
    for (const seconds of [5, NODES - 10]) {
      const query = `[">", "producer_timestamp", "${iso(REPORT_TIME + seconds * 1000)}"]`;
      assert.deepEqual(reportPaths('reports', query), [path, path]);
    }
  });
  it('anything else looks at all of them', () => {
    const path = { kind: 'all' };
    assert.deepEqual(reportPaths('reports', '["=", "status", "changed"]'), [path, path]);
  });
});

describe('plan: what a subquery found is looked up', () => {
  const tuples = (fields: string, select: string, filter: string): string =>
    `["in", [${fields}], ["extract", [${fields}], ["${select}", ${filter}]]]`;
  const ofNode = '["and", ["=", "type", "Package"], ["=", "certname", "n7.example.com"]]';

  it('pairs of types and titles, few of them, use the index over both', () => {
    const query = tuples('"type", "title"', 'select_resources', ofNode);
    assert.equal(access('resources', query), 'items by type and title');
    assert.equal(estimate('resources', query), 1);
    assert.equal(rowCount('resources', query), 1);
  });
  it('titles alone, where pairs would be many more than there are tuples', () => {
    const query = tuples('"type", "title"', 'select_resources', '["~", "title", "^(p|k|/home/).$"]');
    assert.equal(access('resources', query), 'items by title');
    assert.equal(rowCount('resources', query), 30);
  });
  it('one field', () => {
    const titles = `["in", "title", ["extract", "title", ["select_resources", ${ofNode}]]]`;
    assert.equal(access('resources', titles), 'items by title');
    const names = '["in", "name", ["extract", "name", ["select_facts", ["=", "value", "n7"]]]]';
    assert.equal(access('facts', names), 'items by name');
    const packages =
      '["in", "package_name", ["extract", "package_name", ["select_package_inventory", ["=", "package_name", "pkg3"]]]]';
    assert.equal(access('package_inventory', packages), 'items by package_name');
  });
  it('reports by their hashes', () => {
    const query =
      '["in", "hash", ["extract", "latest_report_hash", ["select_nodes", ["=", "certname", "n7.example.com"]]]]';
    const paths = reportPaths('reports', query);
    assert.deepEqual(
      paths.map((path) => path?.kind),
      ['hash', 'hash'],
    );
    assert.equal(rowCount('reports', query), 1);
  });
  it('certnames name partitions and nodes', () => {
    const query = tuples('"certname", "name", "value"', 'select_facts', '["=", "value", "n7"]');
    const { source } = planned('facts', query);
    assert.deepEqual(source.parts, [slotOf('n7.example.com', fleet.partitions.length)]);
    assert.equal(rowCount('facts', query), 1);
  });
  it('nothing found: no node is left', () => {
    const query = tuples('"type", "title"', 'select_resources', '["=", "type", "Nothing"]');
    assert.deepEqual(
      planned('resources', query).plans.map(({ nodes }) => nodes),
      [0, 0],
    );
  });
  it('under or each alternative has its index, under not there is none', () => {
    const query = tuples('"type", "title"', 'select_resources', ofNode);
    assert.deepEqual(indexes('resources', `["or", ${query}, ["=", "title", "k3"]]`), [
      'type and title or title',
      'type and title or title',
    ]);
    assert.deepEqual(indexes('resources', `["not", ${query}]`), NO_INDEX);
    assert.equal(rowCount('resources', `["not", ${query}]`), NODES * 43 - 1);
  });
  it('many tuples are tested only', () => {
    const query = tuples('"certname", "type", "title"', 'select_resources', '["=", "type", "File"]');
    assert.deepEqual(indexes('resources', query), NO_INDEX);
  });
});

describe('plan: conditions are told apart by what they read', () => {
  const split = (entity: EntityName, query: string): string => {
    const { node, item, sub, mixed } = planned(entity, query).source.split;
    return `node ${node.length}, item ${item.length}, sub ${sub.length}, mixed ${mixed.length}`;
  };
  it('node, item and sub-row apart', () => {
    const query = `["and", ["=", "certname", "x"], ["=", "name", "os"], ["=", "value", "f1"], ["=", "environment", "e"]]`;
    assert.equal(split('fact_contents', query), 'node 2, item 1, sub 1, mixed 0');
  });
  it('one that reads the node and the item cannot be decided once an item', () => {
    const query = '["or", ["=", "certname", "n5.example.com"], ["=", "type", "Sshkey"]]';
    assert.equal(split('resources', query), 'node 0, item 0, sub 0, mixed 1');
  });
  it('of alternatives that are negated together each can be decided by itself', () => {
    const either = '["or", ["=", "certname", "n5.example.com"], ["=", "type", "Sshkey"]]';
    assert.equal(split('resources', `["not", ${either}]`), 'node 1, item 1, sub 0, mixed 0');
    assert.equal(split('resources', `["not", ["not", ${either}]]`), 'node 0, item 0, sub 0, mixed 1');
    assert.equal(
      split('resources', '["not", ["and", ["=", "certname", "n5.example.com"], ["=", "type", "Sshkey"]]]'),
      'node 0, item 0, sub 0, mixed 1',
    );
  });
  it('a subquery over certnames reads the node', () => {
    assert.equal(
      split('resources', '["subquery", "nodes", ["=", "latest_report_status", "changed"]]'),
      'node 1, item 0, sub 0, mixed 0',
    );
  });
  it('an event and its report apart', () => {
    const query = '["and", ["=", "status", "success"], ["=", "environment", "production"], ["=", "certname", "x"]]';
    assert.equal(split('events', query), 'node 1, item 1, sub 1, mixed 0');
  });
});

describe('plan: partitions', () => {
  const parts = (query: string): readonly number[] => planned('facts', query).source.parts;
  const part = (certname: string): number => slotOf(certname, fleet.partitions.length);

  it('a certname names one, a list of certnames some, anything else all', () => {
    const all = fleet.partitions.map((_, index) => index);
    assert.ok(all.length > 1);
    for (const certname of ['n1.example.com', 'n2.example.com', 'nobody']) {
      assert.deepEqual(parts(`["=","certname","${certname}"]`), [part(certname)]);
      assert.deepEqual(parts(`["and",["=","name","kernel"],["=","certname","${certname}"]]`), [part(certname)]);
      assert.deepEqual(parts(`["not",["=","certname","${certname}"]]`), all);
      assert.deepEqual(parts(`["or",["=","name","kernel"],["=","certname","${certname}"]]`), all);
    }
    const names = ['n1.example.com', 'n2.example.com', 'n3.example.com', 'n4.example.com'];
    assert.deepEqual(
      parts(`["in","certname",["array",${JSON.stringify(names)}]]`),
      [...new Set(names.map(part))].sort(),
    );
    assert.deepEqual(parts('["in","certname",["array",[]]]'), []);
    assert.deepEqual(parts('["~","certname","n1.example.com"]'), all);
  });

  it('snapshots are taken of the partitions that are read, and of all when all are', () => {
    const taken = (query: string): number => {
      let count = 0;
      const partitions = fleet.partitions.map((partition) => ({
        snapshot: () => {
          count++;
          return partition.snapshot();
        },
      }));
      const ctx = new ExecContext(partitions as unknown as typeof fleet.partitions, contextOptions);
      const tree = resolveEntity('facts', parseJson(query));
      drive(execute(tree, ctx, new RowList()));
      ctx.close();
      return count;
    };
    assert.equal(taken('["=","certname","n1.example.com"]'), 1);
    assert.equal(taken('["=","name","kernel"]'), fleet.partitions.length);
  });
});

describe('plan: patterns for titles of a type', () => {
  it('are looked for in the index, which gives the items that pass and no others', () => {
    const query = '["and",["=","type","File"],["~","title","^/home/1[0-3]$"]]';
    assert.equal(access('resources', query), 'items by type and title');
    const { source } = planned('resources', query);
    assert.equal(source.items.filters.length, 2, 'the items are tested all the same');
    const ctx = new ExecContext(fleet.partitions, contextOptions);
    let items = 0;
    for (const [part, view] of ctx.views.entries()) {
      const row = new Row(view, part);
      items += source.items.ids(row, source.items.plan(row, view.set(NODES_WITH_CATALOG))).length;
    }
    ctx.close();
    assert.equal(items, 4);
  });

  it('patterns for other fields of a type have no index', () => {
    const query = '["and",["=","type","File"],["~","file","^/site.pp$"]]';
    assert.equal(access('resources', query), 'items by type');
    assert.equal(rowCount('resources', query), NODES * 41);
  });

  it('titles whose end the index does not have are found too', () => {
    const small = newFleet();
    const titles = [
      `/a/${'x'.repeat(600)}end`,
      `/a/${'ü'.repeat(300)}end`,
      `/a/${'x'.repeat(474)}end`,
      '/a/end',
      '/a/other',
    ];
    const resources = titles.map((title) => resource('File', title));
    for (let i = 0; i < 40; i++) {
      small.apply('replace catalog', 9, { ...catalog(`n${i}`), edges: [], resources });
    }
    const query = '["extract",[["function","count"]],["and",["=","type","File"],["~","title","end$"]]]';
    const { text } = ask(small, { path: '/resources', query: { query } });
    assert.deepEqual(JSON.parse(text), [{ count: 4 * 40 }]);
    small.close();
  });
});

describe('plan: conditions that an index decides', () => {
  const exact = (query: string): boolean => {
    const { source, plans } = planned('resources', query);
    return source.items.isExact(plans[0]!.items!);
  };

  it('types and titles, alone and together, need no look at the items', () => {
    assert.ok(exact('["=","type","Package"]'));
    assert.ok(exact('["and",["=","type","Package"],["=","title","p5"]]'));
    assert.ok(exact('["in","title",["array",["p5","k5"]]]'));
    assert.ok(exact('["=","exported",true]'));
  });

  it('anything more does, and texts that may not stand whole in the index', () => {
    assert.ok(!exact('["and",["=","type","Package"],["=","line",1]]'));
    assert.ok(!exact('["and",["=","type","Package"],["=","type","Package"],["=","title","p5"]]'));
    assert.ok(!exact('["and",["=","type","File"],["~","title","home"]]'));
    assert.ok(!exact('["=","tag","rare"]'));
    assert.ok(!exact(`["=","title","${'x'.repeat(121)}"]`));
  });
});

it('partitions: a list of very many certnames is read until it has named all of them', () => {
  const certnames = Array.from({ length: 100_000 }, (_, n) => `n${n}`);
  let asked = 0;
  const slots = {
    parts: 3,
    partOf: (certname: string): number => {
      asked++;
      return slotOf(certname, 3);
    },
  };
  assert.deepEqual(partsOf([{ kind: 'in', field: 'certname', values: certnames }], slots), [0, 1, 2]);
  assert.ok(asked < 100, `${asked} certnames were looked at`);
  const few = certnames.filter((certname) => slotOf(certname, 3) !== 1).slice(0, 50);
  assert.deepEqual(partsOf([{ kind: 'in', field: 'certname', values: few }], slots), [0, 2]);
});
