import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { storedText } from '../../../engine/json/stored.ts';
import { Float, type JsonValue } from '../../../engine/json/value.ts';
import { QueryError } from '../../../engine/query/errors.ts';
import {
  decodePath,
  elementTests,
  encodedPattern,
  encodePath,
  exactTests,
  leavesAlong,
  matchPattern,
  type Path,
  pathMatcher,
} from '../../../engine/query/paths.ts';
import { compileRegex } from '../../../engine/query/regex/regex.ts';
import type { PathPart } from '../../../engine/query/tree.ts';
import { processorTime } from '../../support/processor-time.ts';
import { Random, testSeed } from '../../support/random.ts';

/** Calls `visit` for each scalar inside a value. */
function leaves(name: string, value: JsonValue, visit: (path: Path, leaf: JsonValue) => void): void {
  const walk = (path: Path, inner: JsonValue): void => {
    if (inner === null || typeof inner !== 'object' || inner instanceof Float) visit(path, inner);
    else if (Array.isArray(inner)) for (const [index, element] of inner.entries()) walk([...path, index], element);
    else for (const [key, element] of Object.entries(inner)) walk([...path, key], element as JsonValue);
  };
  walk([name], value);
}

const seed = testSeed('paths');

const PATHS: readonly Path[] = [
  ['os'],
  ['os', 'family'],
  ['os', 'release', 'major'],
  ['disks', 0],
  ['disks', 1],
  ['disks', 2, 'name'],
  ['h', '5'],
  ['h', 'x'],
  ['hash#~tilde', 'r', 0],
];

