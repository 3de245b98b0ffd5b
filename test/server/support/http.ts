// A listener with given mounts on a free port, and node's client to talk to it.

import { once } from 'node:events';
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import type { Mount, RequestRecord } from '../../../server/http/exchange.ts';
import { type Listener, type ListenerOptions, startListener } from '../../../server/http/listener.ts';
import { atEnd, type Owner } from '../../support/endings.ts';

export interface TestListener extends Listener {
  readonly records: RequestRecord[];
  readonly errors: unknown[];
}

/** Stops when the test ends. */
export async function listen(
  t: Owner,
  mounts: readonly Mount[],
  options: Partial<ListenerOptions> = {},
): Promise<TestListener> {
  const records: RequestRecord[] = [];
  const errors: unknown[] = [];
  const listener = await startListener({
    at: { host: '127.0.0.1', port: 0 },
    kind: 'http',
    mounts,
    isStarting: () => false,
    onRequest: (record) => records.push(record),
    onError: (error) => errors.push(error),
    ...options,
  });
  atEnd(t, () => listener.stop(0));
  return Object.defineProperties(listener, { records: { value: records }, errors: { value: errors } }) as TestListener;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly agent?: RequestOptions['agent'];
}

/** One request by node's client. */
export async function ask(port: number, path: string, options: Ask = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, agent = false } = options;
  const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, bytes, text: bytes.toString('utf8') };
}
