// Stand-ins for what the operational side is given: a request with its answer, and the query pool. They keep the
// contracts (credit of the pool, one answer per request) and nothing more.

import assert from 'node:assert/strict';
import type { QueryRequest, QuerySettings } from '../../../engine/query/request.ts';
import type { BodyWriter, Exchange, Handler, Mount, Reply, ReplyHead } from '../../../server/http/exchange.ts';
import { BodyTooLarge } from '../../../server/http/exchange.ts';
import { type AdminDeps, createAdminMounts } from '../../../server/ops/admin-mounts.ts';
import { MaintenanceScheduler } from '../../../server/ops/maintenance.ts';
import type { MaintenanceSettings } from '../../../server/ops/maintenance-steps.ts';
import { MetricsRegistry } from '../../../workers/metrics.ts';
import type { QueryPool } from '../../../workers/types.ts';
import { FakeRing } from '../../support/fake-ring.ts';
import { silentLogs } from '../../support/logs.ts';
import { querySettings } from '../../support/query-settings.ts';

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface Answered {
  readonly status: number;
  readonly type: string | null;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Puts a request to the mount with the longest matching prefix and waits for the whole answer. */
export async function request(mounts: readonly Mount[], url: string, asked: Asked = {}): Promise<Answered> {
  const [path = '', queryString = ''] = url.split(/\?(.*)/s);
  const mount = [...mounts]
    .filter(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))
    .sort((a, b) => b.prefix.length - a.prefix.length)[0];
  assert.ok(mount, `nothing mounted at ${path}`);
  return put(mount.handler, path, queryString, asked);
}

function put(handler: Handler, path: string, queryString: string, asked: Asked): Promise<Answered> {
  const headers = new Map(Object.entries(asked.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const body = typeof asked.body === 'string' ? Buffer.from(asked.body) : (asked.body ?? new Uint8Array());
  return new Promise((resolve, reject) => {
    const answer = (head: ReplyHead, bytes: Uint8Array): void =>
      resolve({
        status: head.status,
        type: head.contentType,
        headers: new Map((head.headers ?? []).map(([name, value]) => [name.toLowerCase(), value])),
        text: Buffer.from(bytes).toString(),
        bytes,
      });
    const exchange: Exchange = {
      method: asked.method ?? (asked.body === undefined ? 'GET' : 'POST'),
      path,
      queryString,
      header: (name) => headers.get(name) ?? '',
      has: (name) => headers.has(name),
      listener: 'http',
      clientName: null,
      clientExtensions: () => null,
      remoteAddress: '127.0.0.1',
      base: 'http://localhost:8080',
      body: async (max) => {
        if (body.byteLength > max) throw new BodyTooLarge(max);
        return body;
      },
      async *bodyStream(max) {
        if (body.byteLength > max) throw new BodyTooLarge(max);
        for (let at = 0; at < body.byteLength; at += 1000) yield body.subarray(at, at + 1000);
      },
      reply: (reply: Reply) =>
        answer(reply, typeof reply.body === 'string' ? Buffer.from(reply.body) : (reply.body ?? new Uint8Array())),
      stream: (head) => writer((bytes) => answer(head, bytes), reject),
      onAbort: () => {},
      aborted: false,
      whyAborted: 'the client has left',
    };
    Promise.resolve(handler(exchange)).catch(reject);
  });
}

/** A socket that is full after each write, so that whoever does not wait for it is caught. */
function writer(done: (bytes: Uint8Array) => void, reject: (error: Error) => void): BodyWriter {
  const parts: Uint8Array[] = [];
  let full = false;
  return {
    write: (chunk) => {
      if (full) reject(new Error('written to a full socket'));
      parts.push(Buffer.from(chunk));
      full = true;
      return false;
    },
    drained: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      full = false;
    },
    end: () => done(Buffer.concat(parts)),
    abort: () => reject(new Error('answer cut short')),
  };
}

export interface PoolAnswer {
  readonly status?: number;
  readonly text: string;
  readonly headers?: [string, string][];
  /** The text is all that comes, and not the end of the answer. */
  readonly hangs?: boolean;
}

/** Answers in small parts, never more than the credit that was given back. */
export class FakePool implements QueryPool {
  readonly requests: QueryRequest[] = [];
  readonly settings: QuerySettings[] = [];
  answer: (request: QueryRequest) => PoolAnswer;
  cancelled = 0;
  partBytes = 7;
  creditMax = 64;

  constructor(answer: (request: QueryRequest) => PoolAnswer = () => ({ text: '[]' })) {
    this.answer = answer;
  }

  run(...[asked, settings, handlers]: Parameters<QueryPool['run']>): ReturnType<QueryPool['run']> {
    this.requests.push(asked);
    this.settings.push(settings);
    const { status = 200, text, headers = [], hangs = false } = this.answer(asked);
    const bytes = Buffer.from(text);
    let sent = 0;
    let granted = 0;
    let cancelled = false;
    let ended = false;
    const pump = (): void => {
      while (!cancelled && sent < bytes.byteLength && sent - granted < this.creditMax) {
        const part = bytes.subarray(sent, sent + this.partBytes);
        sent += part.byteLength;
        handlers.onChunk(part);
      }
      if (!cancelled && !ended && !hangs && sent === bytes.byteLength) {
        ended = true;
        handlers.onEnd();
      }
    };
    setImmediate(() => {
      if (cancelled) return;
      const whole = status !== 200;
      handlers.onHead({ status, contentType: 'application/json;charset=utf-8', headers, body: whole ? text : null });
      if (whole) handlers.onEnd();
      else pump();
    });
    return {
      grant: (count) => {
        granted += count;
        setImmediate(pump);
      },
      cancel: () => {
        cancelled = true;
        this.cancelled++;
      },
    };
  }
}

/** Nothing runs by itself. */
export const noSchedule: MaintenanceSettings = {
  gcInterval: 0,
  gcIntervalExpireNodes: 0,
  gcIntervalPurgeNodes: 0,
  gcIntervalPurgeReports: 0,
  gcIntervalPackages: 0,
  gcIntervalCatalogs: 0,
  gcIntervalFactPaths: 0,
  nodeTtl: 7 * 24 * 3_600_000,
  nodePurgeTtl: 14 * 24 * 3_600_000,
  nodePurgeBatch: 25,
  reportTtl: 14 * 24 * 3_600_000,
  resourceEventsTtl: 36 * 3_600_000,
};

/** Everything below /pdb/admin over stand-ins. */
export function adminMounts(changes: Partial<AdminDeps> = {}, answer?: FakePool['answer']) {
  const ring = new FakeRing();
  const pool = new FakePool(answer);
  const registry = new MetricsRegistry();
  const log = silentLogs().area('maintenance');
  const clock = Date.now;
  let drawn = 0;
  const mounts = createAdminMounts({
    ring,
    registry,
    clock,
    log,
    asker: { pool, querySettings: () => querySettings },
    uuid: () => `uuid-${drawn++}`,
    settings: { decompressedMax: 100_000, archiveMax: 1_000_000 },
    version: '8.8.1',
    maintenance: new MaintenanceScheduler({ ring, registry, settings: noSchedule, clock, random: () => 0, log }),
    ...changes,
  });
  return { ring, pool, registry, mounts };
}
