// Facts of many nodes are put together by WebAssembly, those of few one by one: both must give the same texts, whatever the facts
// are, and when the kernel goes to another query in between.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ByteWriter, pieceOf } from '../../../../../engine/bytes.ts';
import { KERNELS_MAX, leaseKernel } from '../../../../../engine/query/exec/row/fact-kernel.ts';
import { Ids } from '../../../../../engine/store/items/ids.ts';
import { Copies } from '../../../../../engine/store/records/copies.ts';
import { ask, type Fleet, facts, newFleet } from '../../request/fleet.ts';

/** Many more than are put together one by one, in each of the partitions. */
const NODES = 300;
/** Later than that in its partition. */
const LATE = 250;

const valuesOf = (n: number): Record<string, unknown> => ({
  kernel: 'Linux',
  'näme "quoted"': `välue ${n % 7} \u0000 😀`,
  os: { family: 'RedHat', release: { major: n % 3, minor: [n % 2, null, true] } },
  id: n,
  pair: `of two ${n >> 1}`,
  own: { text: 'x'.repeat(n * 4), n },
  empty: n % 2 === 0 ? {} : [],
  ...(n % 50 === 49 ? { long: 'y'.repeat(600 + n), wide: 'w'.repeat(30_000 + n) } : {}),
  ...(n === LATE ? { huge: 'z'.repeat(100_000), large: Array.from({ length: 20_000 }, (_, i) => i) } : {}),
  ...(n === LATE + 1 ? Object.fromEntries(Array.from({ length: 35_000 }, (_, i) => [`f${i}`, i % 3])) : {}),
  // Shared by a few that come late.
  ...(n > LATE + 1 ? { shared: 's'.repeat(70_000), kept: 'k'.repeat(10_000) } : {}),
});

const form = { before: pieceOf(','), after: pieceOf(''), isRow: false };

let fleet: Fleet;
let names: string[];
before(() => {
  fleet = newFleet();
  names = Array.from({ length: NODES }, (_, n) => `node${String(n).padStart(3, '0')}.example.com`);
  for (const [n, name] of names.entries()) fleet.apply('replace facts', 5, facts(name, valuesOf(n)));
  fleet.apply('replace facts', 5, facts('none.example.com', {}));
  names.push('none.example.com');
});
after(() => fleet.close());

const FORMS = [
  ['/factsets', ['certname', 'facts']],
  ['/inventory', ['certname', 'facts']],
] as const;

const queryOf = (fields: readonly string[], filter: unknown) => JSON.stringify(['extract', fields, filter]);

/** By certname, each asked for alone. */
function singly(path: string, fields: readonly string[]): Map<string, string> {
  const of = (name: string) => ask(fleet, { path, query: { query: queryOf(fields, ['=', 'certname', name]) } }).text;
  return new Map(names.map((name) => [name, of(name).slice(1, -1)]));
}

describe('facts of many nodes', () => {
  for (const [path, fields] of FORMS) {
    it(`${path}: every node's text is that of the node asked for alone`, () => {
      const expected = singly(path, fields);
      const { text } = ask(fleet, { path, query: { query: queryOf(fields, ['~', 'certname', '.']) } });
      const rows = JSON.parse(text) as { certname: string }[];
      assert.equal(rows.length, names.length);
      assert.ok(text === `[${rows.map(({ certname }) => expected.get(certname)).join(',')}]`);
    });

    it(`${path}: the partitions by turns`, () => {
      const expected = singly(path, fields);
      const query = { query: queryOf(fields, ['~', 'certname', '.']), order_by: '[{"field":"certname"}]' };
      assert.ok(ask(fleet, { path, query }).text === `[${names.map((name) => expected.get(name)).join(',')}]`);
    });

    it(`${path}: while other queries take the kernels`, () => {
      const whole = ask(fleet, { path }).text;
      for (const taken of [1, 40, 60, 120]) {
        let steps = 0;
        const take = (): void => {
          steps++;
          if (steps === taken) for (let i = 0; i < KERNELS_MAX; i++) leaseKernel({}, 10, form);
        };
        const { text, chunks } = ask(fleet, { path, bytesMax: 1, after: take });
        assert.ok(chunks.length > NODES);
        assert.ok(text === whole);
      }
    });
  }
});

