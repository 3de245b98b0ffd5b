// Arbitraries for hostile input: texts that mean something to somebody (prototypes, paths, headers, databases), JSON as text
// (so that it can hold what no parser would give: huge numbers, equal keys, halves of surrogates), queries in both languages
// that are nearly right, commands with one thing wrong, and bytes that are nearly HTTP.

import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { entityNames, entityOf } from '../../schemas/entities.ts';
import { queryRoutes } from '../../schemas/query-routes.ts';
import { deactivateNode, replaceCatalog, replaceFacts, storeReport } from '../support/commands.ts';

export const prototypeNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
] as const;

const texts = [
  ...prototypeNames,
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '/',
  '..',
  '.',
  '../../../../etc/passwd',
  '..\\..\\x',
  '%2e%2e%2f',
  '%00',
  '%',
  '%zz',
  '\r\nX-Injected: 1',
  '\nX-Injected: 1\r\n\r\n<html>',
  '\ud800',
  'x\udfff',
  '\ufeff',
  '\u2028',
  '\u{1f600}',
  'é',
  "' OR 1=1 --",
  '"',
  '\\',
  '{{x}}',
  'null',
  'NaN',
  'a'.repeat(3000),
  'fuzz.example.com',
];

export const nastyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...texts) },
  { weight: 1, arbitrary: fc.string({ maxLength: 20 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
);

const numberText = fc.oneof(
  fc.constantFrom(
    '1e400',
    '-1e400',
    '1e-400',
    '-0',
    '0.0',
    '1E5',
    '9007199254740993',
    '-9223372036854775809',
    '9'.repeat(500),
    `0.${'3'.repeat(500)}`,
    '1e99999999999',
    '01',
    '1.',
    '.5',
    '+1',
    '0x10',
    'Infinity',
  ),
  fc.integer().map(String),
  fc.double().map(String),
);

const deep = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);

/** JSON, mostly. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom('null', 'true', 'false', '{}', '[]', '""', 'undefined', '[1,', '{"a"', deep('[', ']', 3000)),
    numberText,
    nastyText.map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(fc.tuple(nastyText, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
  ),
})).value;

// ------------------------------------------------------------------ queries

const entities = entityNames().filter((name) => !entityOf(name).pseudo);
const fieldNames = [...new Set(entityNames().flatMap((name) => entityOf(name).fields.map((field) => field.name)))];
const functions = ['count', 'avg', 'sum', 'min', 'max', 'to_string', 'jsonb_typeof', 'nonsense'];
const formats = ['YYYY-MM-DD', 'FMDay', 'HH24:MI:SS.MS', '"quoted"YYYY', 'TH', '999D99', ''];
const regexes = [
  '.',
  '^a',
  '(',
  '[[:alpha:]]+',
  '(a*)*b',
  '(.*)\\1',
  'a{1,255}',
  '[z-a]',
  '\\',
  '(?i)x',
  '(?=a)',
  'x{999999}',
];
const dotted = [
  'facts.__proto__',
  'facts.constructor.name',
  'facts.shape.list[0]',
  'facts.shape.match("l.*")',
  'facts."a.b"',
  'trusted.extensions',
  'parameters.__proto__.x',
  'facts.',
  'facts..a',
  'facts.shape.list[999999999999]',
  'facts."',
];

type Json = unknown;

const fieldName: fc.Arbitrary<Json> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...fieldNames) },
  { weight: 2, arbitrary: fc.constantFrom(...dotted) },
  { weight: 1, arbitrary: nastyText },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('parameter', 'fact', 'node', 'function', 'x'), nastyText)
      .map((pair) => [...pair]),
  },
);

const literal: fc.Arbitrary<Json> = fc.oneof(
  nastyText,
  fc.constantFrom('active', 'any', 'inactive', '2020-01-01T00:00:00Z', 'now', ...regexes),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(nastyText, { maxLength: 3 }),
  fc.constant({}),
);

const call: fc.Arbitrary<Json> = fc
  .tuple(fc.constantFrom(...functions, 'to_char'), fieldName, fc.constantFrom(...formats))
  .map(([name, field, format]) => (name === 'to_char' ? ['function', name, field, format] : ['function', name, field]));

const column: fc.Arbitrary<Json> = fc.oneof(fieldName, call, fc.constant(['function', 'count']));

interface AstParts {
  filter: Json;
  select: Json;
}

const paging: fc.Arbitrary<Json> = fc.oneof(
  fieldName.map((field) => ['group_by', field]),
  fc.tuple(fieldName, fc.constantFrom('asc', 'desc', 'up')).map((pair) => ['order_by', [pair]]),
  fc.integer().map((count) => ['limit', count]),
  fc.integer().map((count) => ['offset', count]),
);

const { filter, select } = fc.letrec<AstParts>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc
      .tuple(fc.constantFrom('=', '~', '<', '>', '<=', '>=', '~>', '!='), fieldName, literal)
      .map((parts) => [...parts]),
    fc.tuple(fc.constant('null?'), fieldName, literal).map((parts) => [...parts]),
    fc.tuple(fc.constantFrom('and', 'or'), fc.array(tie('filter'), { maxLength: 4 })).map(([op, all]) => [op, ...all]),
    tie('filter').map((one) => ['not', one]),
    fc.tuple(fieldName, fc.array(literal, { maxLength: 4 })).map(([field, all]) => ['in', field, ['array', all]]),
    fc
      .tuple(fc.oneof(fieldName, fc.array(fieldName, { maxLength: 3 })), tie('select'))
      .map(([field, sub]) => ['in', field, sub]),
    fc.tuple(fc.constantFrom(...entities), tie('filter')).map(([entity, one]) => ['subquery', entity, one]),
    literal,
  ),
  select: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc
      .tuple(fc.array(column, { maxLength: 4 }), fc.option(tie('filter')), fc.array(paging, { maxLength: 2 }))
      .map(([columns, one, rest]) => ['extract', columns, ...(one === null ? [] : [one]), ...rest]),
    fc
      .tuple(fc.constantFrom(...entities), fc.option(tie('select')), fc.array(paging, { maxLength: 2 }))
      .map(([entity, one, rest]) => ['from', entity, ...(one === null ? [] : [one]), ...rest]),
    fc
      .tuple(fc.constantFrom(...entities), fieldName, tie('filter'))
      .map(([entity, field, one]) => ['extract', field, [`select_${entity}`, one]]),
    tie('filter'),
  ),
}));

// Queries that fit their entity, so that more than the checks is reached. One in ten parts is of the other kind.

type Field = ReturnType<typeof entityOf>['fields'][number];

const times = ['2020-01-01T00:00:00Z', '2026-11-20', 'now', '2999-12-31T23:59:60.999999999+14:00', '-0001-01-01', '0'];
const compared = fc.constantFrom('=', '<', '>', '<=', '>=');
const regex = fc.constantFrom(...regexes.filter((text) => !['(', '[z-a]', '\\', 'x{999999}'].includes(text)));
const known = fc.constantFrom(
  'witness.example.com',
  'fuzz.example.com',
  'File',
  'env2',
  'Linux',
  'v11',
  'success',
  'version',
);

function fitting({ name, type }: Field): fc.Arbitrary<Json> {
  const text = fc.oneof(known, nastyText);
  switch (type) {
    case 'B':
      return fc.boolean().map((value) => ['=', name, value]);
    case 'N':
      return fc.tuple(compared, fc.integer({ min: -100, max: 100 })).map(([op, value]) => [op, name, value]);
    case 'T':
      return fc.tuple(compared, fc.constantFrom(...times)).map(([op, value]) => [op, name, value]);
    case 'PA':
    case 'PE':
      return fc
        .array(fc.oneof(regex, fc.integer({ min: 0, max: 9 })), { maxLength: 4 })
        .map((path) => ['~>', name, path]);
    case 'V':
      return fc.oneof(
        literal.map((value) => ['=', name, value]),
        fc.tuple(compared, fc.integer()).map(([op, value]) => [op, name, value]),
        regex.map((pattern) => ['~', name, pattern]),
      );
    case 'J':
      return fc
        .tuple(
          compared,
          fc.constantFrom('version', 'shape.version', 'shape.list[0]', '__proto__.x', 'match("s.*")'),
          literal,
        )
        .map(([op, path, value]) => [op, `${name}.${path}`, value]);
    default:
      return fc.oneof(
        text.map((value) => ['=', name, value]),
        regex.map((pattern) => ['~', name, pattern]),
        fc.array(text, { maxLength: 3 }).map((values) => ['in', name, ['array', values]]),
        fc.boolean().map((value) => ['null?', name, value]),
      );
  }
}

const withCertname = entities.filter((name) => entityOf(name).hasCertname);

function filterOf(entity: (typeof entities)[number], depth: number): fc.Arbitrary<Json> {
  const queryable = entityOf(entity).fields.filter((field) => field.queryable && field.requires === null);
  const leaf = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...queryable).chain(fitting) },
    { weight: 1, arbitrary: filter },
  );
  if (depth === 0) return leaf;
  const inner = filterOf(entity, depth - 1);
  const parts: fc.WeightedArbitrary<Json>[] = [
    { weight: 3, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom('and', 'or'), inner, inner).map(([op, one, two]) => [op, one, two]),
    },
    { weight: 1, arbitrary: inner.map((one) => ['not', one]) },
  ];
  if (entityOf(entity).hasCertname) {
    const sub = fc
      .constantFrom(...withCertname)
      .chain((other) => filterOf(other, 0).map((one) => [other, one] as const));
    parts.push({
      weight: 2,
      arbitrary: sub.map(([other, one]) => ['in', 'certname', ['from', other, ['extract', 'certname', one]]]),
    });
  }
  return fc.oneof(...parts);
}

const fittingQuery: fc.Arbitrary<Json> = fc.constantFrom(...entities).chain((entity) => {
  const { fields } = entityOf(entity);
  const shown = fields.filter((field) => field.projectable && field.requires === null).map((field) => field.name);
  const orderable = fields.filter((field) => field.queryable && field.requires === null).map((field) => field.name);
  const rest = fc.oneof(
    fc.constant([]),
    fc
      .tuple(fc.constantFrom(...orderable), fc.constantFrom('asc', 'desc'), fc.nat({ max: 5 }))
      .map(([field, direction, limit]) => [
        ['order_by', [[field, direction]]],
        ['limit', limit],
      ]),
  );
  const columns = fc.uniqueArray(fc.constantFrom(...shown), { minLength: 1, maxLength: 4 });
  const grouped = fc
    .tuple(columns, fc.constantFrom('count', 'min', 'max'), fc.constantFrom(...shown), filterOf(entity, 1))
    .map(([names, name, field, one]) => {
      const called = name === 'count' ? ['function', 'count'] : ['function', name, field];
      return ['from', entity, ['extract', [...names, called], one, ['group_by', ...names]]];
    });
  return fc.oneof(
    fc.tuple(filterOf(entity, 2), rest).map(([one, more]) => ['from', entity, one, ...more]),
    fc
      .tuple(columns, filterOf(entity, 2), rest)
      .map(([names, one, more]) => ['from', entity, ['extract', names, one], ...more]),
    grouped,
  );
});

/** Queries for the root route that are right, but for a part here and there. */
export const fittingAst: fc.Arbitrary<string> = fittingQuery.map((query) => JSON.stringify(query));

/** A query as JSON text, deep ones and damaged ones among them. */
export const astText: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: select.map((query) => JSON.stringify(query)) },
  { weight: 2, arbitrary: filter.map((query) => JSON.stringify(query)) },
  { weight: 1, arbitrary: jsonText },
  {
    weight: 1,
    arbitrary: fc
      .tuple(filter, fc.constantFrom(50, 900, 1100, 20_000))
      .map(([query, depth]) => `${'["not",'.repeat(depth)}${JSON.stringify(query)}${']'.repeat(depth)}`),
  },
);

