// A listener with given mounts on a free port, and two ways to talk to it: node's client, and bytes on a socket.

import { once } from 'node:events';
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import { connect, type Socket } from 'node:net';
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

/** A plain connection that collects what it receives. */
export class RawClient {
  readonly socket: Socket;
  received = '';
  isClosed = false;
  #changed: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    const changed = (): void => {
      const waiting = this.#changed;
      this.#changed = [];
      for (const wake of waiting) wake();
    };
    socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
      changed();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.isClosed = true;
      changed();
    });
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  send(text: string | Uint8Array): void {
    this.socket.write(text);
  }

  /** Until what was received satisfies the condition; rejects when the connection closes before. */
  async until(condition: (received: string) => boolean): Promise<string> {
    while (!condition(this.received)) {
      if (this.isClosed) throw new Error(`closed after ${JSON.stringify(this.received.slice(0, 300))}`);
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
    return this.received;
  }

  async closed(): Promise<string> {
    while (!this.isClosed) await new Promise<void>((resolve) => this.#changed.push(resolve));
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }
}
