// The query log: a pool that writes down what it is asked, when that is wanted, and what took long, always and with its plan.

import type { QueryPlan } from '../engine/query/exec/explain.ts';
import type { QueryRequest, QuerySettings } from '../engine/query/request.ts';
import type { QueryClient, QueryHandle, QueryHandlers, QueryPool } from '../workers/types.ts';
import type { Logger } from './log.ts';

interface QueryLogOptions {
  readonly log: Logger;
  /** Write down every query, at level info. */
  readonly all: boolean;
  /** Milliseconds from which on a query is slow; 0: none is. */
  readonly slowMs: number;
  readonly uuid: () => string;
}

/** Longest query text in a log line, characters. */
const TEXT_MAX = 4000;

export function withQueryLog(pool: QueryPool, options: QueryLogOptions): QueryPool {
  if (!options.all && options.slowMs === 0) return pool;
  return {
    run: (request, settings, handlers, client) => run(pool, options, request, settings, handlers, client),
  };
}

function run(
  pool: QueryPool,
  options: QueryLogOptions,
  request: QueryRequest,
  settings: QuerySettings,
  handlers: QueryHandlers,
  client: QueryClient | undefined,
): QueryHandle {
  const { log, all, slowMs } = options;
  /** What tells which lines are of the same query, where there may be several. */
  const identified = all ? { id: options.uuid() } : {};
  const asked = () => ({ ...asker(client), ...described(request) });
  if (all) log.info({ ...identified, ...asked() }, 'query');
  const started = performance.now();
  let status = 0;
  let bytes = 0;
  let ms = 0;
  let outcome: 'done' | 'aborted' | 'cancelled' = 'done';
  const finish = (how: typeof outcome) => {
    ms = Math.round(performance.now() - started);
    outcome = how;
  };
  const write = (plan: QueryPlan | null) => {
    const isSlow = slowMs > 0 && ms >= slowMs;
    const planned = plan === null ? {} : { plan };
    if (isSlow) log.warn({ ...identified, ms, status, bytes, outcome, ...asked(), ...planned }, 'slow query');
    else if (all) log.info({ ...identified, ms, status, bytes, outcome }, 'query finished');
  };
  const logged: QueryHandlers = {
    onHead: (head) => {
      status = head.status;
      if (head.body !== null) bytes += Buffer.byteLength(head.body);
      handlers.onHead(head);
    },
    onChunk: (chunk, free, isScarce) => {
      bytes += chunk.length;
      handlers.onChunk(chunk, free, isScarce);
    },
    onEnd: () => {
      finish('done');
      handlers.onEnd();
    },
    onAbort: (text) => {
      finish('aborted');
      handlers.onAbort(text);
    },
    onLeft: (plan) => {
      write(plan);
      handlers.onLeft?.(plan);
    },
  };
  const handle = pool.run(request, settings, logged, client);
  return {
    grant: (size) => handle.grant(size),
    cancel: () => {
      finish('cancelled');
      handle.cancel();
    },
  };
}

/** Whose query it is, as far as that is known. */
function asker(client: QueryClient | undefined): Record<string, unknown> {
  if (client === undefined) return {};
  const { remoteAddress, clientName } = client;
  return {
    ...(remoteAddress === '' ? {} : { address: remoteAddress }),
    ...(clientName === null ? {} : { clientName }),
  };
}

function described(request: QueryRequest): Record<string, unknown> {
  const parameters = new URLSearchParams(request.queryString);
  const origin = parameters.get('origin');
  const query = request.body ?? parameters.get('query');
  return {
    method: request.method,
    path: request.path,
    ...(query === null ? {} : { query: query.length > TEXT_MAX ? `${query.slice(0, TEXT_MAX)}...` : query }),
    ...(origin === null ? {} : { origin }),
  };
}