const pqlTokens = [
  ...entities,
  ...fieldNames.slice(0, 30),
  ...dotted,
  ...functions.map((name) => `${name}()`),
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '=',
  '!=',
  '~',
  '~>',
  '<',
  '>=',
  'in',
  'and',
  'or',
  '!',
  'is null',
  'is not null',
  'order by',
  'group by',
  'limit',
  'offset',
  'asc',
  ',',
  '"text"',
  "'text'",
  '"',
  "'",
  '\\',
  '1',
  '-1.5e3',
  '1e400',
  'true',
  '.',
  '*',
  'nodes { }',
  'facts[name, value] { name = "version" }',
  'resources { type = "File" and parameters.version > 1 }',
  'nodes[count()] { facts.shape.version > 1 group by certname }',
];

export const pqlText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.array(fc.oneof(fc.constantFrom(...pqlTokens), nastyText), { maxLength: 25 }),
        fc.constantFrom(' ', '', '\n'),
      )
      .map(([tokens, space]) => tokens.join(space)),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...entities), fc.array(fc.constantFrom(...pqlTokens), { maxLength: 12 }))
      .map(([entity, tokens]) => `${entity} { ${tokens.join(' ')} }`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('nodes { ', 'nodes { (', 'nodes { !', 'nodes[', 'facts { value = "'),
        fc.constantFrom(1, 2000, 30_000),
      )
      .map(([start, count]) => start + start.slice(-1).repeat(count)),
  },
);

