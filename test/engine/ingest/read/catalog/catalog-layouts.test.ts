// Catalogs whose layout is known: whatever was remembered of other nodes, hash and contents are those of the whole payload
// read by itself, and what is refused is refused with the same words.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CatalogCommand } from '../../../../../engine/ingest/command/commands.ts';
import { CommandFailure } from '../../../../../engine/ingest/command/errors.ts';
import type { QueuedCommand } from '../../../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../../../engine/ingest/decode.ts';
import type { Recollection } from '../../../../../engine/ingest/read/command-reader.ts';
import { catalogPayload, NOTHING_STORED, SETTINGS, submit } from '../../support.ts';

/** What a catalog comes to: hash and contents, or why it is refused. */
function outcome(command: QueuedCommand, memos: Recollection | null): object {
  try {
    const { hash, contents } = decodeCommand(command, SETTINGS, memos) as CatalogCommand;
    const { resources, edges, refusal } = contents(() => 0);
    const bodies = resources.map(({ body, type, title }) => ({ body, type, title }));
    return { hash, bodies, edges: edges().map(({ body }) => body), refusal };
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    return { kind: error.kind, message: error.message };
  }
}

/** Certnames that sort before, among and behind the titles, and one that needs escapes. */
const CERTNAMES = ['a.example', 'm.example', 'z.example', 'm/"x"'];
/** How a text may be spelled: plainly, or with its first letter as an escape. */
const spelled = (text: string, isEscaped: boolean): string => {
  const plain = JSON.stringify(text);
  const code = text.charCodeAt(0).toString(16).padStart(4, '0');
  return isEscaped ? `"\\u${code}${plain.slice(2)}` : plain;
};

interface Name {
  readonly type: string;
  /** Null: the certname. */
  readonly title: string | null;
  readonly isEscaped: boolean;
}
const names = fc.record({
  type: fc.constantFrom('File', 'Host'),
  title: fc.oneof(fc.constantFrom('b', 'l', 'n', 'y', 'é', 'm.example'), fc.constant(null)),
  isEscaped: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
});
const texts = (certname: string, { type, title, isEscaped }: Name): string =>
  `"type":"${type}","title":${spelled(title ?? certname, isEscaped)}`;
const layouts = fc.record({
  names: fc.uniqueArray(names, { maxLength: 6, selector: ({ type, title }) => `${type} ${title}` }),
  edges: fc.array(
    fc.record({
      source: fc.nat(5),
      // The last one names no resource.
      target: fc.nat(20),
      relationship: fc.nat(20).map((n) => ['before', 'notify', 'other'][n] ?? 'contains'),
      isEscaped: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
      extra: fc.constantFrom('', '', '', '', '', ',"x":1', ',"x":"m.example"'),
    }),
    { maxLength: 6 },
  ),
});

test('layouts: a catalog is the same whatever was remembered of others', () => {
  let isKnown = 0;
  fc.assert(
    fc.property(
      fc.array(layouts, { minLength: 1, maxLength: 2 }),
      fc.array(fc.tuple(fc.nat(1), fc.constantFrom(...CERTNAMES), fc.nat(3)), { minLength: 4, maxLength: 10 }),
      (shapes, runs) => {
        for (const [which, certname, revision] of runs) {
          const shape = shapes[which % shapes.length] as (typeof shapes)[number];
          const resources = shape.names.map(
            (name) =>
              `{${texts(certname, name)},"tags":["a","${name.type.toLowerCase()}"],"exported":false,` +
              `"parameters":{"revision":${revision % (shape.names.length + 1)}}}`,
          );
          const end = (place: number, isEscaped: boolean): string => {
            const name = shape.names[place < 20 ? place % shape.names.length : place] ?? {
              type: 'File',
              title: 'none',
            };
            return `{${texts(certname, { ...name, isEscaped })}}`;
          };
          const edges = shape.edges
            .filter(() => shape.names.length > 0)
            .map(
              ({ source, target, relationship, isEscaped, extra }) =>
                `{"source":${end(source, isEscaped)},"target":${end(target, false)},"relationship":"${relationship}"${extra}}`,
            );
          const payload = JSON.stringify(catalogPayload({ certname, resources: 0, edges: 0 }))
            .replace('"resources":0', () => `"resources":[${resources}]`)
            .replace('"edges":0', () => `"edges":[${edges}]`);
          const command = submit('replace catalog', payload, { certname });
          const plain = outcome(command, null);
          assert.deepEqual(outcome(command, NOTHING_STORED), plain);
          if ('hash' in plain && edges.length > 0) isKnown++;
        }
      },
    ),
    { numRuns: 600 },
  );
  assert.ok(isKnown > 600, `only ${isKnown} catalogs were good`);
});