describe('encoded paths', () => {
  const encoded: [Path, string][] = [
    [['os', 'release', 'major'], 'os#~release#~major'],
    [['disks', 0], 'disks#~0'],
    [['h', '5'], 'h#~"5"'],
    [['a#b', 'c~d'], 'a#b#~c~d'],
    [['hash#~tilde'], 'hash\\#\\~tilde'],
  ];
  for (const [path, text] of encoded) {
    it(`${JSON.stringify(path)} is ${text}`, () => {
      assert.equal(encodePath(path), text);
      assert.deepEqual(decodePath(text), path);
    });
  }

  it('decode in time that grows with their length', () => {
    const text = '\\'.repeat(1 << 18);
    const spent = processorTime();
    assert.deepEqual(decodePath(text), [text]);
    assert.deepEqual(decodePath(`\\#${text}`), [`\\#${text}`]);
    assert.ok(spent() < 5000, `${spent()} ms`);
  });

  it('keep the quotes of the empty key, and lose those of quoted digits', () => {
    assert.equal(encodePath(['h', '']), 'h#~""');
    assert.deepEqual(decodePath('h#~""'), ['h', '""']);
    assert.equal(encodePath(['h', '"5"']), encodePath(['h', '5']));
    assert.deepEqual(decodePath('h#~"5"'), ['h', '5']);
  });

  it('decode to what was encoded, for keys without quotes and backslashes', () => {
    const element = fc.oneof(
      fc.nat(),
      fc.string({ unit: fc.constantFrom('a', '1', '#', '~', '.', 'é'), minLength: 1 }),
    );
    fc.assert(
      fc.property(fc.array(element, { minLength: 1 }), (path) => {
        // A key that ends in the first half of a delimiter merges with the delimiter behind it.
        fc.pre(path.every((e) => typeof e === 'number' || !/#$|^~/.test(e)));
        assert.deepEqual(decodePath(encodePath(path)), path);
      }),
      { seed },
    );
  });
});

const matching = (pattern: Path): string[] => PATHS.filter(pathMatcher(pattern)).map(encodePath);
const matchingEncoded = (pattern: Path): string[] => {
  const matcher = compileRegex(encodedPattern(pattern));
  return PATHS.map(encodePath).filter((text) => matcher.test(text));
};

describe('~> element by element', () => {
  it('wants as many elements and matches each unanchored', () => {
    assert.deepEqual(matching(['o', 'fam']), ['os#~family']);
    assert.deepEqual(matching(['s', '.*']), ['os#~family', 'disks#~0', 'disks#~1']);
    assert.deepEqual(matching(['^os$', '^fa']), ['os#~family']);
    assert.deepEqual(matching([]), []);
  });

  it('tells keys of digits from indexes', () => {
    assert.deepEqual(matching(['disks', 1]), ['disks#~1']);
    assert.deepEqual(matching(['disks', '1']), []);
    assert.deepEqual(matching(['disks', '[01]']), ['disks#~0', 'disks#~1']);
    assert.deepEqual(matching(['h', '5']), ['h#~"5"']);
    assert.deepEqual(matching(['h', 5]), []);
  });

  it('finds the digits of a number anywhere in an index', () => {
    const found = (index: number): number[] => {
      const matches = pathMatcher(['l', index]);
      return Array.from({ length: 112 }, (_, i) => i).filter((i) => matches(['l', i]) && !matches(['l', String(i)]));
    };
    assert.deepEqual(found(11), [11, 110, 111]);
    assert.deepEqual(found(1).slice(0, 4), [1, 10, 11, 12]);
    assert.deepEqual(found(-1), []);
  });

  it('refuses an invalid regular expression', () => {
    assert.throws(() => pathMatcher(['(']), QueryError);
  });
});

describe('~> over the encoded path', () => {
  it('anchors the whole and keeps wildcards inside an element', () => {
    assert.deepEqual(matchingEncoded(['o', 'fam']), []);
    assert.deepEqual(matchingEncoded(['os', '.*']), ['os#~family']);
    assert.deepEqual(matchingEncoded(['os', '.+', '.{5}']), ['os#~release#~major']);
    assert.deepEqual(matchingEncoded(['(os|disks)', '.*']), ['os#~family', 'disks#~0', 'disks#~1']);
    assert.deepEqual(matchingEncoded(['^os$', '^fa']), []);
    assert.deepEqual(matchingEncoded([]), []);
  });

  it('tells keys of digits from indexes', () => {
    assert.deepEqual(matchingEncoded(['disks', '1']), []);
    assert.deepEqual(matchingEncoded(['disks', 1]), ['disks#~1']);
    assert.deepEqual(matchingEncoded(['disks', '[01]']), ['disks#~0', 'disks#~1']);
    assert.deepEqual(matchingEncoded(['h', '5']), ['h#~"5"']);
    assert.deepEqual(matchingEncoded(['h', 5]), []);
  });
});

describe('match() fields', () => {
  const found = (...parts: PathPart[]): string[] => {
    const matcher = compileRegex(matchPattern(parts));
    return PATHS.map(encodePath).filter((text) => matcher.test(text));
  };
  const name = (text: string): PathPart => ({ kind: 'name', name: text, quoted: false });

  it('stand for the paths that the joined pattern finds anywhere', () => {
    assert.deepEqual(found(name('os'), { kind: 'match', pattern: 'f.*|.*j' }), ['os#~family', 'os#~release#~major']);
    assert.deepEqual(found(name('disks'), { kind: 'match', pattern: '[01]' }), ['disks#~0', 'disks#~1']);
    assert.deepEqual(found({ kind: 'indexed', name: 'disks', index: 2 }, { kind: 'match', pattern: 'n' }), [
      'disks#~2#~name',
    ]);
    assert.deepEqual(found({ kind: 'match', pattern: 'nope' }), []);
  });
});

describe('leaves', () => {
  const seenIn = (name: string, json: string): string[] => {
    const bytes = Buffer.from(` ${json}!`, 'utf8');
    const seen: string[] = [];
    leavesAlong(null, name, { bytes, start: 1, end: bytes.length - 1 }, (path, start, end) => {
      seen.push(`${JSON.stringify(path)} ${bytes.toString('utf8', start, end)}`);
    });
    return seen;
  };

  it('are the scalars of a value; empty structures have none', () => {
    assert.deepEqual(seenIn('f', '{"a":{},"z":[],"10":true,"9":1.0,"bb":[1,{"c":null,"d\\"":"]"}]}'), [
      '["f","10"] true',
      '["f","9"] 1.0',
      '["f","bb",0] 1',
      '["f","bb",1,"c"] null',
      '["f","bb",1,"d\\""] "]"',
    ]);
  });

  it('of a scalar is itself', () => {
    assert.deepEqual(seenIn('kernel', '"Linux"'), ['["kernel"] "Linux"']);
  });
});

describe('leaves along a path', () => {
  const keys = fc.constantFrom('a', 'b', '0', '1', 'x"y', 'é', '');
  const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<JsonValue>(null, true, 1, 'x', ']', '"', '\\'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 3 }),
    ) as fc.Arbitrary<JsonValue>,
  }));
  const elements = fc.oneof<[fc.Arbitrary<string>, fc.Arbitrary<number>]>(keys, fc.constantFrom(0, 1, 2, -1, 0.5));

  const along = (tests: ReturnType<typeof exactTests> | null, value: JsonValue): unknown[] => {
    // Keys in the order of stored text, by which it is known that a member cannot come any more.
    const bytes = Buffer.from(storedText(value), 'utf8');
    const found: unknown[] = [];
    const text = { bytes, start: 0, end: bytes.length };
    leavesAlong(tests, 'f', text, (path, start, end) => {
      found.push(JSON.stringify([[...path], JSON.parse(bytes.toString('utf8', start, end))]));
    });
    return found.sort();
  };
  const among = (value: JsonValue, passes: (path: Path) => boolean): unknown[] => {
    const found: unknown[] = [];
    leaves('f', value, (path, leaf) => passes(path) && found.push(JSON.stringify([[...path], leaf])));
    return found.sort();
  };

  it('are all leaves without tests', () => {
    fc.assert(
      fc.property(values, (value) => {
        assert.deepEqual(
          along(null, value),
          among(value, () => true),
        );
      }),
      { seed, numRuns: 500 },
    );
  });

  it('are those among all leaves that have the path', () => {
    fc.assert(
      fc.property(values, fc.array(elements, { maxLength: 4 }), (value, rest) => {
        const path = ['f', ...rest];
        const wanted = JSON.stringify(path);
        assert.deepEqual(
          along(exactTests(path), value),
          among(value, (p) => JSON.stringify(p) === wanted),
        );
      }),
      { seed, numRuns: 500 },
    );
  });

  it('are those among all leaves that match the pattern', () => {
    const pattern = fc.array(fc.oneof(elements, fc.constantFrom('.*', '[ab]', '^$')), { maxLength: 4 });
    fc.assert(
      fc.property(values, pattern, (value, rest) => {
        const path = ['f', ...rest];
        assert.deepEqual(along(elementTests(path), value), among(value, pathMatcher(path)));
      }),
      { seed, numRuns: 500 },
    );
  });
});

it('wildcards with bounds are confined as they always were, in time linear in the pattern', () => {
  const random = new Random(testSeed('confined wildcards'));
  const plainly = (pattern: string): string =>
    pattern.replace(/\.\*/g, '(?:(?:(?!#~).)+|.?)').replace(/\.(\+|\{.+\})/g, (_, q: string) => `(?:(?!#~).)${q}`);
  for (let run = 0; run < 5000; run++) {
    const pattern = Array.from({ length: random.below(12) }, () =>
      random.pick(['.', '{', '}', '1', '+', '*', 'x', '\n', '\r', '\u2028', '.{1}', '.+']),
    ).join('');
    assert.equal(encodedPattern([pattern]), `^${plainly(encodePath([pattern]))}$`, JSON.stringify(pattern));
  }
  const spent = processorTime();
  assert.ok(encodedPattern(['.{1'.repeat(60_000)]).length > 0);
  assert.ok(spent() < 2000);
});