const parameterNames = [
  'query',
  'order_by',
  'limit',
  'offset',
  'include_total',
  'pretty',
  'explain',
  'timeout',
  'origin',
  'summarize_by',
  'count_by',
  'counts_filter',
  'distinct_resources',
  'distinct_start_time',
  'distinct_end_time',
  'ast_only',
  'include_facts_expiration',
  'include_package_inventory',
  'nonsense',
  '__proto__',
];

const parameterValue = fc.oneof(
  nastyText,
  astText,
  fc.constantFrom(
    '[{"field":"certname","order":"desc"}]',
    '[{"field":"nonsense"}]',
    '[{"field":"certname"},{"field":"certname"}]',
    '1',
    '-1',
    '0',
    '1e9',
    '99999999999999999999',
    'true',
    'false',
    'certname',
    'containing_class',
    '["=","failures",0]',
  ),
);

/** Path and query of a request to the query API, nearly right. */
export const queryTarget: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...queryRoutes.map(({ path }) => path)),
    fc.array(
      fc.oneof(fc.constantFrom('witness.example.com', 'File', 'version', 'production', '0'.repeat(40)), nastyText),
      {
        minLength: 4,
        maxLength: 4,
      },
    ),
    fc.array(fc.tuple(fc.constantFrom(...parameterNames), parameterValue), { maxLength: 4 }),
    fc.boolean(),
  )
  .map(([path, segments, parameters, isRaw]) => {
    let next = 0;
    const filled = path.replace(/[:.][a-z]+/g, () => encode(segments[next++ % 4]!));
    const pairs = parameters.map(([name, value]) => `${name}=${isRaw ? rawUrl(value) : encode(value)}`);
    return `/pdb/query/v4${filled}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
  });

/** Percent-encoded UTF-8; halves of surrogates become what their bytes would be. */
function encode(text: string): string {
  return Array.from(Buffer.from(text.slice(0, 4000), 'utf8'), (byte) => {
    const char = String.fromCharCode(byte);
    return /[A-Za-z0-9_.~-]/.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`;
  }).join('');
}

