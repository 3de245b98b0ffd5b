import assert from 'node:assert/strict';
import { constants } from 'node:buffer';
import { test } from 'node:test';
import {
  catalogHash,
  distinctPackages,
  factsetHash,
  inputsHash,
  Pieces,
  packageText,
  reportHash,
  resourceHash,
  sha1,
  tagOrder,
} from '../../../../engine/ingest/command/hashes.ts';
import { canonicalK, canonicalS, quote } from '../../../../engine/json/canonical.ts';
import { parseJson } from '../../../../engine/json/parse.ts';
import { processorTime } from '../../../support/processor-time.ts';

const resource = (text: string): string => {
  const [type, title, parameters] = parseJson(text) as [string, string, never];
  return resourceHash(quote(type), quote(title), canonicalK(parameters));
};

test('hashes: the worked resources (4.3)', () => {
  const cases: [string, string][] = [
    ['["File","/etc/motd",{"mode":"0644","ensure":"file","owner":"root"}]', '06ea5f01aa0162335d50dee9509b85e205d5d421'],
    ['["Class","Main",{}]', 'a8076dc406678edf44cc7970e445be0c4255fcf1'],
    [
      '["Apache::Vhost","a \\"b\\"",{"ratio":1.0,"port":80,"big":1e10,"note":"tab\\there é\u2028 \\\\ \\u0001","opts":{"a/b":2,"/etc/x":1,"z":null,"b":[true,{"y":1,"x":2}]}}]',
      '509e208026c51e7aa5c3f60fe6037b470e336f5a',
    ],
    ['["Notify","n",null]', '394954894177bb958579dae0c887ed952cc8faf7'],
    ['["File","/a",{"ensure":"present"}]', '5b57fe591821a2b269590007f32a8ab25460ef23'],
    ['["File","/a",{"f":"x\\u0000y"}]', '8747a7e7bd89ce7bfed091f55cd7b4e27b647a34'],
    ['["File","/a",{"h":1e-7}]', '43c1eb362113c497acb2b164e99870e0dbc490cd'],
    [
      '["Type","title",{"foo":{"b":"asdf","a":{"k":["z",{"z":["a",{"b":2,"a":[1,2]}],"a":1},"c"],"z":"asdf","a":{"m":"asdf","b":"asdf"}}}}]',
      'c62dab030cfe8c25a4832c5c6302b7f0041264ba',
    ],
    ['["Class","Foo",{}]', 'ba66a4113b0451266834e5225e6e27b20142d5d8'],
    ['["Exec","/b",{"timeout":0.5}]', 'ec26216223967e69d839f4f778bebb200c6d9e5b'],
    ['["File","/b",{"tag":["a","b"],"ensure":"file"}]', '8ea76549d336559d090e08b3c56fc52f92843359'],
  ];
  for (const [text, expected] of cases) assert.equal(resource(text), expected, text);
});

test('hashes: a catalog from the texts of its parts (4.4, C1)', () => {
  const edges = [
    '{"relationship":"contains","source":{"title":"Main","type":"Class"},"target":{"title":"/a","type":"File"}}',
  ];
  const resources = [
    '{"exported":false,"file":"/f.pp","line":2,"parameters":{"ensure":"present"},"tags":["file"],"title":"/a","type":"File"}',
    '{"exported":false,"file":"/f.pp","line":1,"parameters":{},"tags":["class","main"],"title":"Main","type":"Class"}',
  ];
  for (const ascii of [true, false]) {
    assert.equal(catalogHash('c0.cat', edges, resources, ascii), '07aa003802b1f10f32b359cd697b79d996a15ff6');
  }
});

