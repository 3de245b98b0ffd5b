import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Float, type JsonValue } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import { parsePql } from '../../../../engine/query/pql/parse.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { testNumber, testSeed } from '../../../support/random.ts';
import { printPql } from './print-pql.ts';

const SEED = testSeed('pql');
const RUNS = testNumber('MUSTER_RUNS', 300);

/** As a server without configuration does. */
const parse = (text: string): JsonValue => parsePql(text, 1000);

function failure(text: string): QueryError {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error));
    return error;
  }
  return assert.fail(`parsed: ${text}`);
}

/** Line, column and the source line with its caret. */
function place(text: string): string {
  const lines = failure(text).message.split('\n');
  return `${lines[0]?.replace('PQL parse error at ', '')} ${lines[2]} ${lines[3]}`;
}

describe('pql: texts compile to the tree they stand for', () => {
  const cases: readonly (readonly [string, JsonValue])[] = [
    ['nodes{}', ['from', 'nodes']],
    [' \t\nnodes {\f}\r', ['from', 'nodes']],
    ['nodes[]{}', ['from', 'nodes', ['extract', []]]],
    ['nodes[]{certname = "a"}', ['from', 'nodes', ['extract', [], ['=', 'certname', 'a']]]],
    ['nodes[ certname ,deactivated ]{}', ['from', 'nodes', ['extract', ['certname', 'deactivated']]]],
    [
      'nodes[a, count()]{a = 1 group by a}',
      ['from', 'nodes', ['extract', ['a', ['function', 'count']], ['=', 'a', 1], ['group_by', 'a']]],
    ],
    ['nodes{a = 1 group by a}', ['from', 'nodes', ['=', 'a', 1], ['group_by', 'a']]],
    ['nodes[a]{limit 1}', ['from', 'nodes', ['extract', ['a']], ['limit', 1]]],
    ['nodes{a="b"limit 1offset 2}', ['from', 'nodes', ['=', 'a', 'b'], ['limit', 1], ['offset', 2]]],
    [
      'nodes{limit 1 order by a, b desc ,c asc offset 3}',
      ['from', 'nodes', ['limit', 1], ['order_by', ['a', ['b', 'desc'], ['c', 'asc']]], ['offset', 3]],
    ],
    ['nodes{limit = 5}', ['from', 'nodes', ['=', 'limit', 5]]],
    ['nodes{5 = 5}', ['from', 'nodes', ['=', '5', 5]]],
    ['nodes{a=1 and b=2 and c=3}', ['from', 'nodes', ['and', ['=', 'a', 1], ['=', 'b', 2], ['=', 'c', 3]]]],
    ['nodes{a=1 or (b=2 or c=3)}', ['from', 'nodes', ['or', ['=', 'a', 1], ['=', 'b', 2], ['=', 'c', 3]]]],
    ['nodes{(a=1 or b=2) or c=3}', ['from', 'nodes', ['or', ['=', 'a', 1], ['=', 'b', 2], ['=', 'c', 3]]]],
    ['nodes{a=1 and (b=2 and c=3)}', ['from', 'nodes', ['and', ['=', 'a', 1], ['=', 'b', 2], ['=', 'c', 3]]]],
    ['nodes{a=1 and b=2 or c=3}', ['from', 'nodes', ['or', ['and', ['=', 'a', 1], ['=', 'b', 2]], ['=', 'c', 3]]]],
    ['nodes{! a = 1 and b = 2}', ['from', 'nodes', ['and', ['not', ['=', 'a', 1]], ['=', 'b', 2]]]],
    ['nodes{! !a = 1}', ['from', 'nodes', ['not', ['not', ['=', 'a', 1]]]]],
    ['nodes{a != 1}', ['from', 'nodes', ['not', ['=', 'a', 1]]]],
    ['nodes{a !~ "x"}', ['from', 'nodes', ['not', ['~', 'a', 'x']]]],
    ['nodes{a ~> ["x" , \'y\']}', ['from', 'nodes', ['~>', 'a', ['x', 'y']]]],
    ['nodes{a is null or b is not null}', ['from', 'nodes', ['or', ['null?', 'a', true], ['null?', 'b', false]]]],
    ['nodes{a in[1,"b",true]}', ['from', 'nodes', ['in', 'a', ['array', [1, 'b', true]]]]],
    [
      'nodes{[a,b] in edges[c,d]{e = 1}}',
      ['from', 'nodes', ['in', ['a', 'b'], ['from', 'edges', ['extract', ['c', 'd'], ['=', 'e', 1]]]]],
    ],
    ['nodes{a in facts{}}', ['from', 'nodes', ['in', 'a', ['from', 'facts']]]],
    ['nodes{facts{name = "a"}}', ['from', 'nodes', ['subquery', 'facts', ['=', 'name', 'a']]]],
    ['nodes{facts{}}', ['from', 'nodes', ['subquery', 'facts']]],
    ['nodes{facts = 5}', ['from', 'nodes', ['=', 'facts', 5]]],
    ['nodes{a = [1, ["x"], false]}', ['from', 'nodes', ['=', 'a', [1, ['x'], false]]]],
    ['nodes[count]{}', ['from', 'nodes', ['extract', ['count']]]],
    ['nodes[counts, maximum]{}', ['from', 'nodes', ['extract', ['counts', 'maximum']]]],
    ['reports[to_string(a, "M", "x")]{}', ['from', 'reports', ['extract', [['function', 'to_string', 'a', 'M', 'x']]]]],
    ['reports{latest_report? = true}', ['from', 'reports', ['=', 'latest_report?', true]]],
  ];
  for (const [text, ast] of cases) it(text, () => assert.deepEqual(parse(text), ast));
});

