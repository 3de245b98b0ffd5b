// What is logged of clients that are turned away: who, from where, to what, and by which rule.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { test } from 'node:test';
import { Access } from '../../../server/access/access.ts';
import { readRules } from '../../../server/config/authorization.ts';
import { parseHocon } from '../../../server/config/hocon.ts';
import type { Exchange, Reply } from '../../../server/http/exchange.ts';
import type { Logger } from '../../../server/log.ts';
import { makeCertificates, opensslMissing } from '../tls/certificates.ts';

const rules = readRules(
  parseHocon(
    'authorization { version: 1, rules: [{ name: "metrics of ours", sort-order: 500, allow: "right", ' +
      'match-request: { path: /metrics, type: path } }] }',
    'auth.conf',
  ),
  [],
);

function accessOf(allowed: readonly string[]) {
  const lines: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => lines.push(line) } as unknown as Logger;
  return { lines, access: new Access({ allowlist: { from: '/list', names: new Set(allowed) }, rules, log }) };
}

function exchangeOf(clientName: string | null, replies: Reply[] = []): Exchange {
  const asked: Partial<Exchange> = {
    method: 'GET',
    path: '/metrics/v2/list',
    queryString: '',
    listener: 'https',
    clientName,
    clientExtensions: () => null,
    remoteAddress: '192.0.2.9',
    header: () => '',
    reply: (reply) => void replies.push(reply),
  };
  return asked as Exchange;
}

test('access: a refusal by the rules is logged as PuppetDB does, and its client learns less', () => {
  const { lines, access } = accessOf([]);
  const { handler } = access.guard({ prefix: '/metrics', handler: () => assert.fail('let in') });
  const replies: Reply[] = [];
  void handler(exchangeOf(null, replies));
  void handler(exchangeOf('wrong', replies));
  const to = 'access to /metrics/v2/list (method :get)';
  assert.deepEqual(lines, [
    [{}, `Forbidden request: 192.0.2.9 ${to} (authenticated: false) denied by rule 'metrics of ours'.`],
    [{}, `Forbidden request: wrong(192.0.2.9) ${to} (authenticated: true) denied by rule 'metrics of ours'.`],
  ]);
  const body = 'Forbidden request: /metrics/v2/list (method :get). Please see the server logs for details.';
  for (const reply of replies) assert.deepEqual(reply, { status: 403, contentType: null, body });
});

test('access: a flood of refused requests is logged in few lines, the next of which says how many there were', (t) => {
  const { lines, access } = accessOf(['listed']);
  const { handler } = access.guard({ prefix: '/metrics', handler: () => assert.fail('let in') });
  const refuse = (): void => {
    access.refuseClient(exchangeOf('other'));
    void handler(exchangeOf('wrong'));
  };
  for (let count = 0; count < 25; count++) refuse();
  assert.equal(lines.length, 2 * 20);
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + 60_000);
  refuse();
  assert.deepEqual(
    lines.slice(40).map(([fields]) => fields),
    [{ address: '192.0.2.9', untold: 5 }, { untold: 5 }],
  );
});

test('access: a client that the allowlist lacks is logged with its address', () => {
  const { lines, access } = accessOf(['listed']);
  assert.equal(access.refuseClient(exchangeOf('listed')), null);
  assert.match(access.refuseClient(exchangeOf('other')) ?? '', /client certificate name other doesnt appear/);
  assert.deepEqual(lines, [[{ address: '192.0.2.9' }, 'other rejected by certificate allowlist /list']]);
});

test('access: a path is decoded before the rules see it', () => {
  const { access } = accessOf([]);
  let letIn = 0;
  const { handler } = access.guard({ prefix: '/metrics', handler: () => void letIn++ });
  const text = `authorization { version: 1, rules: [
    { name: r, sort-order: 1, match-request: { path: /metrics/v2/read, type: path }, deny: "*" }
    { name: m, sort-order: 2, match-request: { path: /metrics, type: path }, allow-unauthenticated: true } ] }`;
  const log = { warn: () => {} } as unknown as Logger;
  access.replace({ allowlist: null, rules: readRules(parseHocon(text, 'auth.conf'), []), log });
  for (const path of ['/metrics/v2/read', '/metrics/v2/%72ead', '/metrics%2fv2/rea%64/x'])
    void handler({ ...exchangeOf('right'), path });
  assert.equal(letIn, 0);
  for (const path of ['/metrics/v2/list', '/metrics/v2/%6cist', '/metrics/%'])
    void handler({ ...exchangeOf('right'), path });
  assert.equal(letIn, 3);
});