test('hashes: catalogs of any size are hashed as one text, whatever they are put together from (4.4)', () => {
  const name = 'c\u00e9.example.com';
  const text = (edges: string, resources: readonly string[]): string =>
    `{"certname":"${name}","edges":[${edges}],"resources":[${resources.join(',')}]}`;
  const lists = {
    'many small ones': Array.from({ length: 40_000 }, (_, index) => `{"title":"/srv/${index}/\u20ac"}`),
    'one of two megabytes': ['{"title":"a"}', `{"title":"${'\u20acx'.repeat(1 << 19)}"}`, '{"title":"b"}'],
    'just what fits, and one more': [500, 511, 512, 513, 1024].map(
      (kb) => `{"title":"${'x'.repeat((kb << 10) - 12)}"}`,
    ),
  };
  // The other texts end within what is put together at a time, at its end, and behind it.
  for (const [what, resources] of Object.entries(lists)) {
    for (const size of [0, 100, (512 << 10) - 60, 700 << 10]) {
      const parts = ['[{"a":"', 'y'.repeat(size), '"}]'];
      const pieces = new Pieces(parts.map((part) => Buffer.from(part)));
      const edges = parts.join(`"${name}"`).slice(1, -1);
      const expected = sha1(text(edges, resources));
      assert.equal(catalogHash(name, [edges], resources, false), expected, `${what}, ${size}`);
      assert.equal(catalogHash(name, pieces, resources, false), expected, `${what}, ${size}, edges in pieces`);
    }
  }
  const ascii = Array.from({ length: 40_000 }, (_, index) => `{"title":"/srv/${index}"}`);
  const plain = `{"certname":"c0.cat","edges":[],"resources":[${ascii.join(',')}]}`;
  assert.equal(catalogHash('c0.cat', [], ascii, true), sha1(plain));
  assert.equal(catalogHash('c0.cat', [], [], true), sha1('{"certname":"c0.cat","edges":[],"resources":[]}'));
});

test('hashes: the worked factsets (4.5)', () => {
  const facts = (certname: string, environment: string | null, values: string): string =>
    factsetHash(certname, environment, [], canonicalS(parseJson(values)));
  assert.equal(facts('f0.fct', 'prod', '{"x":1}'), 'b2b2cc6f97a52a526b06e509207edc420a7d67fb');
  assert.equal(
    facts(
      'n2.example',
      null,
      '{"up":1.0,"os":{"release":{"major":"12"},"family":"Debian"},"neg":-0.0,"Zed":null,"a/b":"s","a":[1,{"k":"v"}]}',
    ),
    'e2f6c86c0dc8f770c213bb302ebc1455d2ad2f54',
  );
  assert.equal(facts('f20.fct', 'prod', '{"nul":"a\\u0000b"}'), '84d649164813b940cfd9a040d20e10d86485fe7f');
  assert.equal(
    facts(
      'foo.com',
      null,
      '{"kernel":"Linux","domain":"mydomain.com","fqdn":"myhost.mydomain.com","hostname":"myhost","operatingsystem":"Debian"}',
    ),
    'd132145bbef13a1e6d615a6d8db22fbfe870ecf2',
  );
  const packages = distinctPackages([
    { name: 'b', version: '1', provider: 'apt' },
    { name: 'a', version: '1', provider: 'apt' },
    { name: 'b', version: '1', provider: 'apt' },
  ]);
  assert.equal(factsetHash('f22.fct', 'prod', packages, '{"x":1}'), 'd94fef5a66694f81fec013f7a43fec7572bcf5eb');
});

test('hashes: what is too long to be hashed is no part of the next hash', () => {
  const next = () => [factsetHash('c', null, [], '{}'), catalogHash('c', [], [], true)];
  const expected = next();
  const tooLong = 'x'.repeat(constants.MAX_STRING_LENGTH);
  for (const hash of [() => factsetHash('c', null, [], tooLong), () => catalogHash('c', ['{}'], [tooLong], true)]) {
    assert.throws(hash, RangeError);
    assert.deepEqual(next(), expected);
  }
});

test('hashes: the worked reports (4.6)', () => {
  const first = {
    certname: 'r0.rep',
    configurationVersion: 'cv',
    endTime: '2024-01-01T00:00:01.000Z',
    producerTimestamp: '2024-01-01T00:00:02.000Z',
    puppetVersion: '8.0.0',
    reportFormat: '12',
    startTime: '2024-01-01T00:00:00.000Z',
    transactionUuid: '68b08e2a-eeb1-4322-b241-bfdf151d294b',
  };
  assert.equal(reportHash(first), '0589067ee7893f3284a49cdee4c4cd6672c02e0a');
  const second = { ...first, certname: 'n2.example', startTime: '2023-12-31T22:00:00.123Z', transactionUuid: null };
  assert.equal(reportHash(second), '2a3e67b23d758aa70ef98dd0ce705eb917f25e84');
  assert.equal(
    reportHash({ ...first, transactionUuid: '68B08E2A-EEB1-4322-B241-BFDF151D294B' }),
    'ab6c896ba18e9344415370e337f9c28cfebbe28a',
  );
  const raw = {
    certname: 'foobar.baz',
    configurationVersion: 'asdffdsa',
    endTime: '2012-03-01-12:31:31.123',
    producerTimestamp: '2012-03-01-1:31:51.123',
    puppetVersion: '3.2.1',
    reportFormat: '1',
    startTime: '2012-03-01-12:31:11.123',
    transactionUuid: null,
  };
  assert.equal(reportHash(raw), 'f0dc33b54c9eea0a83444fa1fecfe6a2b2b6db39');
});