describe('pql: dotted fields', () => {
  const condition = (text: string): JsonValue => (parse(`inventory{${text}}`) as JsonValue[])[2] as JsonValue;

  it('take everything up to the next dot, quote, bracket, comparison or white space', () => {
    assert.deepEqual(condition("facts.a:b-c'd(e){f}.g = 1"), ['=', "facts.a:b-c'd(e){f}.g", 1]);
    assert.deepEqual(condition('facts.a[0].b=1'), ['=', 'facts.a[0].b', 1]);
    assert.deepEqual(condition('trusted."a.b".c ~ "x"'), ['~', 'trusted."a.b".c', 'x']);
    assert.deepEqual(condition('facts."a "b" = 1'), ['=', 'facts."a "b"', 1]);
  });

  it('end a match part at its first closing parenthesis, unless the longer reading is the one that fits', () => {
    assert.deepEqual(condition('facts.match("a b").c = 1'), ['=', 'facts.match("a b").c', 1]);
    assert.deepEqual(condition('facts.match(a)b = 1'), ['=', 'facts.match(a)b', 1]);
    assert.deepEqual(condition('facts.match( = ")"'), ['=', 'facts.match(', ')']);
    assert.deepEqual(condition('facts.match(a)in [1]'), ['in', 'facts.match(a)', ['array', [1]]]);
    assert.deepEqual(condition('facts.match(a)in[1] = 5'), ['=', 'facts.match(a)in[1]', 5]);
    assert.deepEqual(condition('group by facts.match(a)'), ['group_by', 'facts.match(a)']);
    assert.deepEqual(condition('order by facts.match(a)b asc'), ['order_by', [['facts.match(a)b', 'asc']]]);
  });

  it('swallow a closing brace', () => {
    assert.equal(
      place('inventory[facts.kernel]{group by facts.kernel}'),
      `line 1, column 47: inventory[facts.kernel]{group by facts.kernel} ${' '.repeat(46)}^`,
    );
    assert.deepEqual(parse('inventory[facts.kernel]{group by facts.kernel }'), [
      'from',
      'inventory',
      ['extract', ['facts.kernel'], ['group_by', 'facts.kernel']],
    ]);
  });
});

