// The canonical text of a resource from the bytes of its element: where there is one, it is that of the values, and it says where in it
// they are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ElementKernel, RESOURCE_PLACES } from '../../../../engine/ingest/known/element-kernel.ts';
import { OWN_NAME } from '../../../../engine/ingest/known/elements.ts';
import { readResources } from '../../../../engine/ingest/read/catalog/catalog-resources.ts';
import { type ReadResource, tagsOf } from '../../../../engine/ingest/read/catalog/read-resource.ts';
import { parseJson } from '../../../../engine/json/parse.ts';
import { storedText } from '../../../../engine/json/stored.ts';
import type { JsonObject, JsonValue } from '../../../../engine/json/value.ts';
import { TAG_PATTERN } from '../../../../schemas/commands/catalog.ts';
import { blank, CERTNAME, character, key, parsedOrNull, print, string, value } from '../plain-json.ts';

const kernel = new ElementKernel(1 << 20);

/** Canonical texts of the resources in a list's text, null where that is not plain. Each must be that of the values. */
function canonical(text: string, certname = CERTNAME): (string | null)[] {
  const list = Buffer.from(text);
  const found: (string | null)[] = [];
  kernel.begin(certname);
  for (let at = 1; at < list.length; at += kernel.place) {
    const count = kernel.walk(list, at, list.length - 1);
    assert.ok(count > 0);
    for (let index = 0; index < count; index++) {
      kernel.select(index);
      const sent = parseJson(kernel.text().replaceAll(OWN_NAME, JSON.stringify(certname)));
      const plain = kernel.resource();
      found.push(plain);
      if (plain === null) continue;
      check(plain, sent as JsonObject);
      const { tags, ...others } = sent as JsonObject & { readonly tags: readonly string[] };
      assert.equal(kernel.isTagged, (sent as { tags: string[] }).tags.includes(certname));
      check(kernel.resource(true) as string, { ...others, tags: tags.filter((tag) => tag !== certname) });
    }
  }
  return found;
}

function checkText(plain: string, sent: JsonObject): ReadResource {
  const [one] = readResources([sent]);
  assert.equal(plain, one!.resource.text);
  return one!.resource;
}

function check(plain: string, sent: JsonObject): void {
  const resource = checkText(plain, sent);
  const places = [...kernel.resourcePlaces];
  const at = (value: keyof typeof RESOURCE_PLACES): string => {
    const place = RESOURCE_PLACES[value];
    return plain.slice(places[place], places[place + 1]);
  };
  assert.equal(places[0], plain.length);
  assert.equal(at('parameters'), plain.slice(resource.parametersStart, resource.parametersEnd));
  assert.deepEqual(JSON.parse(at('tags')), tagsOf(resource));
  for (const field of ['title', 'type', 'exported', 'file', 'line'] as const)
    assert.equal(at(field) === '' ? undefined : JSON.parse(at(field)), sent[field]);
  const { parameters } = sent;
  assert.equal(kernel.parameters(), parameters === undefined ? '' : storedText(parameters));
}

// Of few beginnings, so that some share their place in the set; the first two do as a whole.
const tag = fc.oneof(
  fc.constantFrom('an', 'c0', 'file', 'class', 'apache::mod', CERTNAME),
  fc.stringMatching(/^[a-z0-9_][a-z0-9_:.-]{0,12}$/),
);
const resource = fc
  .record(
    {
      tags: fc.array(tag, { maxLength: 12 }),
      type: fc.constantFrom('File', 'Class', 'Apache::Mod'),
      title: string,
      exported: fc.boolean(),
      file: fc.oneof(string, fc.constant(null)),
      line: fc.oneof(fc.integer(), fc.constant(null)),
      parameters: fc.dictionary(key, value, { maxKeys: 8 }),
    },
    { requiredKeys: ['tags', 'type', 'title', 'exported'] },
  )
  .chain((fields) => fc.shuffledSubarray(Object.entries(fields), { minLength: Object.keys(fields).length }))
  .map((entries) => Object.fromEntries(entries));