test('hashes: packages (4.7)', () => {
  const packageHash = (name: string, version: string, provider: string): string =>
    sha1(packageText({ name, version, provider }));
  assert.equal(packageHash('openssl', '1.1.1n-0+deb11u3', 'apt'), '1b4ed273ecadabb0aae0ecd167ace49d7e4e133c');
  assert.equal(packageHash('rake', '13.0.6', 'gem'), '7c8aaca5ebe9d674e7ff5fca1ac32c7306d33b42');
  assert.equal(packageHash('zlib1g', '1:1.2.11', 'apt'), '2b60a6cc5b216bcc4e30cc8062dd13be6ce6fda0');
});

test('hashes: catalog inputs (4.8)', () => {
  assert.equal(inputsHash('n6.l', [['hiera', 'x']]), '87f1066d3aade2f8e1004c943d2e5e46f4dd2589');
  const sorted: [string, string][] = [
    ['a', 'b'],
    ['a', 'z'],
    ['b', 'y'],
  ];
  assert.equal(inputsHash('n6.l', sorted), '5959c85331e9cb11979599ae68c76f1cedd7ff52');
});

test('hashes: the producer timestamp in archive file names (4.10)', () => {
  assert.equal(sha1(quote('2026-11-20T00:00:00.000Z')), '7de891d335b61573dd9f4cc6376a68ff7fa06442');
});

test('hashes: tags come in the order of the original set (4.2)', () => {
  assert.deepEqual(tagOrder(['main', 'class']), ['class', 'main']);
  assert.deepEqual(tagOrder(['a', 'b', 'class', 'file', 'foo', 'a']), ['foo', 'class', 'a', 'b', 'file']);
  assert.deepEqual(tagOrder(['hey', 'notify', 'class', 'foo']), ['foo', 'class', 'hey', 'notify']);
  assert.deepEqual(tagOrder(['ñ', '日本', 'a::b', 'a.b-c', '_x', '9z']), ['9z', '_x', 'ñ', 'a::b', 'a.b-c', '日本']);
  assert.equal(tagOrder([...'jklmnopqrstuvwxyz']).join(' '), 'n z w s q p j x v t k r y l u m o');
  // Same Java hash, so a full collision: the first one stays first.
  assert.deepEqual(tagOrder(['bb', 'aa', 'c#', 'bB', 'bb']).filter((tag) => tag === 'bb').length, 1);
  assert.deepEqual(tagOrder(['BB', 'Aa']), ['BB', 'Aa']);
  assert.deepEqual(tagOrder(['Aa', 'BB', 'Aa']), ['Aa', 'BB']);
});

test('hashes: very many tags come in the same order as few', () => {
  // "al" and "c." have one hash: the first one sent stays first.
  const sent = ['c.', ...Array.from({ length: 500 }, (_, index) => `tag${(index * 7) % 400}`), 'al', 'c.'];
  const ordered = tagOrder(sent);
  assert.equal(ordered.length, 402);
  assert.ok(ordered.indexOf('c.') < ordered.indexOf('al'));
  for (let index = 1; index < ordered.length; index++) {
    const pair = [ordered[index - 1]!, ordered[index]!];
    if (pair[0] !== 'c.') assert.deepEqual(tagOrder([pair[1]!, pair[0]!]), pair);
  }
  const many = Array.from({ length: 200_000 }, (_, index) => `u${index}`);
  const spent = processorTime();
  assert.equal(tagOrder(many).length, many.length);
  assert.ok(spent() < 5000, `${spent()} ms`);
});