describe('pql: values', () => {
  const value = (text: string): JsonValue =>
    ((parse(`facts{value = ${text}}`) as JsonValue[])[2] as JsonValue[])[2] ?? null;

  it('integers have 64 bits', () => {
    assert.equal(value('-007'), -7);
    assert.equal(value('-0'), 0);
    assert.equal(value(`-${'0'.repeat(20)}9223372036854775808`), -9223372036854775808n);
    assert.equal(value('9007199254740993'), 9007199254740993n);
    assert.equal(value('9223372036854775807'), 9223372036854775807n);
    assert.equal(value('-9223372036854775808'), -9223372036854775808n);
    assert.equal(failure('facts{value = 9223372036854775808}').message, 'For input string: "9223372036854775808"');
    assert.equal(failure('facts{value = -9223372036854775809}').message, 'For input string: "-9223372036854775809"');
    assert.equal(
      failure('facts{value = [9223372036854775808, 9223372036854775809]}').message,
      'For input string: "9223372036854775808"',
    );
    assert.equal(failure(`facts{value = ${'9'.repeat(9999)}}`).status, 400);
  });

  it('reals stay reals', () => {
    assert.deepEqual(value('1.0'), new Float(1));
    assert.deepEqual(value('-1.5e+3'), new Float(-1500));
    assert.equal(value('2.5E-1'), 0.25);
    assert.deepEqual(value('1.0e999'), new Float(Number.POSITIVE_INFINITY));
  });

  it('double quotes take the escapes of JSON, single quotes only their own', () => {
    assert.equal(value('"a\\"\\u00e9\\n\nb"'), 'a"é\n\nb');
    assert.equal(value("'\\'a\\''"), "'a'");
    assert.equal(value("'a\\'\\\\\\d\"'"), 'a\'\\\\\\d"');
    const bad = (text: string): string => failure(`facts{value = "${text}"}`).message;
    const at = (column: number): string => `\n at [Source: (StringReader); line: 1, column: ${column}]`;
    assert.equal(bad('\\d'), `Unrecognized character escape 'd' (code 100)${at(4)}`);
    assert.equal(bad('\\☃'), `Unrecognized character escape '☃' (code 9731 / 0x2603)${at(4)}`);
    const noHexDigit = `Unexpected character ('"' (code 34)): expected a hex-digit for character escape sequence`;
    assert.equal(bad('\\u'), noHexDigit + at(5));
    assert.equal(bad('\\\\\\u00'), noHexDigit + at(9));
  });
});