/** Only what would end the request line is taken out. */
const rawUrl = (text: string): string => text.slice(0, 4000).replace(/[^\x21-\x7e]|[#&]/g, '');

// ------------------------------------------------------------------ commands

export interface HostileCommand {
  readonly command: string;
  readonly version: number;
  readonly certname: string;
  readonly body: Uint8Array;
}

const TIME = Date.UTC(2026, 0, 1);
const bases = [
  replaceFacts('fuzz.example.com', 7, TIME),
  replaceCatalog('fuzz.example.com', 7, TIME, 3),
  storeReport('fuzz.example.com', 7, TIME),
  deactivateNode('fuzz.example.com', TIME),
  {
    command: 'configure expiration',
    version: 1,
    certname: 'fuzz.example.com',
    payload: JSON.stringify({
      certname: 'fuzz.example.com',
      producer_timestamp: new Date(TIME),
      expire: { facts: false },
    }),
  },
  {
    command: 'replace catalog inputs',
    version: 1,
    certname: 'fuzz.example.com',
    payload: JSON.stringify({
      certname: 'fuzz.example.com',
      producer_timestamp: new Date(TIME),
      catalog_uuid: '6b0f9c1e-1111-4222-8333-444455556666',
      inputs: [['hiera', 'a::b']],
    }),
  },
];

const MARK = '@@replaced@@';

/** Every place in a JSON value: the path to it. */
function places(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  const here = [path];
  if (Array.isArray(value)) return here.concat(value.flatMap((item, i) => places(item, [...path, i])));
  if (typeof value !== 'object' || value === null) return here;
  return here.concat(Object.entries(value).flatMap(([name, member]) => places(member, [...path, name])));
}

/** The payload with one place replaced by some JSON text, or with that place taken out, or with a member more beside it. */
function damaged(
  payload: string,
  where: number,
  how: 'replace' | 'remove' | 'add',
  text: string,
  name: string,
): string {
  const root = { root: JSON.parse(payload) as Json };
  const all = places(root.root, ['root']);
  const path = all[where % all.length]!;
  let parent = root as Record<string | number, Json>;
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, Json>;
  const last = path.at(-1)!;
  if (how === 'remove' && path.length > 1) delete parent[last];
  else parent[last] = MARK;
  const added = how === 'add' ? `{${JSON.stringify(name)}:${text},${JSON.stringify(name)}:1}` : text;
  return (JSON.stringify(root.root) ?? 'null').replace(JSON.stringify(MARK), () => added);
}

/** Up to three bytes of a text that are not what they were. */
function scratched(text: string, scratches: readonly (readonly [number, number])[]): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  for (const [at, value] of scratches) if (bytes.length > 0) bytes[at % bytes.length] = value;
  return bytes;
}

export const hostileCommand: fc.Arbitrary<HostileCommand> = fc
  .tuple(
    fc.constantFrom(...bases),
    fc.nat(),
    fc.constantFrom('replace', 'replace', 'remove', 'add'),
    jsonText,
    nastyText,
    fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }) },
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant('fuzz.example.com') }, { weight: 1, arbitrary: nastyText }),
    fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.integer({ min: -1, max: 12 }) }),
  )
  .map(([base, where, how, text, name, scratches, certname, version]) => ({
    command: base.command,
    version: version ?? base.version,
    certname,
    body: scratched(damaged(base.payload, where, how as 'replace', text, name), scratches),
  }));

