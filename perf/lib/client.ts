// A client of the public HTTP API, which keeps its connections unless told otherwise: commands as compile servers send them,
// timed requests, and the queue's metrics.

import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { Identity } from './certificates.ts';

/** Where a server is, and who asks it; null: anybody, over plain HTTP. */
export interface Target {
  readonly url: string;
  readonly identity: Identity | null;
}

export interface Asked {
  readonly method?: string;
  readonly path: string;
  /** Query parameters; what is not text is sent as JSON. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: Buffer;
  /** Ends it: what waits for its answer rejects. */
  readonly signal?: AbortSignal;
}

export interface Timed {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: number;
  /** Milliseconds from sending to the first byte of the body, and to its end. */
  readonly first: number;
  readonly total: number;
}

export interface Answer extends Timed {
  readonly body: Buffer;
}

export class Client {
  readonly url: URL;
  readonly #request: typeof http.request;
  readonly #agent: http.Agent;

  /** `keepAlive` false: a new connection for each request. */
  constructor({ url, identity }: Target, connections: number, keepAlive = true) {
    this.url = new URL(url);
    const options = { keepAlive, maxSockets: connections };
    this.#request = identity === null ? http.request : https.request;
    this.#agent = identity === null ? new http.Agent(options) : new https.Agent({ ...options, ...identity });
  }

  /** Sends it and resolves when the answer begins. The caller reads it to its end or destroys it. */
  open(asked: Asked): Promise<http.IncomingMessage> {
    const url = new URL(asked.path, this.url);
    for (const [name, value] of Object.entries(asked.params ?? {})) {
      url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    }
    const request = this.#request(url, {
      method: asked.method ?? 'GET',
      agent: this.#agent,
      headers: { Accept: 'application/json', ...asked.headers },
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    });
    request.end(asked.body);
    return once(request, 'response').then(([response]) => response as http.IncomingMessage);
  }

  /** Reads the answer piece by piece without keeping it. */
  async read(asked: Asked, onChunk: (chunk: Buffer) => void): Promise<Timed> {
    const start = performance.now();
    const response = await this.open(asked);
    let first = 0;
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (bytes === 0) first = performance.now() - start;
      bytes += chunk.length;
      onChunk(chunk);
    }
    const total = performance.now() - start;
    const { statusCode = 0, headers } = response;
    return { status: statusCode, headers, bytes, first: bytes === 0 ? total : first, total };
  }

  async ask(asked: Asked): Promise<Answer> {
    const chunks: Buffer[] = [];
    const timed = await this.read(asked, (chunk) => chunks.push(chunk));
    return { ...timed, body: Buffer.concat(chunks) };
  }

  /** The parsed answer; throws unless the status is 200. */
  async json(path: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const { status, body } = await this.ask({ path, params });
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString('utf8').slice(0, 300)}`);
    return JSON.parse(body.toString('utf8')) as unknown;
  }

  /** An attribute of a metric; undefined where the server has none of that name. */
  async metric(name: string, attribute = 'Count'): Promise<number | undefined> {
    const { status, body } = await this.ask({
      path: `/metrics/v2/read/${encodeURIComponent(name).replaceAll('%3A', ':')}`,
    });
    if (status !== 200) return undefined;
    const { value } = JSON.parse(body.toString('utf8')) as { value?: Record<string, unknown> };
    const found = value?.[attribute];
    return typeof found === 'number' ? found : undefined;
  }

  /** A figure of the command queue: `depth`, `processed`, `discarded`. */
  queue(name: string): Promise<number | undefined> {
    return this.metric(`puppetlabs.puppetdb.mq:name=global.${name}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}
