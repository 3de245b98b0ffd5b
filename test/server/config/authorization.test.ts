// The rules of auth.conf: order, matching, and who is let in.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { authorize, type Rules } from '../../../server/access/rules.ts';
import { readRules } from '../../../server/config/authorization.ts';
import { parseHocon } from '../../../server/config/hocon.ts';
import type { Notice } from '../../../server/config/sources.ts';
import type { Problem } from '../../../server/config/tree.ts';
import type { CertificateExtensions } from '../../../server/tls/certificate-extensions.ts';

function rulesOf(text: string): Rules {
  const problems: Problem[] = [];
  const rules = readRules(parseHocon(text, 'auth.conf'), problems);
  assert.deepEqual(problems, []);
  assert.ok(rules !== null);
  return rules;
}

function problemsOf(text: string): string[] {
  const problems: Problem[] = [];
  readRules(parseHocon(text, 'auth.conf'), problems);
  return problems.map(({ message }) => message);
}

const ask = (
  rules: Rules,
  method: string,
  path: string,
  clientName: string | null,
  query = '',
  extensions: CertificateExtensions | null = null,
) => {
  const request = { method, path, query: new URLSearchParams(query), clientName, extensions: () => extensions };
  const decision = authorize(rules, request);
  return [decision.allowed, decision.rule?.name ?? null];
};

const shipped = `authorization: {
  version: 1
  rules: [
    { match-request: { path: "/", type: path }, deny: "*", sort-order: 999, name: "deny all" }
    { match-request: { path: "/status/v1/services", type: path, method: get }, allow-unauthenticated: true,
      sort-order: 500, name: "services" }
    { match-request: { path: "/status/v1/simple", type: path, method: get }, allow-unauthenticated: true,
      sort-order: 500, name: "simple" }
    { match-request: { path: "/metrics", type: path, method: [ get, post ] }, allow: "*", sort-order: 500, name: "metrics" }
  ]
}`;