// ------------------------------------------------------------------ HTTP

const lines = [
  'Host: x',
  'Host: x\r\nHost: y',
  'Host: \u0001',
  'Content-Length: 5',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Content-Length: 0x5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding : chunked',
  'Content-Type: application/json',
  'Content-Type: application/x-www-form-urlencoded',
  'Content-Type: text/\u00ff',
  'Content-Encoding: gzip',
  'Content-Encoding: br',
  'Accept: text/plain',
  'Accept: */*;q=x',
  'Accept-Encoding: gzip;q=0.00001, x-gzip',
  'Expect: 100-continue',
  'Connection: close',
  'Connection: upgrade\r\nUpgrade: websocket',
  'X-Uncompressed-Length: -5',
  'X-Forwarded-For: 1.2.3.4',
  ' folded: line',
  'no colon',
  ': no name',
  'Bad\u0000Name: x',
  `Long: ${'x'.repeat(10_000)}`,
];

const targets = [
  '/',
  '*',
  '/pdb',
  '/pdb/',
  '//pdb//query//v4',
  '/pdb/query/v4/../v4/nodes',
  '/pdb/query/v4/nodes/%',
  '/pdb/query/v4/nodes/%ff%fe',
  '/pdb/query/v4/nodes/a%0d%0aX-Injected:%201',
  '/pdb/cmd/v1?command=replace_facts&version=5&certname=fuzz.example.com',
  '/pdb/cmd/v1?command=%0d%0aX-Injected:%201&version=5&certname=x',
  '/pdb/meta/v1/version',
  '/pdb/dashboard/../../../../etc/passwd',
  '/pdb/dashboard/%2e%2e/%2e%2e/etc/passwd',
  '/status/v1/services?level=debug',
  '/status/v1/services/__proto__',
  '/metrics/v2/list',
  'http://other.example.com/pdb/meta/v1/version',
  'http://',
  'x',
  '/\u00e9',
  '/?a=\u0000',
  `/${'a'.repeat(5000)}`,
];

const chunkedBodies = [
  '5\r\nhello\r\n0\r\n\r\n',
  'zz\r\nhello\r\n',
  'ffffffffffffffff\r\nx',
  '5;ext=1\r\nhel',
  '0\r\nX-Injected: 1\r\n\r\n',
];

