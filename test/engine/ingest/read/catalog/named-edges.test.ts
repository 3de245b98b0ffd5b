// The order of a catalog's resources and its edges, read by the names of the resources from the bytes that came: where they can be, what
// comes of them is what comes of the values.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CommandFailure } from '../../../../../engine/ingest/command/errors.ts';
import { type ReadEdges, readEdges } from '../../../../../engine/ingest/read/catalog/catalog-edges.ts';
import {
  ordered,
  orderOf,
  type PlacedResource,
  readResources,
} from '../../../../../engine/ingest/read/catalog/catalog-resources.ts';
import { EdgeKernel } from '../../../../../engine/ingest/read/catalog/edge-kernel.ts';
import { readNamed } from '../../../../../engine/ingest/read/catalog/named-edges.ts';
import type { JsonValue } from '../../../../../engine/json/value.ts';
import { RELATIONSHIPS } from '../../../../../schemas/commands/catalog.ts';
import { blank, character, key, parsedOrNull, print, string, value } from '../../plain-json.ts';

interface Outcome {
  readonly names: readonly (readonly JsonValue[])[];
  readonly codes: readonly number[];
  readonly text: string;
}

const namesOf = (list: readonly PlacedResource[]) => list.map(({ resource: { title, type } }) => [title, type]);

function textOf({ texts }: ReadEdges): string {
  if (!('writeTo' in texts)) return `[${texts.join(',')}]`;
  let written = '';
  texts.writeTo({
    text: (text) => {
      written += text;
    },
    bytes: (bytes) => {
      written += Buffer.from(bytes).toString();
    },
    name: () => assert.fail('edges of one catalog have no gaps'),
  });
  return written;
}

/** By their values; null: refused. */
function outcomeOf(resources: readonly JsonValue[], edges: JsonValue): Outcome | null {
  try {
    const list = readResources(resources);
    const inOrder = ordered(list, orderOf(list));
    const read = readEdges(edges, inOrder);
    return { names: namesOf(inOrder.list) as JsonValue[][], codes: [...read.codes], text: textOf(read) };
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return null;
  }
}

/** From the bytes; null: left to the values. */
function namedOf(resources: readonly JsonValue[], edges: string): Outcome | null {
  const list = readResources(resources);
  const read = readNamed(list, Buffer.from(edges));
  if (read === null) return null;
  const bySent = Array.from(read.order, (place) => list[place]);
  assert.deepEqual(bySent, read.resources.list);
  return {
    names: namesOf(read.resources.list) as JsonValue[][],
    codes: [...read.edges.codes],
    text: textOf(read.edges),
  };
}

const resource = (type: JsonValue, title: JsonValue): JsonValue => ({ type, title, tags: [], exported: false });
const relationship = fc.constantFrom(...RELATIONSHIPS);
const title = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-c]{0,10}$/) },
  { weight: 2, arbitrary: fc.stringMatching(/^\/etc\/conf\.d\/[ -~]{0,12}$/) },
  string,
);
const names = fc.uniqueArray(fc.tuple(fc.constantFrom('File', 'Files', 'Class', 'Éxec'), title), {
  maxLength: 12,
  selector: (name) => JSON.stringify(name),
});
const edges = fc.array(fc.tuple(fc.nat(40), fc.nat(40), relationship, fc.boolean(), fc.boolean()), { maxLength: 20 });

/** Maps whose keys come in either order. */
const map = (members: readonly (readonly [string, JsonValue])[], isTurned: boolean): JsonValue =>
  Object.fromEntries(isTurned ? [...members].reverse() : members);

function edgeOf(
  named: readonly (readonly [string, string])[],
  edge: readonly [number, number, string, boolean, boolean],
) {
  const [source, target, relationship, isTurned, isOther] = edge;
  const name = (index: number): JsonValue => {
    const [type, title] = named[index % named.length] as readonly [string, string];
    return map(
      [
        ['type', type],
        ['title', title],
      ],
      isOther,
    );
  };
  const members = [
    ['source', name(source)],
    ['target', name(target)],
    ['relationship', relationship],
  ] as const;
  return map(members, isTurned);
}

test('named edges: of names and edges that are usual the same comes as of their values', () => {
  let read = 0;
  fc.assert(
    fc.property(names, edges, blank, (named, list, space) => {
      const resources = named.map(([type, title]) => resource(type, title));
      const sent = named.length === 0 ? [] : list.map((edge) => edgeOf(named, edge));
      const found = namedOf(resources, print(sent, space));
      const expected = outcomeOf(resources, sent);
      assert.ok(expected !== null);
      if (found !== null) assert.deepEqual(found, expected);
      // Halves of characters and control characters may be left to the values.
      const isUsual = named.every((name) => !/[\u0000-\u001f\u007f-\uffff]/.test(name.join('')));
      if (isUsual) assert.ok(found !== null);
      if (found !== null) read++;
    }),
    { numRuns: 1500 },
  );
  assert.ok(read > 700, `only ${read} were read`);
});