test('element resource: the canonical text is that of the values', () => {
  let plain = 0;
  let all = 0;
  fc.assert(
    fc.property(fc.array(resource, { minLength: 1, maxLength: 4 }), blank, (resources, space) => {
      const text = print(resources as JsonValue, space);
      for (const one of canonical(text)) {
        all++;
        if (one !== null) plain++;
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(plain > all / 8, `${plain} of ${all} were plain`);
});

test('element resource: what is no JSON is not plain', () => {
  let broken = 0;
  let plain = 0;
  fc.assert(
    fc.property(resource, blank, fc.nat(), fc.nat({ max: 2 }), character, (sent, space, place, size, put) => {
      const text = print(sent as JsonValue, space);
      const at = place % text.length;
      const list = Buffer.from(`[${text.slice(0, at)}${put}${text.slice(at + size)}]`);
      kernel.begin(CERTNAME);
      const count = kernel.walk(list, 1, list.length - 1);
      for (let index = 0; index < count; index++) {
        kernel.select(index);
        const element = kernel.text().replaceAll(OWN_NAME, JSON.stringify(CERTNAME));
        const found = kernel.resource();
        const parsed = parsedOrNull(element);
        if (parsed === null) broken++;
        if (found === null) continue;
        plain++;
        assert.notEqual(parsed, null, element);
        if ((parsed as { tags: string[] }).tags.every((tag) => TAG_PATTERN.test(tag)))
          checkText(found, parsed as JsonObject);
      }
    }),
    { numRuns: 5000 },
  );
  assert.ok(broken > 100 && plain > 100, `${broken} were broken, ${plain} plain`);
});

test('element resource: plain ones are read', () => {
  const plain = {
    type: 'File',
    title: CERTNAME,
    tags: ['file', 'node', CERTNAME, 'class', 'file', 'c0', 'an'],
    exported: false,
    file: '/etc/puppetlabs/site.pp',
    line: 12,
    parameters: {
      owner: 'root',
      ensure: 'file',
      content: `${'é'.length}\n"\\`,
      list: [1, -2, { b: null, a: true }, []],
      empty: {},
    },
  };
  for (const one of canonical(
    JSON.stringify([plain, { ...plain, parameters: {} }, { ...plain, file: null, line: null }]),
  )) {
    assert.notEqual(one, null);
  }
});

test('element resource: what is unusual is left to who makes values', () => {
  const plain = { type: 'File', title: 'a', tags: ['file'], exported: false, parameters: {} };
  const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as JsonValue;
  const unusual: object[] = [
    { ...plain, title: 'é' },
    { ...plain, title: 'a"b' },
    { ...plain, title: 5 },
    { ...plain, tags: null },
    { ...plain, note: 1 },
    { ...plain, parameters: { a: 0.1 + 0.2 } },
    { ...plain, parameters: { 'a/b': 1 } },
    { ...plain, parameters: { a: '\u0000' } },
    { ...plain, parameters: { a: 1234567890123456 } },
    { ...plain, parameters: { a: deep } },
    { type: 'File', title: 'a', exported: false },
  ];
  for (const one of unusual)
    assert.deepEqual(canonical(JSON.stringify([one])), [null], JSON.stringify(one).slice(0, 80));
  for (const spelling of ['-0', '1e2', '1E2', '"\\/"', '"\\u0041"']) {
    const text = JSON.stringify([{ ...plain, parameters: { a: 'HERE' } }]).replace('"HERE"', spelling);
    assert.deepEqual(canonical(text), [null], spelling);
  }
  for (const certname of ['é', 'a"b', 'x'.repeat(2000)]) {
    assert.deepEqual(
      canonical(JSON.stringify([{ ...plain, title: certname }]), certname)[0] ?? null,
      certname.startsWith('x') ? canonical(JSON.stringify([{ ...plain, title: certname }]))[0] : null,
    );
  }
});