test('access: what changes data is refused to pages of other servers, and told in few lines', () => {
  const { access, lines } = accessOf([]);
  const letIn = (headers: Readonly<Record<string, string>>, path = '/pdb/cmd/v1', method = 'POST'): boolean => {
    let isIn = false;
    const replies: Reply[] = [];
    const { handler } = access.guard({ prefix: path.replace(/\/v\d.*$/, ''), handler: () => void (isIn = true) });
    const header = (name: string): string => ({ host: 'localhost:8080', ...headers })[name] ?? '';
    void handler({ ...exchangeOf(null, replies), method, path, header });
    assert.deepEqual(
      replies.map(({ status }) => status),
      isIn ? [] : [403],
    );
    return isIn;
  };
  const evil = { origin: 'https://evil.example' };
  for (const path of ['/pdb/cmd/v1', '/pdb/admin/v1/cmd']) {
    for (const own of [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: 'http://localhost:8080' },
      { origin: 'http://localhost:8080', host: 'LOCALHOST:8080' },
      // Behind a proxy the name of this server may be another one than the page's.
      { 'sec-fetch-site': 'same-origin', ...evil },
      { referer: 'https://evil.example' },
    ])
      assert.equal(letIn(own, path), true, JSON.stringify(own));
    for (const other of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' },
      { 'sec-fetch-site': 'no such' },
      evil,
      { origin: 'null' },
      { origin: 'http://localhost' },
      { origin: 'http://localhost:8080.evil.example' },
    ]) {
      assert.equal(letIn(other, path), false, JSON.stringify(other));
    }
  }
  assert.equal(letIn({ 'sec-fetch-site': 'cross-site' }, '/pdb/cmd/v1', 'GET'), false);
  for (const path of ['/pdb/query/v4', '/pdb/meta/v1']) assert.equal(letIn(evil, path), true);
  for (let count = 0; count < 10; count++) letIn({ ...evil, referer: 'x' });
  assert.equal(lines.length, 20);
  assert.deepEqual(lines.at(-1), [
    { address: '192.0.2.9', page: 'https://evil.example' },
    'refused for a page of another server: /pdb/cmd/v1',
  ]);
});

test('access: without rules only metrics over HTTPS need a certificate', () => {
  const { access } = accessOf([]);
  access.replace({ allowlist: null, rules: null, log: { warn: () => {} } as unknown as Logger });
  const asked = (path: string, listener: Exchange['listener'], clientName: string | null): boolean => {
    let letIn = false;
    const prefix = `/${path.split('/')[1]}`;
    const { handler } = access.guard({ prefix, handler: () => void (letIn = true) });
    void handler({ ...exchangeOf(clientName), path, listener });
    return letIn;
  };
  assert.equal(asked('/metrics/v2/list', 'https', null), false);
  assert.equal(asked('/metrics/v2/list', 'https', 'any'), true);
  assert.equal(asked('/metrics/v2/list', 'http', null), true);
  assert.equal(asked('/status/v1/simple', 'https', null), true);
});

test('access: behind a proxy the certificate in X-Client-Cert decides', { skip: opensslMissing() }, () => {
  const certificates = makeCertificates();
  const text = `authorization { version: 1, allow-header-cert-info: true, rules: [
    { name: m, sort-order: 1, match-request: { path: /metrics, type: path }, allow: { extensions: { pp_role: db } } } ] }`;
  const log = { warn: () => {} } as unknown as Logger;
  const access = new Access({ allowlist: null, rules: readRules(parseHocon(text, 'auth.conf'), []), log });
  let letIn = 0;
  const { handler } = access.guard({ prefix: '/metrics', handler: () => void letIn++ });
  const certOf = (name: string) => encodeURIComponent(certificates.client(name).cert.toString());
  const ask = (cert: string, verify = 'SUCCESS', clientName: string | null = null) => {
    const headers: Record<string, string> = { 'x-client-verify': verify, 'x-client-dn': 'CN=x', 'x-client-cert': cert };
    letIn = 0;
    void handler({ ...exchangeOf(clientName), header: (name) => headers[name] ?? '' });
    return letIn === 1;
  };
  assert.equal(ask(certOf('extended')), true);
  assert.equal(ask(certOf('extended'), 'NONE'), false);
  assert.equal(ask(certOf('right')), false);
  assert.equal(ask(certOf('extended'), 'SUCCESS', 'own'), false, 'a certificate of its own counts');
  for (const cert of ['', 'x', '%', '%00']) assert.equal(ask(cert), false, cert);
  rmSync(certificates.folder, { recursive: true });
});