describe('authorization rules', () => {
  test('patterns are read as Java reads them, or refused', () => {
    const rules = rulesOf(`authorization: { version: 1, rules: [
      { name: m, sort-order: 1, match-request: { path: "/metrics", type: path }, allow: "*", deny: "/^\\\\p{Lower}+$/" }
      { name: s, sort-order: 2, match-request: { path: "^/status/\\\\p{Alnum}+/simple", type: regex }, deny: "*" }
      { name: r, sort-order: 3, match-request: { path: "/", type: path }, allow: "*" }
    ] }`);
    assert.deepEqual(ask(rules, 'GET', '/metrics/v2/version', 'bad'), [false, 'm']);
    assert.deepEqual(ask(rules, 'GET', '/metrics/v2/version', 'web1'), [true, 'm']);
    assert.deepEqual(ask(rules, 'GET', '/status/v1/simple', 'web1'), [false, 's']);
    assert.deepEqual(ask(rules, 'GET', '/status/p{Alnum}/simple', 'web1'), [true, 'r']);
    const [problem] = problemsOf(`authorization: { version: 1, rules: [
      { name: e, sort-order: 1, match-request: { path: "^/[a-z&&[^q]]", type: regex }, deny: x }
    ] }`);
    assert.match(problem!, /rule 'e': .*&& in a class of characters is not understood/);
  });

  test('the shipped rules', () => {
    const rules = rulesOf(shipped);
    assert.deepEqual(ask(rules, 'GET', '/status/v1/services/x', null), [true, 'services']);
    assert.deepEqual(ask(rules, 'HEAD', '/status/v1/simple', null), [true, 'simple']);
    assert.deepEqual(ask(rules, 'HEAD', '/metrics/v2/list', null), [false, 'metrics']);
    assert.deepEqual(ask(rules, 'POST', '/status/v1/services', 'a'), [false, 'deny all']);
    assert.deepEqual(ask(rules, 'GET', '/metrics/v2/list', null), [false, 'metrics']);
    assert.deepEqual(ask(rules, 'GET', '/metrics/v2/list', 'anyone'), [true, 'metrics']);
    assert.deepEqual(ask(rules, 'DELETE', '/metrics/v2/list', 'anyone'), [false, 'deny all']);
  });

  test('sort-order decides before the name, and no match is a refusal', () => {
    const rules = rulesOf(`authorization { version: 1, rules: [
      { name: b, sort-order: 1, match-request: { path: /a, type: path }, allow-unauthenticated: true }
      { name: a, sort-order: 2, match-request: { path: /a, type: path }, deny: x }
      { name: c, sort-order: 1, match-request: { path: /a, type: path }, deny: x } ] }`);
    assert.deepEqual(ask(rules, 'GET', '/a', null), [true, 'b']);
    assert.deepEqual(ask(rules, 'GET', '/b', 'x'), [false, null]);
    const tied = rulesOf(`authorization { version: 1, rules: [
      { name: b, sort-order: 1, match-request: { path: /a, type: path }, allow-unauthenticated: true }
      { name: a, sort-order: 1, match-request: { path: /a, type: path }, deny: x } ] }`);
    assert.deepEqual(ask(tied, 'GET', '/a', null), [false, 'a']);
  });

  test('HEAD is asked for as GET is, and as nothing else', () => {
    const rules = rulesOf(`authorization { version: 1, rules: [
      { name: p, sort-order: 1, match-request: { path: /a, type: path, method: [post, put] }, allow-unauthenticated: true }
      { name: g, sort-order: 2, match-request: { path: /a/b, type: path, method: get }, allow-unauthenticated: true } ] }`);
    assert.deepEqual(ask(rules, 'HEAD', '/a', null), [false, null]);
    assert.deepEqual(ask(rules, 'HEAD', '/a/b', null), [true, 'g']);
  });

  test('names, globs, patterns and deny beside allow', () => {
    const rules = rulesOf(`authorization { version: 1, rules: [
      { name: r, sort-order: 1, match-request: { path: "^/metrics/v[12]", type: regex },
        allow: [ "one.example.com", "*.lab.example.com", "web*.example.com", "/^ci-\\\\d+$/" ], deny: "bad.lab.example.com" } ] }`);
    const isAllowed = (name: string | null) => ask(rules, 'GET', '/metrics/v2', name)[0];
    const expected: [string | null, boolean][] = [
      [null, false],
      ['one.example.com', true],
      ['ONE.example.com', true],
      ['two.example.com', false],
      ['a.lab.example.com', true],
      ['a.b.lab.example.com', true],
      ['lab.example.com', false],
      ['xlab.example.com', false],
      ['bad.lab.example.com', false],
      ['web1.example.com', true],
      ['xweb1.example.com', false],
      ['web1.example.com.x', false],
      ['web1.x.example.com', false],
      ['ci-7', true],
      ['ci-x', false],
    ];
    for (const [name, allowed] of expected) assert.equal(isAllowed(name), allowed, String(name));
  });

  test('query parameters', () => {
    const rules = rulesOf(`authorization { version: 1, rules: [
      { name: r, sort-order: 1, match-request: { path: /status, type: path, query-params: { level: [debug, info] } },
        allow-unauthenticated: true } ] }`);
    assert.equal(ask(rules, 'GET', '/status', null, 'level=info')[0], true);
    assert.equal(ask(rules, 'GET', '/status', null, 'level=critical')[0], false);
    assert.equal(ask(rules, 'GET', '/status', null)[0], false);
  });

  test('extensions: all of them, each with one of its values; deny first', () => {
    const rules = rulesOf(`authorization { version: 1, rules: [
      { name: r, sort-order: 1, match-request: { path: /a, type: path },
        allow: [ named, { certname: other }, { extensions: { pp_cli_auth: true } },
          { extensions: { pp_role: [db, web], "1.3.6.1.4.1.34380.1.2.7": x } },
          { extensions: { subject-alt-name: { dns-name: [n1, n2], ip: "192.0.2.1" } } } ]
        deny: { extensions: { "1.3.6.1.4.1.34380.1.1.12": test } } } ] }`);
    const role = '1.3.6.1.4.1.34380.1.1.13';
    const own = '1.3.6.1.4.1.34380.1.2.7';
    const cli = '1.3.6.1.4.1.34380.1.3.39';
    const environment = '1.3.6.1.4.1.34380.1.1.12';
    const isAllowed = (name: string | null, texts: Record<string, string>, names: Record<string, string[]> = {}) => {
      const extensions = { texts: new Map(Object.entries(texts)), alternativeNames: new Map(Object.entries(names)) };
      return ask(rules, 'GET', '/a', name, '', extensions)[0];
    };
    const expected: readonly [boolean, Record<string, string>, Record<string, string[]>?][] = [
      [false, {}],
      [true, { [cli]: 'true' }],
      [false, { [cli]: 'false' }],
      [false, { [role]: 'db' }],
      [true, { [role]: 'db', [own]: 'x' }],
      [true, { [role]: 'web', [own]: 'x' }],
      [false, { [role]: 'mail', [own]: 'x' }],
      [false, { [role]: 'db', [own]: 'y' }],
      [false, { [cli]: 'true', [environment]: 'test' }],
      [true, { [cli]: 'true', [environment]: 'production' }],
      [true, {}, { 'dns-name': ['n0', 'n2'] }],
      [true, {}, { 'dns-name': ['n0'], ip: ['192.0.2.1'] }],
      [false, {}, { 'dns-name': ['n0'], ip: ['192.0.2.2'] }],
      [true, {}, { 'dns-name': ['named'] }],
    ];
    for (const [allowed, texts, names] of expected) {
      assert.equal(isAllowed('somebody', texts, names), allowed, JSON.stringify([texts, names]));
      assert.equal(isAllowed(null, texts, names), false, 'nobody');
    }
    assert.equal(isAllowed('other', {}), true);
    assert.equal(isAllowed('other', { [environment]: 'test' }), false);
    assert.equal(ask(rules, 'GET', '/a', 'somebody')[0], false);
  });

  test('what would mean something else than it says is refused, or told', () => {
    const rule = (text: string, begin = 'version: 1') =>
      `authorization { ${begin}, rules: [
        { name: r, sort-order: 1, ${text.includes('match-request') ? '' : 'match-request: { path: /a, type: path },'} ${text} } ] }`;
    const problems = (text: string, begin?: string) => problemsOf(rule(text, begin)).join();
    assert.equal(problems('allow: x'), '');
    assert.equal(problems('match-request: { path: /a, type: PATH, method: [GET, head] }, allow: x'), '');
    assert.match(
      problems('match-request: { path: /a, type: path, method: GETT }, allow: x'),
      /method `gett` is none of get/,
    );
    assert.match(problems('allow: "$1"'), /clients cannot be named by parts of the path/);
    assert.match(problems('allow: x', 'allow-header-cert-info: true'), /`version: 1` is missing/);
    for (const value of ['"true"', 'yes']) {
      const text = problems('allow: x', `version: 1, allow-header-cert-info: ${value}`);
      assert.match(text, /allow-header-cert-info is true or false, not "/);
    }
    const twice = problemsOf(`authorization { version: 1, rules: [
      { name: r, sort-order: 1, match-request: { path: /a, type: path }, allow: x },
      { name: r, sort-order: 2, match-request: { path: /b, type: path }, allow: x } ] }`);
    assert.match(twice.join(), /there are two rules named 'r'/);
    const notices: Notice[] = [];
    const text = rule(
      'match-request: { path: /a, type: path, methods: get }, allow: x, denny: y',
      'version: 1, rule: 1',
    );
    readRules(parseHocon(text, 'auth.conf'), [], notices);
    assert.deepEqual(notices.map(({ message }) => message.replace(/^auth\.conf:\d: authorization: /, '')).sort(), [
      'nothing reads `denny` in a rule; did you mean `deny`?',
      'nothing reads `methods` in a match-request; did you mean `method`?',
      'nothing reads `rule` in a section; did you mean `rules`?',
    ]);
  });

  test('extensions that nobody can have are named', () => {
    const problems = (allow: string) =>
      problemsOf(`authorization { version: 1, rules: [
        { name: r, sort-order: 1, match-request: { path: /a, type: path }, allow: ${allow} } ] }`).join();
    assert.match(problems('{ extensions: { pp_rolle: x } }'), /no extension is called pp_rolle/);
    assert.match(problems('{ extensions: { subject-alt-name: x } }'), /subject-alt-name needs an object/);
    assert.match(problems('{ extensions: { subject-alt-name: { dns: x } } }'), /knows .*dns-name.*, not dns/);
    assert.match(problems('{ extensions: { pp_role: { a: b } } }'), /pp_role is text or a list of texts/);
    assert.match(problems('{ extensions: {} }'), /extensions is empty/);
    assert.match(problems('{ extensions: { pp_role: x }, certname: y }'), /a client is a name/);
    assert.match(problems('{ rbac: { permission: x } }'), /a client is a name/);
  });

  test('every faulty rule is named', () => {
    const problems = problemsOf(`authorization { version: 2, rules: [
      { name: a, sort-order: 1000, match-request: { path: /a, type: path }, deny: x }
      { sort-order: 1 }
      { name: c, sort-order: 1, match-request: { path: /a, type: glob }, deny: x }
      { name: d, sort-order: 1, match-request: { path: /a, type: path } }
      { name: e, sort-order: 1, match-request: { path: "(", type: regex }, deny: x }
      { name: f, sort-order: 1, match-request: { path: /a, type: path }, allow: { extensions: { x: y } } }
      { name: g, sort-order: 1, match-request: { path: /a, type: path }, allow: x, allow-unauthenticated: true }
      7 ] }`);
    assert.equal(problems.length, 9, problems.join('\n'));
    for (const name of ['a', 'c', 'd', 'e', 'f', 'g'])
      assert.ok(
        problems.some((problem) => problem.includes(`'${name}'`)),
        name,
      );
    assert.match(problemsOf('authorization = 1')[0]!, /an object is needed/);
    assert.match(problemsOf('authorization { version: 1 }')[0]!, /`rules` needs to be a list/);
  });
});
