import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Float } from '../../../../engine/json/value.ts';
import { QueryError } from '../../../../engine/query/errors.ts';
import { type QueryParams, readParams } from '../../../../engine/query/request/params.ts';
import type { ParamSet } from '../../../../schemas/query-routes.ts';
import { processorTime } from '../../../support/processor-time.ts';

function get(queryString: string, set: ParamSet = 'typical', method = 'GET'): QueryParams {
  return readParams({ method, path: '', api: 'query', queryString, body: null }, set, {
    depthMax: 100,
    pql: set === 'root',
    urlOfPost: true,
  });
}

function post(body: unknown, set: ParamSet = 'typical', queryString = ''): QueryParams {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readParams({ method: 'POST', path: '', api: 'query', queryString, body: text }, set, {
    depthMax: 100,
    pql: set === 'root',
    urlOfPost: true,
  });
}

function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error));
    assert.equal(error.status, 400);
    return error.message;
  }
  return assert.fail('was accepted');
}

const encode = encodeURIComponent;

describe('parameters of a URL', () => {
  it('are form-decoded; a name without a value has an empty one', () => {
    const params = get('query=%5B%22%3D%22%2C%22name%22%2C%22sp+ace%22%5D&limit=%2B5&pretty&include_total=TRUE');
    assert.deepEqual(params.query, ['=', 'name', 'sp ace']);
    assert.equal(params.limit, 5);
    assert.equal(params.pretty, false);
    assert.equal(params.includeTotal, true);
    assert.equal(get('').pretty, null);
    assert.match(
      refusal(() => get('origin=a&limit')),
      /^Illegal value '' for :limit; expected a positive non-zero integer\.$/,
    );
    assert.match(
      refusal(() => get('origin=a&offset')),
      /^Illegal value '' for :offset; expected a non-negative integer\.$/,
    );
    assert.match(
      refusal(() => get('origin=a&explain')),
      /^Illegal value '' for :explain; expected `analyze`\.$/,
    );
    assert.deepEqual([get('origin=a&query').query, get('origin=a&order_by').orderBy], [null, null]);
  });

  it('a grouping of counts without a value is none that there is', () => {
    assert.equal(get('summarize_by=certname&count_by', 'event-counts').countBy, '');
    assert.equal(get('summarize_by=certname', 'event-counts').countBy, null);
    assert.equal(post({ summarize_by: 'certname', count_by: null }, 'event-counts').countBy, null);
  });

  it('go before those of a form in the body of a GET', () => {
    const request = { method: 'GET', path: '', api: 'query', queryString: 'limit=2&origin=u' } as const;
    const params = readParams({ ...request, body: 'limit=1&offset=3&origin' }, 'typical', {
      depthMax: 100,
      pql: false,
      urlOfPost: true,
    });
    assert.deepEqual([params.limit, params.offset, params.origin], [2, 3, 'u']);
  });

  it('are none in a text without any =', () => {
    for (const text of ['foo', 'foo&limit', '%zz']) assert.equal(get(text).limit, null, text);
    assert.match(
      refusal(() => get('foo&limit=1')),
      /Unsupported query parameter 'foo'/,
    );
  });

  it('a broken percent code makes the parameter absent, broken UTF-8 does not', () => {
    assert.equal(get('query=%zz').query, null);
    assert.equal(get('bogus=%zz&limit=2').limit, 2);
    assert.equal(get('limit=%zz&limit=3').limit, 3);
    assert.equal(get('origin=%ff%41').origin, '\ufffdA');
  });

  it('blank and null queries are absent, everything but an array is refused', () => {
    for (const text of ['', ' ', 'null']) assert.equal(get(`query=${encode(text)}`).query, null);
    assert.equal(
      refusal(() => get('query=%7B%7D')),
      "Illegal value '{}' for :query; expected a JSON array.",
    );
  });

  it('flags need the word true', () => {
    for (const text of ['1', 'yes', '', 't']) assert.equal(get(`include_total=${text}`).includeTotal, false);
  });

  it('limit and offset are Java integers', () => {
    for (const text of ['0', '-1', ' 1', '1.0', 'x', '', '2147483648']) {
      const message = `Illegal value '${text}' for :limit; expected a positive non-zero integer.`;
      assert.equal(
        refusal(() => get(`limit=${encode(text)}`)),
        message,
      );
    }
    assert.equal(get('limit=2147483647').limit, 2147483647);
    assert.equal(get('offset=0').offset, 0);
    assert.equal(
      refusal(() => get('offset=-1')),
      "Illegal value '-1' for :offset; expected a non-negative integer.",
    );
  });

  it('digits of any script count, beside each other too', () => {
    for (const [text, count] of [
      ['\u0661', 1],
      ['+\uff11\u06f20', 120],
      ['\u096f\u0966', 90],
      ['\u0662\u0661\u0664\u0667\u0664\u0668\u0663\u0666\u0664\u0667', 2147483647],
    ] as const) {
      assert.equal(get(`limit=${encode(text)}`).limit, count);
      assert.equal(get(`offset=${encode(text)}`).offset, count);
    }
    for (const text of ['\u00b2', '\u2460', '\u{1d7cf}', '-\u0661', '\u0660']) {
      assert.match(
        refusal(() => get(`limit=${encode(text)}`)),
        /^Illegal value/,
      );
    }
    assert.match(
      refusal(() => get(`offset=${encode('\u{1d7cf}')}`)),
      /^Illegal value/,
    );
  });

  it('timeout takes plain decimals; zero is no limit', () => {
    assert.equal(get('timeout=30').timeout, 30);
    assert.equal(get('timeout=.5').timeout, 0.5);
    assert.equal(get('timeout=0').timeout, Number.POSITIVE_INFINITY);
    assert.equal(get('').timeout, null);
    assert.equal(
      refusal(() => get('timeout=-1')),
      'Query timeout must be non-negative number, not -1',
    );
    assert.equal(
      refusal(() => get('timeout=1.')),
      'Query timeout must be non-negative number, not 1.',
    );
  });

  it('a repeated name is refused unless it is unknown anyway', () => {
    assert.equal(
      refusal(() => get('limit=1&limit=2')),
      "Query parameter 'limit' was sent more than once",
    );
    assert.equal(
      refusal(() => get('x=1&x=2')),
      "Unsupported query parameter 'x'",
    );
    assert.equal(get('limit=3&offset=%zz&offset=1').offset, 1, 'what cannot be decoded does not count');
    assert.equal(
      refusal(() => get('limit&limit=3')),
      "Query parameter 'limit' was sent more than once",
    );
    const spent = processorTime();
    assert.match(
      refusal(() => get('limit=1&'.repeat(100_000))),
      /more than once/,
    );
    assert.ok(spent() < 2000, 'a hundred thousand of them cost too much');
  });

  it('other methods than GET and POST are refused', () => {
    for (const method of ['PUT', 'HEAD', 'DELETE', 'OPTIONS']) {
      assert.equal(
        refusal(() => get('', 'typical', method)),
        'PuppetDB queries must be made via GET/POST',
      );
      assert.equal(get('pretty=true', 'plain', method).pretty, true);
    }
  });
});

