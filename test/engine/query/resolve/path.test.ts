import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matchPattern } from '../../../../engine/query/paths.ts';
import { parseField, partsOfPath } from '../../../../engine/query/resolve/path.ts';
import type { PathPart } from '../../../../engine/query/tree.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { errorOf } from './support.ts';

const shapeOf = (parts: readonly PathPart[]): string =>
  parts
    .map((part) => {
      if (part.kind === 'match') return `match ${part.pattern}`;
      return part.kind === 'indexed' ? `${part.name}#${part.index}` : `${part.quoted ? 'quoted ' : ''}${part.name}`;
    })
    .join(' | ');
const shape = (text: string): string => shapeOf(parseField(text).parts);

describe('field paths', () => {
  it('paths: names may hold anything but a dot, quoted ones dots too', () => {
    assert.equal(shape('facts.a b.c:d-e'), 'a b | c:d-e');
    assert.equal(shape('facts."a.b".c'), 'quoted a.b | c');
    assert.equal(shape('facts."a".b".c'), 'quoted a | b" | c');
    assert.equal(shape('facts."a\\".b"'), 'quoted a\\".b');
    assert.equal(shape('facts.0.x'), '0 | x');
  });

  it('paths: an index at the end of a name belongs to it, inside quotes too', () => {
    assert.equal(shape('facts.a[2].b[10]'), 'a#2 | b#10');
    assert.equal(shape('facts."arr[0]"'), 'arr#0');
    assert.equal(shape('facts."c/d"[0]'), '"c/d"#0');
    assert.equal(shape('facts.[0]'), '[0]');
    assert.equal(shape('facts.a[2147483647]'), 'a#2147483647');
    assert.equal(
      errorOf(() => shape('facts.a[2147483648]')),
      'For input string: "2147483648"',
    );
    assert.equal(
      errorOf(() => shape('facts.a[99999999999]')),
      'For input string: "99999999999"',
    );
  });

  it('paths: match takes the longest text', () => {
    assert.equal(shape('facts.match("a.*").b'), 'match a.* | b');
    assert.equal(shape('facts.match("")'), 'match("")');
    assert.equal(shape('facts.match("a").match("b").c'), 'match a").match("b | c');
    assert.equal(matchPattern(parseField('facts.a[1].match("x.*")').parts), 'a#~1#~x.*');
  });

  it('paths: components that are never closed are names, found in one look at the text', () => {
    assert.equal(shape('facts.match("a.match("b'), 'match("a | match("b');
    assert.equal(shape('facts."a."b."c"'), 'quoted a."b."c');
    assert.equal(shape('facts."a".match("b.match("c").d'), 'quoted a | match b.match("c | d');
    const spent = processorTime();
    for (const component of ['.match("a', '."a']) {
      assert.equal(parseField(`facts${component.repeat(100_000)}`).parts.length, 100_000);
    }
    // A look for each component's end takes a minute.
    assert.ok(spent() < 10_000);
  });

  it('paths: a component ends before the last line end, behind which there is none', () => {
    for (const end of ['\n', '\r\n', '\u2028']) {
      assert.match(
        errorOf(() => parseField(`certname${end}`)),
        /^AST field component at character 8 does not begin with a dot: "certname/,
      );
      assert.match(
        errorOf(() => parseField(`facts."a"${end}`)),
        /^AST field component at character 9 does not begin with a dot: /,
      );
    }
    assert.match(
      errorOf(() => parseField('certname\n\n')),
      /^First component of AST field is invalid: /,
    );
  });

  it('paths: of stored ones only names with a dot are quoted', () => {
    assert.equal(shapeOf(partsOfPath(['disks', 0, 'a.b', '1'])), 'disks | 0 | quoted a.b | 1');
    assert.equal(shapeOf(partsOfPath(['arr[0]', 'b\\'])), 'arr#0 | b\\');
    assert.equal(shapeOf(partsOfPath(['arr[0]', 'b.c\\'])), 'arr[0] | b.c\\');
  });

  it('paths: plain fields have no parts', () => {
    assert.deepEqual(parseField('latest_report?'), { top: 'latest_report?', parts: [] });
    assert.equal(
      errorOf(() => parseField('a b')),
      'First component of AST field is invalid: "a b"',
    );
    assert.equal(
      errorOf(() => parseField('')),
      'Empty AST field',
    );
  });
});