test('layouts: a resource without a title is not taken for the one that is titled with the certname', () => {
  const rest = '"tags":[],"exported":false,"parameters":{}';
  const edge =
    '{"source":{"type":"Class","title":"main"},"target":{"type":"Host","title":"own"},"relationship":"contains"}';
  for (const title of ['"title":"own",', '"title":"own",', '"title":"own",', '"title":null,', '']) {
    const resources = [`{"type":"Class","title":"main",${rest}}`, `{"type":"Host",${title}${rest}}`];
    const payload = JSON.stringify(catalogPayload({ certname: 'own', resources: 0, edges: 0 }))
      .replace('"resources":0', () => `"resources":[${resources}]`)
      .replace('"edges":0', () => `"edges":[${edge}]`);
    const command = submit('replace catalog', payload, { certname: 'own' });
    assert.deepEqual(outcome(command, NOTHING_STORED), outcome(command, null), title);
  }
});

test('layouts: a certname that is spelled with escapes is not taken for that of other nodes', () => {
  const host = (title: string): string => `{"type":"Host","title":${title}}`;
  const edge = (target: string): string =>
    `{"source":{"type":"Class","title":"main"},"target":${host(target)},"relationship":"contains"}`;
  const catalog = (certname: string, edges: readonly string[]): QueuedCommand => {
    const rest = '"tags":[],"exported":false,"parameters":{}';
    const resources = [`{"type":"Class","title":"main",${rest}}`, `{"type":"Host","title":"${certname}",${rest}}`];
    const payload = JSON.stringify(catalogPayload({ certname, resources: 0, edges: 0 }))
      .replace('"resources":0', `"resources":[${resources}]`)
      .replace('"edges":0', `"edges":[${edges}]`);
    return submit('replace catalog', payload, { certname });
  };
  const escaped = edge('"\\u006dine.example"');
  for (const edges of [(name: string) => [edge(`"${name}"`), escaped], () => [escaped]]) {
    for (const round of [1, 2, 3]) {
      const mine = catalog('mine.example', edges('mine.example'));
      assert.deepEqual(outcome(mine, NOTHING_STORED), outcome(mine, null), `round ${round}`);
    }
    const other = outcome(catalog('other.example', edges('other.example')), NOTHING_STORED) as { message?: string };
    assert.match(other.message ?? 'decoded', /refers to resource .*mine\.example.*doesnt exist/);
  }
});

test('layouts: a certname that is no title in the edges is not taken for that of other nodes', () => {
  const catalog = (certname: string, [key, type, relationship]: readonly string[]): QueuedCommand => {
    const rest = '"tags":[],"exported":false,"parameters":{}';
    const resources = [`{"type":"Class","title":"main",${rest}}`, `{"type":"host","title":"b",${rest}}`];
    const edge = `{"source":{"${key}":"Class","title":"main"},"target":{"type":"${type}","title":"b"},"relationship":"${relationship}"}`;
    const payload = JSON.stringify(catalogPayload({ certname, resources: 0, edges: 0 }))
      .replace('"resources":0', `"resources":[${resources}]`)
      .replace('"edges":0', `"edges":[${edge}]`);
    return submit('replace catalog', payload, { certname });
  };
  const good = ['type', 'host', 'before'];
  for (const [place, mine] of good.entries()) {
    for (const round of [1, 2, 3]) {
      const command = catalog(mine, good);
      assert.deepEqual(outcome(command, NOTHING_STORED), outcome(command, null), `round ${round}`);
    }
    for (const other of ['other.example', 'contains']) {
      const command = catalog(other, good.with(place, other));
      assert.deepEqual(outcome(command, NOTHING_STORED), outcome(command, null), `${mine} and ${other}`);
    }
  }
});
