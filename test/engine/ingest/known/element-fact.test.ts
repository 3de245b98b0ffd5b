// A fact from the bytes of its element: where it is plain, its texts are those of its value; what is no JSON is never plain.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ElementKernel } from '../../../../engine/ingest/known/element-kernel.ts';
import { canonicalS, quote } from '../../../../engine/json/canonical.ts';
import { storedText } from '../../../../engine/json/stored.ts';
import type { JsonObject, JsonValue } from '../../../../engine/json/value.ts';
import { blank, character, key, parsedOrNull, print, value } from '../plain-json.ts';

const kernel = new ElementKernel(1 << 20);
kernel.begin(null);

interface Read {
  readonly element: string;
  /** Null: it is not plain. */
  readonly plain: { readonly canonical: string; readonly name: string; readonly stored: string } | null;
}

/** What the kernel says of each fact in a map's text. */
function read(text: string): Read[] {
  const map = Buffer.from(text);
  const count = kernel.walk(map, 1, map.length - 1);
  const found: Read[] = [];
  for (let index = 0; index < count; index++) {
    kernel.select(index);
    const canonical = kernel.fact();
    const plain = canonical === null ? null : { canonical, name: kernel.factName, stored: kernel.factValue };
    found.push({ element: kernel.text(), plain });
  }
  return found;
}

/** The only fact of a map. */
function check({ plain }: Read, map: JsonObject): void {
  assert.ok(plain !== null);
  const [[name, json]] = Object.entries(map) as [[string, JsonValue]];
  assert.equal(plain.name, name);
  assert.equal(plain.canonical, `${quote(name)}:${canonicalS(json)}`);
  assert.equal(plain.stored, storedText(json));
}

test('element fact: texts of plain facts are those of their values', () => {
  let plain = 0;
  let all = 0;
  fc.assert(
    fc.property(fc.dictionary(key, value, { minKeys: 1, maxKeys: 5 }), blank, (facts, space) => {
      const found = read(print(facts, space));
      assert.equal(found.length, Object.keys(facts).length);
      Object.entries(facts).forEach(([name, json], index) => {
        all++;
        const fact = found[index] as Read;
        if (fact.plain === null) return;
        plain++;
        check(fact, { [name]: json });
      });
    }),
    { numRuns: 3000 },
  );
  assert.ok(plain > all / 4, `${plain} of ${all} were plain`);
});

test('element fact: what is no JSON is not plain', () => {
  let broken = 0;
  let plain = 0;
  fc.assert(
    fc.property(key, value, blank, fc.nat(), fc.nat({ max: 2 }), character, (name, json, space, place, size, put) => {
      const text = print({ [name]: json }, space);
      const at = 1 + (place % (text.length - 2));
      for (const fact of read(`${text.slice(0, at)}${put}${text.slice(Math.min(at + size, text.length - 1))}`)) {
        const parsed = parsedOrNull(`{${fact.element}}`);
        if (parsed === null) broken++;
        if (fact.plain === null) continue;
        assert.notEqual(parsed, null, fact.element);
        plain++;
        check(fact, parsed as JsonObject);
      }
    }),
    { numRuns: 5000 },
  );
  assert.ok(broken > 100 && plain > 100, `${broken} were broken, ${plain} plain`);
});

test('element fact: numbers that canonical and stored text spell as they are sent', () => {
  const spelled = [
    '0',
    '-5',
    '0.0',
    '1.0',
    '0.5',
    '-0.001',
    '0.12',
    '9999999.25',
    '123456789012345',
    '1234567.12345678',
  ];
  for (const text of spelled) assert.notEqual(read(`{"a":${text}}`)[0]?.plain, null, text);
  const others = [
    '-0',
    '-0.0',
    '1.50',
    '0.00',
    '0.0009',
    '10000000.5',
    '1e3',
    '1E-2',
    '01',
    '1.',
    '.5',
    '1234567.123456789',
  ];
  for (const text of others) assert.equal(read(`{"a":${text}}`)[0]?.plain, null, text);
});

test('element fact: keys with slashes have no place of their own in facts', () => {
  const sent = { mounts: { '/': 1, '/a/b': 2, '/a': { z: [1, { bb: 1, a: 2 }], a: 'x' } } };
  check(read(JSON.stringify(sent))[0] as Read, sent);
});