/** Bytes of a request, or what looks like one. */
export const rawRequest: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.constantFrom(
      'GET',
      'POST',
      'PUT',
      'DELETE',
      'HEAD',
      'OPTIONS',
      'TRACE',
      'CONNECT',
      'get',
      'G E T',
      '\u0000',
      '',
    ),
    fc.oneof(fc.constantFrom(...targets), queryTarget, nastyText),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'http/1.1', ''),
    fc.array(
      fc.oneof(
        fc.constantFrom(...lines),
        fc.tuple(nastyText, nastyText).map((pair) => pair.join(': ')),
      ),
      {
        maxLength: 6,
      },
    ),
    fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r'),
    fc.oneof(fc.constantFrom('', 'hello', ...chunkedBodies), jsonText),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
    ),
  )
  .map(([method, target, version, headers, newline, body, share]) => {
    const head = [`${method} ${target} ${version}`, ...headers, 'Connection: close', '', ''].join(newline);
    const bytes = Buffer.from(head + body, 'latin1');
    return bytes.subarray(0, Math.ceil(bytes.length * share));
  });

// ------------------------------------------------------------------ metrics and administration

const beans = [
  'puppetlabs.puppetdb.mq:name=global.depth',
  'puppetlabs.puppetdb.*:*',
  'java.lang:type=Memory',
  'java.lang:type=*',
  '*:*',
  ':',
  'a:b',
  'a:b=',
  'a:b=*,*',
  'a:b="\\"',
  'a:b="*,c=?"',
  '*'.repeat(200),
  `${'?*'.repeat(300)}:name=x`,
];

export const metricsTarget: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('v2', 'v2', 'v2', 'v1/mbeans', 'v3', ''),
    fc.constantFrom('read', 'list', 'search', 'version', 'exec', 'write', 'nonsense', ''),
    fc.array(fc.oneof(fc.constantFrom(...beans, 'Count', 'Value', '!/', '!!', '!'), nastyText), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom('maxDepth', 'maxObjects', 'callback', 'mimeType', 'x'), nastyText), {
      maxLength: 2,
    }),
  )
  .map(([version, verb, parts, options]) => {
    const query = options.map(([name, value]) => `${name}=${encode(value)}`).join('&');
    return `/metrics/${version}/${verb}${parts.map((part) => `/${encode(part)}`).join('')}${query === '' ? '' : `?${query}`}`;
  });

const gatewayMember: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(
    fc.constant('type'),
    fc.constantFrom('"read"', '"list"', '"search"', '"version"', '"exec"', '"notification"', '1'),
  ),
  fc.tuple(
    fc.constant('mbean'),
    fc.oneof(fc.constantFrom(...beans), nastyText).map((text) => JSON.stringify(text)),
  ),
  fc.tuple(fc.constantFrom('attribute', 'path', 'config', 'target', 'operation', 'arguments'), jsonText),
  fc.tuple(nastyText, jsonText),
);

/** Bodies of POST /metrics/v2. */
export const metricsBody: fc.Arbitrary<string> = fc
  .tuple(fc.array(fc.array(gatewayMember, { maxLength: 5 }), { maxLength: 4 }), fc.boolean())
  .map(([requests, isList]) => {
    const all = requests.map(
      (members) => `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`,
    );
    return isList ? `[${all.join(',')}]` : (all[0] ?? '{}');
  });

/** Bodies of POST /pdb/admin/v1/cmd that delete nothing the tests need. */
export const adminBody: fc.Arbitrary<string> = fc.oneof(
  jsonText,
  fc
    .tuple(fc.constantFrom('"clean"', '"delete"', '1', 'null'), fc.constantFrom('1', '2', '"1"', 'null'), jsonText)
    .map(([command, version, payload]) => `{"command":${command},"version":${version},"payload":${payload}}`),
);

// ------------------------------------------------------------------ archives

const HASH = 'a'.repeat(40);
const ENTRY_NAMES = [
  'puppetdb-bak/facts/fuzz.example.com.json',
  `puppetdb-bak/catalogs/fuzz.example.com-${HASH}.json`,
  `puppetdb-bak/reports/fuzz.example.com-${HASH}.json`,
  `puppetdb-bak/configure_expiration/fuzz.example.com-${HASH}.json`,
  `puppetdb-bak/catalog_inputs/fuzz.example.com-${HASH}.json`,
  'puppetdb-bak/facts/.json',
  'puppetdb-bak/facts/../../../../tmp/muster-fuzz.json',
  'puppetdb-bak/nonsense/x.json',
  '../../../../tmp/muster-fuzz',
  '/tmp/muster-fuzz',
  'puppetdb-bak',
];

const METADATA_NAME = 'puppetdb-bak/export-metadata.json';
const VERSIONS = {
  replace_catalog: 9,
  store_report: 8,
  replace_facts: 5,
  configure_expiration: 1,
  replace_catalog_inputs: 1,
};