describe('pql: an error points at the furthest place any rule reached', () => {
  const cases: readonly (readonly [string, number, number?])[] = [
    ['bogus{}', 1],
    ['nodes', 6],
    ['nodes{', 7],
    ['nodes{}}', 8],
    ['nodes{} x', 8],
    ['nodes{certname = "a}', 21],
    ['nodes{certname = "a"and certname = "b"}', 21],
    ['nodes{a = "b\\\nc"}', 13],
    ['nodes{a ~ 5}', 11],
    ['nodes{a ~> [5]}', 13],
    ['nodes{a < true}', 11],
    ['nodes{a = 1 and}', 16],
    ['nodes{certname == "a"}', 17],
    ['nodes{certname in []}', 20],
    ['nodes{certname is  null}', 16],
    ['nodes{certname = 5.}', 20],
    ['nodes{certname = 5.\n}', 20],
    ['nodes{a = 1.5e}', 15],
    ['nodes{order by descx}', 16],
    ['nodes{limit 1 group by a}', 15],
    ['nodes{certname.x = 1}', 15],
    ['inventory{facts. = 1}', 17],
    ['inventory[facts."dot.ted"]{}', 17],
    ['nodes{a = 1\n and b ~ 5}', 10, 2],
    ['nodes{a\u00a0= 1}', 8],
    ['nodes{facts{a = 1} facts{b = 1}}', 20],
  ];
  for (const [text, column, line] of cases) {
    it(JSON.stringify(text), () => assert.equal(place(text).split(':')[0], `line ${line ?? 1}, column ${column}`));
  }

  it('an empty text has no line to show', () => {
    assert.equal(place(''), 'line 1, column 1: null ^');
    assert.equal(place(' '), 'line 1, column 2:    ^');
    assert.equal(place('facts {\n'), 'line 2, column 1:  ^');
  });

  it('a carriage return ends the line that is shown, but is not counted', () => {
    assert.equal(place('nodes {\r certname = 5x }'), `line 1, column 22: nodes { ${' '.repeat(21)}^`);
    assert.equal(place('nodes {\rx\n'), 'line 2, column 1: x ^');
    assert.equal(place('nodes {\n\rcertname x'), `line 2, column 11:  ${' '.repeat(10)}^`);
    assert.equal(place('nodes {\r\n a b\r\n}'), `line 2, column 4:  a b ${' '.repeat(3)}^`);
    assert.equal(place('\n'), 'line 2, column 1:  ^');
  });

  it('large numbers are written with separators', () => {
    assert.match(failure(`nodes{${' '.repeat(1514)}`).message, /^PQL parse error at line 1, column 1,521:/);
  });

  it('names what could have stood there', () => {
    assert.equal(
      failure('nodes{} x').message,
      `PQL parse error at line 1, column 8:\n\nnodes{} x\n${' '.repeat(7)}^\n\nExpected one of:\n\n` +
        '#"\\s+" (followed by end-of-string):end-of-string\n',
    );
    assert.ok(failure('nodes{a ').message.endsWith('\n<=\n<\n>\n=\n!=\n!~\nin\nis null\nis not null\n'));
    assert.match(failure('nodes{a = "').message, /\n\nExpected:\n"\n$/);
  });

  it('names directions, and white space that may follow white space', () => {
    const named = (text: string): string[] => failure(text).message.split('\n').slice(7, -1).sort();
    assert.deepEqual(named('nodes{order by @'), [
      '#"[a-zA-Z0-9_]+\\??"',
      'asc',
      'desc',
      'facts',
      'parameters',
      'trusted',
    ]);
    assert.deepEqual(named('nodes{order by asc}'), ['NOT "asc" | "desc"', 'desc']);
    assert.deepEqual(named('nodes{order by a,description}'), ['#"\\s+"', 'NOT "asc" | "desc"', 'asc']);
    assert.deepEqual(named('nodes{group by a b}'), ['#"\\s+"', ',', '}']);
    assert.ok(named('nodes{a in  @}').includes('#"\\s+"'));
  });

  it('a subquery takes no paging', () => {
    for (const [clauses, count] of [
      ['a = 1 limit 1 offset 2', 4],
      ['a = 1 limit 1', 3],
      ['a = 1 group by a', 3],
    ]) {
      const { message } = failure(`nodes{facts{${clauses}}}`);
      assert.match(message, new RegExp(`^Wrong number of args \\(${count}\\) passed to: .*transform-subquery$`));
    }
    assert.deepEqual(parse('nodes{facts{limit 1}}'), ['from', 'nodes', ['subquery', 'facts', ['limit', 1]]]);
  });
});

describe('pql: bounds', () => {
  it('nesting is bounded, not the stack', () => {
    for (const open of ['(', '!', 'facts{', '[', 'a in facts{', 'a = [', 'a in [[']) {
      const error = failure(`nodes{${open.repeat(20_000)}`);
      assert.equal(error.status, 400);
    }
  });

  it('what stands side by side is not nested', () => {
    for (const [part, depth] of [
      ['(a = 1)', 2],
      ['! a = 1', 2],
      ['facts{a = 1}', 2],
      ['a = [1]', 2],
      ['a in facts{(a = 1)}', 3],
    ] as const) {
      const text = `nodes{${Array(9).fill(part).join(' and ')}}`;
      assert.equal((parsePql(text, depth) as JsonValue[][])[2]!.length, 10, part);
      assert.throws(() => parsePql(text, depth - 1), {
        message: `PQL query is nested deeper than ${depth - 1} levels`,
      });
    }
  });

  it('takes time in proportion to the length of the text', () => {
    const texts = [
      `nodes{facts.${'match(.'.repeat(50_000)} = 1}`,
      `nodes{facts.${'match(a)b.'.repeat(50_000)}x = 1}`,
      `nodes{${'a = 1 or '.repeat(30_000)}a = 1}`,
      `nodes{${'a = 1 and '.repeat(30_000)}}`,
      `nodes{a in [${'1,'.repeat(50_000)}`,
      `nodes{a = "${'\\"'.repeat(100_000)}`,
      `nodes{${'facts."a" = 1 and '.repeat(20_000)}`,
      `nodes{a = ${'9'.repeat(300_000)}}`,
      `nodes{${' '.repeat(300_000)}`,
    ];
    for (const text of texts) {
      const spent = processorTime();
      try {
        parse(text);
      } catch (error) {
        assert.ok(error instanceof QueryError);
      }
      assert.ok(spent() < 2000, text.slice(0, 40));
    }
  });
});

describe('pql: random texts', () => {
  const words = fc.constantFrom(
    ...'nodes facts factsets { } [ ] ( ) , . ! = != ~ ~> < >= in and or is null not limit offset order by group asc desc a certname facts.a facts."b" facts.match(c) count( "x" \'y\' "\\ 1 -2.5 5e true false'.split(
      ' ',
    ),
    ' ',
    '  ',
    '\n',
    'is null',
    'is not null',
    'order by',
    'group by',
  );

  it('end with a tree or with one of the errors of the language', () => {
    const noise = fc.oneof(
      fc.array(words, { maxLength: 40 }).map((w) => `nodes{${w.join('')}`),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(noise, (text) => {
        try {
          parse(text);
        } catch (error) {
          assert.ok(error instanceof QueryError, String(error));
          assert.equal(error.status, 400);
        }
      }),
      { seed: SEED, numRuns: RUNS * 10 },
    );
  });

  it('a printed tree parses back to itself', () => {
    const field = fc.constantFrom(
      'certname',
      'latest_report?',
      'limit',
      'facts.os',
      'facts."a.b"',
      'parameters.x[3].y',
    );
    const entity = fc.constantFrom('nodes', 'facts', 'fact_contents', 'package_inventory', 'events');
    const scalar = fc.oneof(
      fc.maxSafeInteger().map((n) => n + 0),
      fc.bigInt(2n ** 53n, 2n ** 63n - 1n),
      fc.constantFrom<JsonValue>(1.5, -0.25, new Float(3), true, false),
      fc.string({ unit: 'grapheme' }),
    );
    const value = fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 3 }));
    const column = fc.oneof(
      field,
      fc.constantFrom('count', 'sum').map((name) => ['function', name]),
      fc.tuple(field, fc.string()).map(([f, mask]) => ['function', 'to_string', f, mask]),
    );
    const columns = fc.array(column, { minLength: 1, maxLength: 3 });
    const { filter } = fc.letrec<{ filter: JsonValue }>((tie) => ({
      filter: fc.oneof(
        { maxDepth: 4 },
        fc.tuple(fc.constant('='), field, value),
        fc.tuple(fc.constant('~'), field, fc.string()),
        fc.tuple(fc.constantFrom('<', '>='), field, fc.oneof(fc.integer(), fc.string())),
        fc.tuple(fc.constant('null?'), field, fc.boolean()),
        fc.tuple(fc.constant('~>'), field, fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
        fc.tuple(
          fc.constant('in'),
          field,
          fc.array(scalar, { minLength: 1 }).map((v) => ['array', v]),
        ),
        tie('filter').map((f) => ['not', f]),
        fc
          .array(
            tie('filter').filter((f) => (f as JsonValue[])[0] !== 'and'),
            { minLength: 2, maxLength: 3 },
          )
          .map((f) => ['and', ...f]),
        fc
          .array(
            tie('filter').filter((f) => (f as JsonValue[])[0] !== 'or'),
            { minLength: 2, maxLength: 3 },
          )
          .map((f) => ['or', ...f]),
        fc.tuple(entity, tie('filter')).map(([e, f]) => ['subquery', e, f]),
        fc
          .tuple(columns, entity, columns, tie('filter'))
          .map(([c, e, d, f]) => ['in', c, ['from', e, ['extract', d, f]]]),
      ) as fc.Arbitrary<JsonValue>,
    }));
    const paging = fc.subarray<JsonValue>([
      ['limit', 3],
      ['offset', 2],
      ['order_by', ['a', ['b', 'desc']]],
    ]);
    const query = fc.oneof(
      fc.tuple(entity, filter, paging).map(([e, f, p]) => ['from', e, f, ...p]),
      fc.tuple(entity, columns, filter, paging).map(([e, c, f, p]) => ['from', e, ['extract', c, f], ...p]),
      fc
        .tuple(entity, columns, filter, columns)
        .map(([e, c, f, g]) => ['from', e, ['extract', c, f, ['group_by', ...g]]]),
    );
    fc.assert(
      fc.property(query, (ast) => {
        const text = printPql(ast as JsonValue);
        assert.deepEqual(parse(text), ast, text);
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