describe('which of several mistakes is reported', () => {
  it('of several unknown names the first in the order of a set, as PuppetDB 7.12 does', () => {
    for (const [names, first] of [
      [['b', 'a'], 'a'],
      [['bogus', 'x'], 'x'],
      [['Limit', 'Offset', 'Order'], 'Order'],
      [['ü', 'zz', '€'], '€'],
      [['count_by', 'summarize_by'], 'summarize_by'],
      [['count_by', 'counts_filter', 'summarize_by', 'distinct_resources'], 'distinct_resources'],
      [['a', ''], ''],
    ] as const) {
      const expected = `Unsupported query parameter '${first}'`;
      assert.equal(
        refusal(() => get(names.map((name) => `${encode(name)}=1`).join('&'), 'typical')),
        expected,
      );
      assert.equal(
        refusal(() => post(Object.fromEntries(names.map((name) => [name, 1])), 'typical')),
        expected,
      );
    }
  });

  it('malformed JSON before unknown names, unknown names before bad values', () => {
    assert.match(
      refusal(() => get('bogus=1&query=%5B')),
      /^Json parse error at line 1, column 2:/,
    );
    assert.equal(
      refusal(() => get('bogus=1&order_by=x')),
      "Illegal value 'x' for :order_by; expected a JSON array of maps.",
    );
    assert.equal(
      refusal(() => get('limit=x&bogus=1')),
      "Unsupported query parameter 'bogus'",
    );
    assert.equal(
      refusal(() => get('=5')),
      "Unsupported query parameter ''",
    );
    assert.equal(refusal(() => get('offset=x&limit=x')).includes(':limit'), true);
    assert.equal(
      refusal(() => get('bogus=1', 'root')),
      "Missing required query parameter 'query'",
    );
    assert.equal(
      refusal(() => get('bogus=1', 'event-counts')),
      "Missing required query parameter 'summarize_by'",
    );
  });
});

