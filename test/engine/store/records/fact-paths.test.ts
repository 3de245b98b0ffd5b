import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../../engine/json/parse.ts';
import { factBeyondPaths, factPaths } from '../../../../engine/store/records/fact-paths.ts';

function pathsOf(name: string, json: string): string[] {
  const paths: string[] = [];
  factPaths(name, parseJson(json), (type, path) => paths.push(`${type} ${path.join('.')}`));
  return paths;
}

test('fact paths: each leaf has its path and type, a structure makes its name known, an empty one does not', () => {
  assert.deepEqual(pathsOf('a', '"x"'), ['string a']);
  assert.deepEqual(pathsOf('a', '{"b":[1,2.0,1.5],"c":{"d":null,"e":true}}'), [
    'json a',
    'integer a.b.0',
    'float a.b.1',
    'float a.b.2',
    'null a.c.d',
    'boolean a.c.e',
  ]);
  assert.deepEqual(pathsOf('a', '[123456789012345678901234567890]'), ['json a', 'integer a.0']);
  assert.deepEqual(pathsOf('a', '{}'), []);
  assert.deepEqual(pathsOf('a', '[[],{}]'), ['json a']);
});

test('fact paths: the fact is named with which they take too many bytes, from its text or its value', () => {
  const plain = { name: 'plain', value: '"x"' };
  const list = { name: 'list', value: JSON.stringify(Array.from({ length: 10_000 }, () => 1)) };
  const deep = { name: 'deep', value: `${'['.repeat(900)}${'1,'.repeat(80_000)}1${']'.repeat(900)}` };
  assert.equal(factBeyondPaths([plain, list]), null);
  assert.equal(factBeyondPaths([plain, { ...deep, json: parseJson('1') }, list]), null);
  assert.equal(factBeyondPaths([plain, deep, list]), 'deep');
});
