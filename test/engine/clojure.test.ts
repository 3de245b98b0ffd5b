import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { printAlone, printClojure, textOf } from '../../engine/clojure.ts';
import { json } from './query/resolve/support.ts';

describe('clojure notation', () => {
  it('clojure: structures print their values in Clojure spelling', () => {
    assert.equal(
      printClojure(json('["=","a\\"\\\\b",5,1.0,1e20,0.0001,true,null,{"k":"v","l":[]}]')),
      '["=" "a\\"\\\\b" 5 1.0 1.0E20 1.0E-4 true nil {:k "v", :l []}]',
    );
  });

  it('clojure: control characters that have a short escape are escaped', () => {
    assert.equal(printClojure('"\\\b\f\n\r\t\v\u0000\u007fé'), '"\\"\\\\\\b\\f\\n\\r\\t\v\u0000\u007fé"');
    assert.equal(printAlone('a\tb'), 'a\tb');
    assert.equal(printAlone(['a\tb']), '["a\\tb"]');
  });

  it('clojure: values alone are raw texts, null and grouped numbers', () => {
    assert.equal(printAlone('a"b'), 'a"b');
    assert.equal(printAlone(null), 'null');
    assert.equal(printAlone(-1000), '-1,000');
    assert.equal(printAlone(json('123456789012345678901')), '123,456,789,012,345,678,901');
    // Java's format of numbers: three places, and from the middle between two of them to the even one.
    const rounded = ['1234.56789', '0.0625', '0.1875', '-0.0004', '2.0'].map((text) => printAlone(json(text)));
    assert.deepEqual(rounded, ['1,234.568', '0.062', '0.188', '-0', '2']);
    assert.equal(printAlone([null, 'x']), '[nil "x"]');
  });

  it('clojure: values turned into texts are not grouped', () => {
    assert.deepEqual(
      ['5000', '1.0', 'null', '"x"', '["a"]'].map((text) => textOf(json(text))),
      ['5000', '1.0', '', 'x', '["a"]'],
    );
  });
});