test('named edges: what is damaged, or unusual, is never read as something else', () => {
  let same = 0;
  let left = 0;
  const change = fc.tuple(fc.nat(), fc.nat(1), fc.oneof(character, fc.constantFrom(' ', '\n', 'a', 'b')));
  fc.assert(
    fc.property(
      names,
      edges,
      blank,
      fc.array(change, { minLength: 1, maxLength: 2 }),
      (named, list, space, changes) => {
        const resources = named.map(([type, title]) => resource(type, title));
        let text = print(named.length === 0 ? [] : list.map((edge) => edgeOf(named, edge)), space);
        for (const [at, dropped, put] of changes) {
          const place = at % text.length;
          text = text.slice(0, place) + put + text.slice(place + dropped);
        }
        const found = namedOf(resources, text);
        if (found === null) {
          left++;
          return;
        }
        const sent = parsedOrNull(text);
        assert.ok(sent !== null, `no JSON: ${text}`);
        assert.deepEqual(found, outcomeOf(resources, sent));
        same++;
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(same > 50 && left > 1000, `${same} read, ${left} left`);
});

test('named edges: other values than names and relationships are left to the values', () => {
  fc.assert(
    fc.property(names, edges, fc.nat(), key, value, (named, list, at, added, other) => {
      if (named.length === 0 || list.length === 0) return;
      const resources = named.map(([type, title]) => resource(type, title));
      const sent = list.map((edge) => edgeOf(named, edge)) as Record<string, Record<string, JsonValue>>[];
      const edge = sent[at % sent.length] as Record<string, Record<string, JsonValue>>;
      const part = ['source', 'target', ''][at % 3] as string;
      const changed = part === '' ? edge : (edge[part] as Record<string, JsonValue>);
      changed[added] = other;
      const found = namedOf(resources, print(sent as JsonValue, ''));
      if (found !== null) assert.deepEqual(found, outcomeOf(resources, sent as JsonValue));
    }),
    { numRuns: 500 },
  );
});

test('named edges: names that are no strings, occur twice or are spelled unusually are left to the values', () => {
  const edge = (title: string): string =>
    `[{"source":{"type":"A","title":${title}},"target":{"type":"A","title":"x"},"relationship":"before"}]`;
  const x = resource('A', 'x');
  assert.ok(namedOf([x], edge('"x"')) !== null);
  assert.ok(namedOf([x, resource('A', 'say "y" \\')], edge('"say \\"y\\" \\\\"')) !== null);
  for (const [resources, title] of [
    [[x, x], '"x"'],
    [[x, resource('A', 5)], '5'],
    [[x, resource('A', 5)], '"x"'],
    [[x, resource(null, 'y')], '"x"'],
    [[x, { title: 'y', tags: [], exported: false }], '"x"'],
    [[x], '"\\u0078"'],
    [[x, resource('A', '/y')], '"\\/y"'],
    [[x], '"none"'],
    [[x, resource('A', '\ud800')], '"\ufffd"'],
    [[x, resource('A', '\ufffd')], '"\ufffd"'],
    [[x, resource('A', 'z'.repeat(20_000))], '"x"'],
  ] as const)
    assert.equal(namedOf(resources as unknown as JsonValue[], edge(title)), null, title);
});

test('named edges: lists of many windows, of edges longer than one, and of none', () => {
  const count = 6000;
  const titles = Array.from(
    { length: count },
    (_, index) => `/srv/${(index * 7919) % count}/${'x'.repeat(index % 300)}`,
  );
  const resources = titles.map((title) => resource('File', title));
  const named = titles.map((title) => ['File', title] as const);
  const sent = titles.map((_, index) => edgeOf(named, [index, (index * 31) % count, 'contains', false, false]));
  const expected = outcomeOf(resources, sent);
  assert.deepEqual(namedOf(resources, JSON.stringify(sent)), expected);
  assert.deepEqual(namedOf(resources, print(sent, ' \n')), expected);
  // More than a window between two of them.
  const long = JSON.stringify(sent.slice(0, 3)).replace('},{', `},${' '.repeat(200_000)}{`);
  assert.equal(namedOf(resources, long), null);
  for (const none of ['[]', '[ \n]']) assert.deepEqual(namedOf(resources, none), outcomeOf(resources, []), none);
  for (const broken of ['[', ']', '{}', '[,]', '[}', '[1]', `${JSON.stringify(sent).slice(0, -1)},]`])
    assert.equal(namedOf(resources, broken), null, broken.slice(0, 9));
});

test('named edges: an instance that read a large catalog reads a small one', () => {
  const kernel = new EdgeKernel(['{"relationship":"before","source":']);
  const name = (title: string): string => `{"title":"${title}","type":"A"}`;
  const many = Array.from({ length: 5000 }, (_, index) => name(`t${index}`));
  for (const names of [many, [name('b'), name('a')], many]) {
    assert.ok(kernel.begin(names, true));
    const order = kernel.order() as Uint32Array;
    assert.deepEqual(
      Array.from(order, (place) => names[place]),
      [...names].sort(),
    );
    assert.ok(kernel.index(order));
    const [first] = names;
    const edge = `{"relationship":"before","source":${first},"target":${first}}`;
    const place = order.indexOf(0);
    const codes = kernel.edges(Buffer.from(`[${edge}]`)) as Float64Array;
    assert.deepEqual([...codes], [(place * names.length + place) * 8]);
    let text = '';
    kernel.writeTexts(codes, (bytes) => {
      text += Buffer.from(bytes).toString('latin1');
    });
    assert.equal(text, edge);
  }
});