describe('a kernel', () => {
  const body = (name: string, value: string): Buffer => {
    const text = `${name},"value":${value}`;
    const head = Buffer.alloc(5);
    head.writeUInt16LE(name.length, 1);
    head.writeUInt16LE(text.length, 3);
    return Buffer.concat([head, Buffer.from(text)]);
  };
  const listOf = (...items: number[]): Ids => {
    const list = new Ids();
    for (const item of items) {
      list.push(0);
      list.push(item);
    }
    return list;
  };
  const copiesOf = (item: number, bytes: Buffer): Copies => {
    const head = Buffer.alloc(6);
    head.writeUInt32LE(item, 0);
    head.writeUInt16LE(bytes.length, 4);
    const copies = new Copies();
    copies.load(Buffer.concat([head, bytes]), 6 + bytes.length);
    return copies;
  };
  const never = (): Buffer => assert.fail('the body was asked for');

  it('reads a body until its text is kept: at its second use, at the first beside copies', () => {
    const lease = leaseKernel({}, 100, form)!;
    const asked: number[] = [];
    const bodyOf = (item: number): Buffer => {
      asked.push(item);
      return body(`"n${item}"`, String(item));
    };
    const out = new ByteWriter(100);
    const none = new Copies();
    for (let i = 0; i < 4; i++) assert.ok(lease.write(listOf(7), none, bodyOf, out));
    assert.deepEqual(asked, [7, 7]);
    const own = copiesOf(9, body('"own"', '[1]'));
    for (let i = 0; i < 3; i++) assert.ok(lease.write(listOf(8, 9), own, bodyOf, out));
    assert.deepEqual(asked, [7, 7, 8]);
    // Behind the table: as any other, and never kept.
    for (let i = 0; i < 3; i++) assert.ok(lease.write(listOf(10_000), none, bodyOf, out));
    assert.deepEqual(asked, [7, 7, 8, 10_000, 10_000, 10_000]);
    const expected = `${',"n7":7'.repeat(4)}${',"n8":8,"own":[1]'.repeat(3)}${',"n10000":10000'.repeat(3)}`;
    assert.equal(out.toString(), expected);
  });

  it('knows for the next query what it was asked by the last one, until its room is used up', () => {
    const [partition, other] = [{}, {}];
    const text = `"${'x'.repeat(20_000)}"`;
    let asked = 0;
    const ask = (of: object, items: number, count: number): void => {
      const lease = leaseKernel(of, items, form)!;
      const out = new ByteWriter(100);
      const bodyOf = (item: number): Buffer => {
        asked++;
        return body(`"n${item}"`, text);
      };
      for (let use = 0; use < 2; use++) {
        for (let item = 1; item <= count; item++) assert.ok(lease.write(listOf(item), new Copies(), bodyOf, out));
      }
      const expected = Array.from({ length: count }, (_, i) => `,"n${i + 1}":${text}`).join('');
      assert.ok(out.toString() === expected + expected);
    };
    const askedBy = (...given: Parameters<typeof ask>): number => {
      const before = asked;
      ask(...given);
      return asked - before;
    };
    assert.equal(askedBy(partition, 100, 5), 10);
    assert.equal(askedBy(partition, 100, 5), 0);
    assert.equal(askedBy(other, 100, 5), 10, 'of another partition');
    assert.equal(askedBy(partition, 110, 5), 0, 'a few more items');
    assert.equal(askedBy(partition, 100_000, 5), 10, 'more than the table has room for');
    assert.equal(askedBy(partition, 100_000, 90), 170, 'most of the room for texts');
    assert.equal(askedBy(partition, 100_000, 5), 10, 'all is forgotten');
  });

  it('appends nothing of what is damaged or too large', () => {
    const lease = leaseKernel({}, 100, form)!;
    const out = new ByteWriter(100);
    out.text('before');
    const good = body('"n"', '1');
    const reversed = Buffer.from(good);
    reversed.writeUInt16LE(40, 1);
    const cut = good.subarray(0, good.length - 1);
    const large = body('"n"', `"${'x'.repeat(60_000)}"`);
    const bodies = new Map([1, 2, 3, 4, 5].map((item, i) => [item, [good, reversed, cut, Buffer.alloc(3), large][i]!]));
    for (const item of [2, 3, 4]) {
      assert.equal(
        lease.write(listOf(1, item), new Copies(), (id) => bodies.get(id)!, out),
        false,
        String(item),
      );
      assert.equal(lease.write(listOf(item), copiesOf(item, bodies.get(item)!), never, out), false, String(item));
      assert.equal(out.toString(), 'before');
    }
    assert.ok(lease.write(listOf(1, 5, 1, 5, 1), new Copies(), (id) => bodies.get(id)!, out));
    const text = `,"n":"${'x'.repeat(60_000)}"`;
    assert.ok(out.toString() === `before,"n":1${text},"n":1${text},"n":1`);
  });

  it('forgets what it wrote of a node of which a body could not be read', () => {
    const lease = leaseKernel({}, 100, form)!;
    const out = new ByteWriter(100);
    const bodyOf = (item: number): Buffer => {
      if (item === 2) throw new Error('no body');
      return body(`"n${item}"`, '1');
    };
    assert.throws(() => lease.write(listOf(1, 2), new Copies(), bodyOf, out), /no body/);
    assert.ok(lease.write(listOf(3), new Copies(), bodyOf, out));
    assert.equal(out.toString(), ',"n3":1');
  });

  it('belongs to who took it last', () => {
    const first = leaseKernel({}, 100, form)!;
    const others = Array.from({ length: KERNELS_MAX }, () => leaseKernel({}, 100, form)!);
    const out = new ByteWriter(100);
    const bodyOf = () => body('"n"', '1');
    assert.equal(first.write(listOf(1), new Copies(), bodyOf, out), false);
    for (const other of others) assert.ok(other.write(listOf(1), new Copies(), bodyOf, out));
    assert.equal(out.toString(), ',"n":1'.repeat(KERNELS_MAX));
  });

  it('there is none for more items than its table may have', () => {
    assert.equal(leaseKernel({}, 2 ** 20 + 1, form), null);
  });
});
