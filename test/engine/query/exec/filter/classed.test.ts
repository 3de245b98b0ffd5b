// Conditions on fields of resources that take few values: whatever is asked, and beside whatever else, the rows are those that looking at
// each resource gives; and a resource that fails them is not read. Nor is one whose signature lacks what a condition on its parameters asks for.

import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { RecordReader } from '../../../../../engine/store/items/dictionary-view.ts';
import { Random, testSeed } from '../../../../support/random.ts';
import { ask, catalog, type Fleet, newFleet } from '../../request/fleet.ts';

/** So many that each of two partitions has more rows than are looked at as they are. */
const NODES = 240;
const RESOURCES = 48;
/** Combinations of type, file, line and exported. */
const CLASSES = 12;
const random = new Random(testSeed('classed'));

type Clause = readonly unknown[];
interface Resource {
  readonly certname: string;
  readonly type: string;
  readonly title: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly exported: boolean;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Those of a node's nth resource: of names and values that many have, and of such that few have. */
const parametersOf = (node: number, n: number): Resource['parameters'] => ({
  ensure: n % 2 === 0 ? 'present' : 'absent',
  backup: n % 4 === 1,
  ...(n % 5 === 0 ? { owner: `user${n % 3 === 0 ? node : n}`, options: { mode: n } } : {}),
});

const KINDS = Array.from({ length: CLASSES }, (_, i) => ({
  type: ['File', 'Exec', 'Package'][i % 3]!,
  file: i % 4 === 0 ? null : `/modules/m${i % 5}/init.pp`,
  line: i % 4 === 0 ? null : (i % 6) * 10,
  exported: i === 7,
}));

let fleet: Fleet;
let all: readonly Resource[];

function answer<T>(query: Clause, path = '/resources'): T[] {
  const { head, text } = ask(fleet, { path, query: { query: JSON.stringify(query) } });
  assert.equal(head.status, 200, `${JSON.stringify(query)}: ${text}`);
  return JSON.parse(text) as T[];
}

before(() => {
  fleet = newFleet();
  for (let i = 0; i < NODES; i++) {
    const resources = Array.from({ length: RESOURCES }, (_, n) => ({
      ...catalog('x').resources[0],
      ...KINDS[n % CLASSES],
      title: n % 3 === 0 ? `own ${i} ${n}` : `shared ${n}`,
      tags: [`t${n % 7}`],
      parameters: parametersOf(i, n),
    }));
    fleet.apply('replace catalog', 9, { ...catalog(`n${i}.example.com`), resources, edges: [] });
  }
  const fields = ['certname', 'type', 'title', 'file', 'line', 'exported', 'parameters'];
  all = answer<Resource>(['extract', fields, ['~', 'title', '']]);
  assert.equal(all.length, NODES * RESOURCES);
});
after(() => fleet.close());

interface Condition {
  readonly clause: Clause;
  /** null: unknown. */
  readonly test: (row: Resource) => boolean | null;
}

const CLASSED: readonly (() => Condition)[] = [
  () => {
    const type = random.pick(['File', 'Exec', 'Other']);
    return { clause: ['not', ['=', 'type', type]], test: (row) => row.type !== type };
  },
  () => ({ clause: ['~', 'type', 'e$'], test: (row) => row.type.endsWith('e') }),
  () => {
    const line = random.pick([0, 10, 20, 35]);
    return { clause: ['=', 'line', line], test: (row) => (row.line === null ? null : row.line === line) };
  },
  () => ({ clause: ['>', 'line', 20], test: (row) => (row.line === null ? null : row.line > 20) }),
  () => ({ clause: ['~', 'file', 'm[12]'], test: (row) => row.file !== null && /m[12]/.test(row.file) }),
  () => ({ clause: ['null?', 'file', true], test: (row) => row.file === null }),
  () => ({ clause: ['=', 'exported', false], test: (row) => !row.exported }),
];
const OTHERS: readonly (() => Condition)[] = [
  () => ({ clause: ['~', 'title', '7$'], test: (row) => row.title.endsWith('7') }),
  () => ({ clause: ['=', 'type', 'File'], test: (row) => row.type === 'File' }),
  () => ({ clause: ['~', 'certname', '5'], test: (row) => row.certname.includes('5') }),
  () => ({
    clause: ['or', ['=', 'line', 10], ['~', 'title', 'shared 1']],
    test: (row) => row.line === 10 || row.title.includes('shared 1') || (row.line === null ? null : false),
  }),
];

const SIGNED: readonly (() => Condition)[] = [
  () => {
    const owner = random.pick(['user5', 'user7', 'user60', 'nobody']);
    const clause = random.pick([
      ['=', ['parameter', 'owner'], owner],
      ['=', 'parameters.owner', owner],
    ]);
    return { clause, test: ({ parameters }) => parameters['owner'] === owner };
  },
  () => ({ clause: ['=', ['parameter', 'backup'], true], test: ({ parameters }) => parameters['backup'] === true }),
  () => ({
    clause: ['or', ['=', ['parameter', 'ensure'], 'absent'], ['=', ['parameter', 'owner'], 'user12']],
    test: ({ parameters }) => parameters['ensure'] === 'absent' || parameters['owner'] === 'user12',
  }),
  () => ({
    clause: ['=', ['parameter', 'options'], { mode: 10 }],
    test: ({ parameters }) => (parameters['options'] as { mode: number } | undefined)?.mode === 10,
  }),
];

function someCondition(): Condition {
  const { clause, test } = random.pick(random.pick([CLASSED, CLASSED, OTHERS, SIGNED]))();
  if (random.chance(0.75)) return { clause, test };
  return {
    clause: ['not', clause],
    test(row) {
      const truth = test(row);
      return truth === null ? null : !truth;
    },
  };
}

/** How many resources are read, one way or the other, for a query that was asked before. */
function reads(query: Clause): number {
  answer(query);
  const counted = (['read', 'glance'] as const).map((method) => mock.method(RecordReader.prototype, method));
  try {
    answer(query);
    return counted.reduce((sum, method) => sum + method.mock.callCount(), 0);
  } finally {
    for (const method of counted) method.mock.restore();
  }
}

const key = (row: Resource): string => `${row.certname} ${row.type} ${row.title}`;

describe('conditions on fields that take few values', () => {
  it('leave the rows that looking at each gives, and as many', () => {
    for (let i = 0; i < 120; i++) {
      const conditions = Array.from({ length: random.between(1, 3) }, someCondition);
      const clause = ['and', ...conditions.map((condition) => condition.clause)];
      const expected = all.filter((row) => conditions.every(({ test }) => test(row) === true));
      const rows = answer<Resource>(['extract', ['certname', 'type', 'title'], clause]);
      assert.deepEqual(rows.map(key).sort(), expected.map(key).sort(), JSON.stringify(clause));
      const [counted] = answer<{ count: number }>(['extract', [['function', 'count']], clause]);
      assert.equal(counted?.count, expected.length, JSON.stringify(clause));
      const names = answer<Resource>(['extract', 'certname', ['subquery', 'resources', clause]], '/nodes');
      const having = new Set(expected.map(({ certname }) => certname));
      assert.deepEqual(names.map(({ certname }) => certname).sort(), [...having].sort(), JSON.stringify(clause));
    }
  });

  it('are decided once a class: what fails them is not read', () => {
    const bound = CLASSES * fleet.partitions.length;
    for (const clause of [
      ['~', 'file', 'no such file'],
      ['and', ['~', 'type', 'e$'], ['=', 'line', 99]],
      ['and', ['~', 'title', '^own'], ['~', 'file', 'no such file']],
    ]) {
      assert.ok(reads(['extract', ['certname', 'title'], clause]) <= bound, JSON.stringify(clause));
    }
    // Of the classes that pass, the other conditions look at the resources: here at a twelfth of them.
    const some = reads(['extract', ['certname', 'title'], ['and', ['~', 'title', 'nothing'], ['=', 'exported', true]]]);
    const others = ['and', ['~', 'title', 'nothing'], ['not', ['=', 'exported', false]]];
    assert.ok(reads(['extract', ['certname', 'title'], others]) <= some + bound);
  });

  it('are decided for each resource where few are looked at', () => {
    const query = ['and', ['=', 'certname', 'n7.example.com'], ['~', 'file', 'no such file']];
    assert.equal(reads(['extract', ['certname', 'title'], query]), RESOURCES);
  });
});

describe('conditions on parameters', () => {
  const FIELDS = ['certname', 'title'];
  const distinct = new Set<string>();
  before(() => {
    for (const { type, title, parameters } of all) distinct.add(JSON.stringify([type, title, parameters]));
  });

  it('read few of the resources that do not have what is asked for', () => {
    for (const clause of [
      ['=', ['parameter', 'ensure'], 'nosuch'],
      ['=', ['parameter', 'nosuch'], 'present'],
      ['=', 'parameters.owner', 'user1000'],
      ['or', ['=', ['parameter', 'owner'], 'user1000'], ['=', ['parameter', 'ensure'], 'nosuch']],
    ]) {
      const asked = ['extract', FIELDS, clause];
      assert.deepEqual(answer(asked), []);
      const count = reads(asked);
      assert.ok(count < distinct.size / 4, `${JSON.stringify(clause)}: ${count} of ${distinct.size}`);
    }
  });

  it('that have to be looked at are', () => {
    const clause = ['~', ['parameter', 'ensure'], 'nosuch'];
    assert.ok(reads(['extract', FIELDS, clause]) >= distinct.size);
  });
});
