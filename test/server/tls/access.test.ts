// What is logged of clients that are turned away: who, from where, to what, and by which rule.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRules } from '../../../server/config/authorization.ts';
import { parseHocon } from '../../../server/config/hocon.ts';
import type { Exchange, Reply } from '../../../server/http/exchange.ts';
import type { Logger } from '../../../server/log.ts';
import { Access } from '../../../server/tls/access.ts';

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
  return { lines, access: new Access({ allowlist: { path: '/list', names: new Set(allowed) }, rules, log }) };
}

function exchangeOf(clientName: string | null, replies: Reply[] = []): Exchange {
  const asked: Partial<Exchange> = {
    method: 'GET',
    path: '/metrics/v2/list',
    queryString: '',
    listener: 'https',
    clientName,
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
    [`Forbidden request: 192.0.2.9 ${to} (authenticated: false) denied by rule 'metrics of ours'.`],
    [`Forbidden request: wrong(192.0.2.9) ${to} (authenticated: true) denied by rule 'metrics of ours'.`],
  ]);
  const body = 'Forbidden request: /metrics/v2/list (method :get). Please see the server logs for details.';
  for (const reply of replies) assert.deepEqual(reply, { status: 403, contentType: null, body });
});

test('access: a client that the allowlist lacks is logged with its address', () => {
  const { lines, access } = accessOf(['listed']);
  assert.equal(access.refuseClient(exchangeOf('listed')), null);
  assert.match(access.refuseClient(exchangeOf('other')) ?? '', /client certificate name other doesnt appear/);
  assert.deepEqual(lines, [[{ address: '192.0.2.9' }, 'other rejected by certificate allowlist /list']]);
});