describe('order_by', () => {
  const order = (value: unknown) => `order_by=${encode(JSON.stringify(value))}`;

  it('is a list of maps with field and order', () => {
    const terms = [{ field: 'a' }, { field: 'b', order: 'DESC' }, { field: 'c', order: null }];
    assert.deepEqual(get(order(terms)).orderBy, terms);
    for (const empty of ['', 'null', '[]', '{}', 'false']) get(`order_by=${encode(empty)}`);
  });

  it('names the offending map', () => {
    const cases: readonly (readonly [unknown, string])[] = [
      [{ field: 'a' }, `Illegal value '{:field "a"}' for :order_by; expected an array of maps.`],
      [['a'], `Illegal value '["a"]' for :order_by; expected an array of maps.`],
      ['a', "Illegal value 'a' for :order_by; expected an array of maps."],
      [5, "Don't know how to create ISeq from: java.lang.Integer"],
      [[{ field: 'a', x: 1 }], `Illegal value '{:field "a", :x 1}' in :order_by; unknown key 'x'.`],
      [[{ order: 'asc' }], `Illegal value '{:order "asc"}' in :order_by; missing required key field.`],
      [
        [{ field: 'a', order: 'up' }],
        `Illegal value '{:field "a", :order "up"}' in :order_by; 'order' must be either 'asc' or 'desc'`,
      ],
    ];
    for (const [value, message] of cases)
      assert.equal(
        refusal(() => get(order(value))),
        message,
      );
  });
});

describe('a JSON body', () => {
  it('may be blank or null; text behind it and the URL are ignored', () => {
    for (const body of ['', ' ', 'null', '{}']) assert.equal(post(body, 'typical', 'bogus=1').query, null);
    // Of the URL some count, whatever they say, unless the body says something.
    assert.equal(post({}, 'typical', 'include_total=false&limit=5').includeTotal, true);
    assert.equal(post({}, 'typical', 'include_total=false&limit=5').limit, null);
    assert.equal(post({ include_total: false }, 'typical', 'include_total=true').includeTotal, false);
    assert.equal(post({}, 'typical', 'include_total').includeTotal, false);
    assert.deepEqual(post('{"query":["=","a",1]} junk').query, ['=', 'a', 1]);
  });

  it('holds the query as a list or as a text', () => {
    assert.deepEqual(post({ query: '["=","a",1.0]' }).query, ['=', 'a', new Float(1)]);
    assert.deepEqual(post({ query: 'nodes{}' }, 'root').query, ['from', 'nodes']);
    assert.equal(post({}, 'root').query, null);
    assert.equal(post({ query: false }).query, null);
    for (const query of [5, true, { a: 1 }]) refusal(() => post({ query }));
    refusal(() => post('[]'));
  });

  it('takes numbers as numbers or texts, prints them with separators', () => {
    assert.equal(post({ limit: '2', offset: 1 }).limit, 2);
    assert.equal(
      refusal(() => post({ limit: -1000 })),
      "Illegal value '-1,000' for :limit; expected a positive non-zero integer.",
    );
    for (const limit of [1.5, true, []]) refusal(() => post({ limit }));
    assert.equal(post('{"limit":9223372036854775807}').limit, Number.MAX_SAFE_INTEGER);
    for (const name of ['limit', 'offset']) {
      assert.match(
        refusal(() => post(`{"${name}":9223372036854775808}`)),
        new RegExp(`^Illegal value '9,223,372,036,854,775,808' for :${name};`),
        'the database has no such number',
      );
    }
    assert.equal(post({ timeout: 0 }).timeout, 0);
    refusal(() => post({ timeout: -1 }));
  });

  it('takes Booleans as Booleans or texts', () => {
    assert.equal(post({ include_total: true }).includeTotal, true);
    assert.equal(post({ include_total: 'True' }).includeTotal, true);
    for (const name of ['include_total', 'optimize_drop_unused_joins', 'pretty', 'include_package_inventory'])
      assert.equal(
        refusal(() => post({ [name]: 1 })),
        `Illegal value '1' for :${name}; expected a Boolean.`,
      );
  });
});

describe('distinct mode', () => {
  const times = 'distinct_start_time=2026-01-01&distinct_end_time=2027-01-01T00:00:00Z';

  it('needs all three parameters', () => {
    const accompany = /^'distinct_resources' query parameter must accompany/;
    const requires = /^'distinct_resources' query parameter requires accompanying/;
    assert.match(
      refusal(() => get(times, 'events')),
      accompany,
    );
    assert.match(
      refusal(() => get('distinct_resources=false', 'events')),
      requires,
    );
    assert.match(
      refusal(() => get('distinct_resources=true&distinct_end_time=2026', 'events')),
      requires,
    );
    assert.equal(get('', 'events').distinct, null);
    assert.equal(get(`distinct_resources=false&${times}`, 'events').distinct, null);
    assert.deepEqual(get(`distinct_resources=true&${times}`, 'events').distinct, {
      start: Date.UTC(2026, 0, 1),
      end: Date.UTC(2027, 0, 1),
    });
  });

  it('checks the times even when it is off', () => {
    assert.equal(
      refusal(() => get('distinct_resources=false&distinct_start_time=x&distinct_end_time=2026', 'events')),
      "query parameters 'distinct_start_time' and 'distinct_end_time' must be valid datetime strings: x 2026",
    );
  });
});
