import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesName, parseObjectName } from '../../../server/ops/metrics/object-name.ts';
import { processorTime } from '../../support/processor-time.ts';

test('object name: properties are sorted in the canonical form', () => {
  const name = parseObjectName('d:type=T,name=n');
  assert.deepEqual([name.canonical, name.text, name.pattern], ['d:name=n,type=T', 'd:type=T,name=n', false]);
  assert.equal(parseObjectName('d:b=1,*,a=2').canonical, 'd:a=2,b=1,*');
});

test('object name: refusals say what is wrong', () => {
  const reasons: readonly (readonly [string, string])[] = [
    ['nonsense', 'Key properties cannot be empty'],
    ['d:', 'Key properties cannot be empty'],
    ['a=b', 'Domain part must be specified'],
    ['d:x', 'Unterminated key property part'],
    ['d:=x', 'Invalid key (empty)'],
    ['d:a=b,', 'Invalid ending comma'],
    ['d:a=b=c', "Invalid character '=' in value part of property"],
    ['d:a=1,a=2', "key `a' already defined"],
    ['d:a="b', 'Unterminated quoted value'],
    ['d:*,*', "Cannot have several '*' characters in pattern property list"],
    ['d:*x', "Invalid character found after '*': end of name or ',' expected"],
    ['d:a?=x', "Invalid character '?' in key part of property"],
  ];
  for (const [text, message] of reasons) assert.throws(() => parseObjectName(text), { name: 'MalformedName', message });
});

test('object name: patterns match in domains and values, and need `,*` for further properties', () => {
  const name = parseObjectName('java.lang:type=GarbageCollector,name=G1 Young');
  const cases: readonly (readonly [string, boolean])[] = [
    ['java.*:*', true],
    ['java.lang:type=Garbage*,*', true],
    ['java.lang:type=Garbage*', false],
    ['java.lang:name=G? Young,type=GarbageCollector', true],
    ['java.nio:*', false],
    ['', true],
  ];
  for (const [pattern, expected] of cases) assert.equal(matchesName(parseObjectName(pattern), name), expected, pattern);
});

test('object name: quoted values keep commas, colons and escaped wildcards', () => {
  const name = parseObjectName('d:name="a,b:c\\*"');
  assert.deepEqual([name.properties[0]?.value, name.pattern], ['"a,b:c\\*"', false]);
});

test('object names: a pattern of many wildcards is answered at once', () => {
  const name = parseObjectName('puppetlabs.puppetdb.mq:name=replace catalog.9.processed');
  const spent = processorTime();
  for (const wild of ['*?'.repeat(300), `${'*a'.repeat(300)}z`, '*'.repeat(3000)]) {
    assert.equal(matchesName(parseObjectName(`${wild}:*`), name), /^\*+$/.test(wild), wild.slice(0, 10));
    assert.equal(matchesName(parseObjectName(`*:name=${wild}`), name), /^\*+$/.test(wild), wild.slice(0, 10));
  }
  assert.equal(matchesName(parseObjectName('*?*lab?.*:name=*9*s?d'), name), true);
  assert.ok(spent() < 1000);
});