interface HostileEntry {
  readonly name: string;
  readonly contents: Uint8Array;
  /** One character: what kind of entry it says it is. */
  readonly type: string;
  /** What the header says of the size; null: the truth. */
  readonly size: string | null;
}

/** A ustar header with its checksum, contents and padding. */
function tarEntry({ name, contents, type, size }: HostileEntry): Buffer {
  const head = Buffer.alloc(512);
  head.write(name, 0, 100, 'utf8');
  head.write('0000644\0', 100, 'latin1');
  head.write(size ?? `${contents.byteLength.toString(8).padStart(11, '0')}\0`, 124, 12, 'latin1');
  head.write('00000000000\0        ', 136, 'latin1');
  head.write(type, 156, 1, 'latin1');
  head.write('ustar\u000000', 257, 'latin1');
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([head, contents, Buffer.alloc((512 - (contents.byteLength % 512)) % 512)]);
}

const extendedHeader = fc
  .tuple(
    fc.constantFrom('path', 'size', '__proto__', 'constructor', 'linkpath'),
    fc.oneof(fc.constantFrom(...ENTRY_NAMES, '5', '-1', '1e9', '99999999999999999999'), nastyText),
    fc.constantFrom(0, 0, 0, 1, -1, 1000),
  )
  .map(([key, value, lie]) => {
    const rest = ` ${key}=${value}\n`;
    const length = Buffer.byteLength(rest) + String(Buffer.byteLength(rest)).length;
    return Buffer.from(`${length + lie}${rest}`);
  });

const hostileEntry: fc.Arbitrary<HostileEntry> = fc.oneof(
  {
    weight: 4,
    arbitrary: hostileCommand.map(({ command, body }) => {
      const kinds = ['replace facts', 'replace catalog', 'store report', 'configure expiration'];
      return { name: ENTRY_NAMES[kinds.indexOf(command)] ?? ENTRY_NAMES[4]!, contents: body, type: '0', size: null };
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.oneof(fc.constantFrom(...ENTRY_NAMES, METADATA_NAME), nastyText),
        fc.oneof(jsonText, nastyText).map((text) => Buffer.from(text)),
        fc.constantFrom('0', '0', '\0', '1', '2', '5', '7', 'L', 'K', 'g', 'Z'),
        fc.constantFrom(
          null,
          null,
          null,
          '77777777777\0',
          '-1',
          'x',
          '\u00ff'.repeat(12),
          '\u0080\0\0\0\0\0\0\0\0\0\u0002\0',
        ),
      )
      .map(([name, contents, type, size]) => ({ name, contents, type, size })),
  },
  {
    weight: 1,
    arbitrary: extendedHeader.map((contents) => ({ name: 'PaxHeader', contents, type: 'x', size: null })),
  },
);

const metadataText = fc.oneof(
  { weight: 4, arbitrary: fc.constant(JSON.stringify({ timestamp: 'x', command_versions: VERSIONS })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...Object.keys(VERSIONS), '__proto__'), jsonText)
      .map(([name, text]) => `{"command_versions":{"replace_facts":5,${JSON.stringify(name)}:${text}}}`),
  },
  { weight: 1, arbitrary: jsonText },
);

/** Body of a form with an archive, packed; some with a piece missing or a bit turned. The boundary is `fuzz`. */
export const archiveForm: fc.Arbitrary<Buffer> = fc
  .tuple(
    metadataText,
    fc.array(hostileEntry, { maxLength: 5 }),
    fc.constantFrom('archive', 'archive', 'archive', 'archive', 'file'),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat() }),
  )
  .map(([metadata, entries, field, share, flip]) => {
    const first = { name: METADATA_NAME, contents: Buffer.from(metadata), type: '0', size: null };
    const packed = gzipSync(Buffer.concat([...[first, ...entries].map(tarEntry), Buffer.alloc(1024)]));
    const archive = packed.subarray(0, Math.ceil(packed.length * share));
    if (flip !== null && archive.length > 0) archive[flip % archive.length]! ^= 1 << (flip % 8);
    const head = `--fuzz\r\nContent-Disposition: form-data; name="${field}"; filename="x.tgz"\r\n\r\n`;
    return Buffer.concat([Buffer.from(head), archive, Buffer.from('\r\n--fuzz--\r\n')]);
  });
