// The query log: which queries are written down, when, and with what.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { QueryPlan } from '../../engine/query/exec/explain.ts';
import type { QueryRequest } from '../../engine/query/request.ts';
import type { Logger } from '../../server/log.ts';
import { withQueryLog } from '../../server/query-log.ts';
import type { QueryClient, QueryHandlers, QueryPool } from '../../workers/types.ts';
import { querySettings } from '../support/query-settings.ts';

const PLAN: QueryPlan = { Plan: null, 'Planning Time': 1, 'Execution Time': 2 };
const SLOW_MS = 20;

interface Line {
  readonly level: string;
  readonly text: string;
  readonly fields: Record<string, unknown>;
}

/** A pool that the test plays, and what has been logged. */
function playing(options: { all?: boolean; slowMs?: number; client?: QueryClient } = {}) {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (fields: Record<string, unknown>, text: string): void =>
      void lines.push({ level, text, fields });
  const log = { info: at('info'), warn: at('warn') } as unknown as Logger;
  let inner: QueryHandlers | null = null;
  const pool: QueryPool = {
    run(_request, _settings, handlers) {
      inner = handlers;
      return { grant: () => {}, cancel: () => {} };
    },
  };
  const { all = false, slowMs = SLOW_MS } = options;
  const logged = withQueryLog(pool, { log, all, slowMs, uuid: () => 'u1' });
  const request: QueryRequest = {
    method: 'GET',
    path: '/nodes',
    api: 'query',
    queryString: `query=${encodeURIComponent('["=","certname","a"]')}&origin=me`,
    body: null,
  };
  const told: string[] = [];
  const handlers: QueryHandlers = {
    onHead: () => told.push('head'),
    onChunk: () => told.push('chunk'),
    onEnd: () => told.push('end'),
    onAbort: () => told.push('abort'),
    onLeft: () => told.push('left'),
  };
  const handle = logged.run(request, querySettings, handlers, options.client);
  return { lines, told, handle, inner: inner! as QueryHandlers };
}

const head = { status: 200, contentType: null, headers: [], body: null };

describe('query log', () => {
  test('a slow query is written with its text and its plan', async () => {
    const { inner, lines, told } = playing();
    inner.onHead(head);
    inner.onChunk(new Uint8Array(7));
    await pause(SLOW_MS + 5);
    inner.onEnd();
    assert.equal(lines.length, 0, 'the plan comes behind the end');
    inner.onLeft!(PLAN);
    assert.deepEqual(told, ['head', 'chunk', 'end', 'left']);
    assert.equal(lines.length, 1);
    const { level, text, fields } = lines[0]!;
    const { ms, ...rest } = fields;
    assert.deepEqual([level, text], ['warn', 'slow query']);
    assert.ok((ms as number) >= SLOW_MS);
    assert.deepEqual(rest, {
      status: 200,
      bytes: 7,
      outcome: 'done',
      method: 'GET',
      path: '/nodes',
      query: '["=","certname","a"]',
      origin: 'me',
      plan: PLAN,
    });
  });

  test('one that its client gave up is written when the thread has let go of it', async () => {
    const { inner, lines, handle } = playing();
    await pause(SLOW_MS + 5);
    handle.cancel();
    assert.equal(lines.length, 0);
    inner.onLeft!(PLAN);
    assert.equal(lines[0]!.fields['outcome'], 'cancelled');
    assert.equal(lines[0]!.fields['plan'], PLAN);
  });

  test('one whose thread was lost has no plan, and is written all the same', async () => {
    const { inner, lines } = playing();
    await pause(SLOW_MS + 5);
    inner.onAbort('gone');
    inner.onLeft!(null);
    assert.equal(lines[0]!.fields['outcome'], 'aborted');
    assert.equal('plan' in lines[0]!.fields, false);
  });

  test('a short answer, which comes with its head, counts too', async () => {
    const { inner, lines } = playing();
    inner.onHead({ ...head, body: 'é[]' });
    await pause(SLOW_MS + 5);
    inner.onEnd();
    inner.onLeft!(null);
    assert.equal(lines[0]!.fields['bytes'], 4);
  });

  test('a quick one is not written, unless all are', () => {
    const quick = playing({ slowMs: 60_000 });
    quick.inner.onHead(head);
    quick.inner.onEnd();
    quick.inner.onLeft!(null);
    assert.deepEqual(quick.lines, []);
    const all = playing({ slowMs: 60_000, all: true });
    all.inner.onEnd();
    all.inner.onLeft!(null);
    assert.deepEqual(
      all.lines.map(({ text, fields }) => [text, fields['id']]),
      [
        ['query', 'u1'],
        ['query finished', 'u1'],
      ],
    );
  });

  test('lines say who asked: by certificate and address, as far as that is known', async () => {
    const client = { clientName: 'dashboard.example.com', remoteAddress: '192.0.2.7' };
    const { inner, lines } = playing({ all: true, client });
    await pause(SLOW_MS + 5);
    inner.onEnd();
    inner.onLeft!(PLAN);
    assert.deepEqual(
      lines.map(({ text, fields: { id, address, clientName } }) => [text, id, address, clientName]),
      [
        ['query', 'u1', '192.0.2.7', 'dashboard.example.com'],
        ['slow query', 'u1', '192.0.2.7', 'dashboard.example.com'],
      ],
    );
    const nameless = playing({ all: true, client: { clientName: null, remoteAddress: '192.0.2.8' } });
    const { fields } = nameless.lines[0]!;
    assert.equal(fields['address'], '192.0.2.8');
    assert.equal('clientName' in fields, false);
  });
});
