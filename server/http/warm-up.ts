// Requests that the front end asks of itself once the query threads have warmed up, so that the code between a socket and a query thread
// is compiled before clients come, as the threads' own is (engine/query/warm-up.ts). Without them small queries take longer
// until the server has answered some thousand (perf/history.md).
//
// They come over a connection in memory, to a listener of their own: whatever counts or writes down requests does not see them.

import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Mount } from './exchange.ts';
import type { HttpLimits } from './limits.ts';
import { startListener } from './listener.ts';

export interface FrontEndWarmUp {
  /** The routes, over a pool that does not count these queries. */
  readonly mounts: readonly Mount[];
  readonly limits: Partial<HttpLimits>;
  /** Whether no client has been there for a while: a request of its own begins only then. */
  readonly isQuiet: () => boolean;
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** Milliseconds of its own requests. */
  readonly budgetMs?: number;
}

const BUDGET_MS = 1000;
/** Milliseconds between looks while clients are there. */
const PAUSE_MS = 100;

const HEADERS = 'Host: localhost:8080\r\nAccept: application/json\r\nConnection: keep-alive\r\n';

const COMPRESSED = 'Accept-Encoding: gzip\r\n';

/** Small answers, as text and as bytes, plain and compressed, asked in the ways that clients ask. */
const REQUESTS: readonly string[] = [
  get('/pdb/query/v4/nodes?limit=1'),
  get('/pdb/query/v4/environments'),
  post('/pdb/query/v4/nodes', { query: ['=', 'certname', 'none'] }),
  get('/pdb/query/v4/facts?limit=100'),
  get(`/pdb/query/v4?query=${encodeURIComponent('nodes[certname]{ limit 1 }')}`),
  get('/pdb/query/v4/producers'),
  get('/pdb/query/v4/resources?limit=20'),
  get('/pdb/query/v4/resources?limit=20', COMPRESSED),
  get('/pdb/meta/v1/version'),
];

function get(path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\n${HEADERS}${more}\r\n`;
}

function post(path: string, content: unknown): string {
  const body = JSON.stringify(content);
  return `POST ${path} HTTP/1.1\r\n${HEADERS}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A connection whose other end takes all it gets and keeps nothing. */
class Loop extends Duplex {
  override _read(): void {}

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }

  override _writev(_chunks: unknown, done: () => void): void {
    done();
  }
}

/** Resolves with the number of requests that were answered, when the budget is used up or `signal` says so. */
export async function warmUpFrontEnd(options: FrontEndWarmUp): Promise<number> {
  const { mounts, limits, isQuiet, signal, budgetMs = BUDGET_MS } = options;
  let answered = 0;
  let next = (): void => {};
  const listener = await startListener({
    at: 'accept',
    kind: 'http',
    mounts,
    isStarting: () => false,
    // Clients may be there for any time between two of its requests.
    limits: { ...limits, idleMs: 0 },
    onRequest: () => {
      answered++;
      next();
    },
    // A client that asks the same is told.
    onError: () => {},
  });
  const connection = new Loop();
  const closed = once(connection, 'close').then(() => next());
  const end = (): void => void connection.destroy();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  listener.accept(connection, { name: null, address: '127.0.0.1', extensions: () => null });
  let left = budgetMs;
  for (let i = 0; left > 0 && !connection.destroyed; i++) {
    while (!isQuiet() && !connection.destroyed) await delay(PAUSE_MS, undefined, { ref: false });
    if (connection.destroyed) break;
    const began = performance.now();
    await new Promise<void>((resolve) => {
      next = resolve;
      connection.push(REQUESTS[i % REQUESTS.length]!, 'latin1');
    });
    left -= performance.now() - began;
    // Routes may answer at once: whoever else wants a turn of the event loop gets it here.
    await nextTurn();
  }
  signal.removeEventListener('abort', end);
  connection.destroy();
  await closed;
  await listener.stop(0);
  return answered;
}
