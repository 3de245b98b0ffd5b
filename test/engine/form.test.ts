import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasWellFormedEscapes, parseForm } from '../../engine/form.ts';
import { processorTime } from '../support/processor-time.ts';

test('form: names and values are decoded as UTF-8, + is a space', () => {
  const form = parseForm('command=replace+facts&c%C3%A9rt=%E6%97%A5&raw=ñ&plus=a%2Bb');
  assert.deepEqual(
    [...form],
    [
      ['command', 'replace facts'],
      ['cért', '日'],
      ['raw', 'ñ'],
      ['plus', 'a+b'],
    ],
  );
});

test('form: a name without = has an empty value', () => {
  assert.deepEqual(
    [...parseForm('pretty&x=&=5&&')],
    [
      ['pretty', ''],
      ['x', ''],
      ['', '5'],
    ],
  );
});

test('form: a text without any = is no form', () => {
  for (const text of ['pretty', 'a&b', '%zz', '&']) assert.deepEqual([...parseForm(text)], [], text);
});

test('form: repeated names collect their values', () => {
  assert.deepEqual(parseForm('a=1&b=2&a=3&a').get('a'), ['1', '3', '']);
  assert.deepEqual(
    [...parseForm('a&b=%zz&a=1&b=2&b=')],
    [
      ['a', ['', '1']],
      ['b', ['2', '']],
    ],
  );
});

test('form: what has a broken escape is absent with its name, broken UTF-8 is not', () => {
  assert.deepEqual(
    [...parseForm('a=%zz&b=a%2&%zz=1&%FF=%FFa+%25ñ&c=%zz&c=1')],
    [
      ['\uFFFD', '\uFFFDa %ñ'],
      ['c', '1'],
    ],
  );
  assert.equal(hasWellFormedEscapes('/a/%2F%zz'), false);
  assert.equal(hasWellFormedEscapes('/a/%2F'), true);
});

test('form: a name that comes a hundred thousand times costs no more than that', () => {
  const spent = processorTime();
  assert.equal(parseForm('a=b&'.repeat(100_000)).get('a')?.length, 100_000);
  assert.ok(spent() < 2000);
});
