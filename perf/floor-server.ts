// A server that takes commands as Muster does, on node:http with durable appends shared by all that wait for one, and does
// nothing for them but the floor's work, in as many threads as there are processors. It stores nothing and answers no query. What
// it takes in a second is what the machine leaves a server beside the sender: no server that reads its commands takes more.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync, writev } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Given, type Program, UsageError } from './lib/options.ts';

/** Bytes of the file that commands are appended to; it is written again and again, as Muster's segments are. */
const FILE_BYTES = 1 << 24;

/** Makes bodies durable: those that come while a write runs share the next one. */
class Journal {
  readonly #home = mkdtempSync(join(tmpdir(), 'muster-floor-'));
  readonly #file: number;
  #at = 0;
  #writing = false;
  #waiting: { readonly body: Buffer; readonly done: () => void }[] = [];

  constructor() {
    this.#file = openSync(join(this.#home, 'journal'), constants.O_WRONLY | constants.O_CREAT | constants.O_DSYNC);
    writeSync(this.#file, Buffer.alloc(FILE_BYTES));
  }

  append(body: Buffer, done: () => void): void {
    this.#waiting.push({ body, done });
    if (!this.#writing) this.#write();
  }

  #write(): void {
    const group = this.#waiting;
    this.#waiting = [];
    const bodies = group.map(({ body }) => body);
    const bytes = bodies.reduce((total, { length }) => total + length, 0);
    if (this.#at + bytes > FILE_BYTES) this.#at = 0;
    this.#writing = true;
    writev(this.#file, bodies, this.#at, (error) => {
      if (error !== null) throw error;
      this.#at += bytes;
      this.#writing = false;
      for (const { done } of group) done();
      if (this.#waiting.length > 0) this.#write();
    });
  }

  close(): void {
    closeSync(this.#file);
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A thread that does the floor's work. What comes while it works waits for it together. */
class FloorThread {
  readonly #worker = new Worker(new URL('./lib/floor-thread.js', import.meta.url));
  #waiting: Uint8Array<ArrayBuffer>[] = [];
  #busy = false;

  constructor(onProcessed: (bodies: number) => void) {
    this.#worker.on('message', (bodies: number) => {
      onProcessed(bodies);
      this.#busy = false;
      this.#hand();
    });
  }

  take(body: Buffer): void {
    this.#waiting.push(new Uint8Array(body)); // memory of its own, which can be handed over
    this.#hand();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #hand(): void {
    if (this.#busy || this.#waiting.length === 0) return;
    const bodies = this.#waiting;
    this.#waiting = [];
    this.#busy = true;
    this.#worker.postMessage(
      bodies,
      bodies.map(({ buffer }) => buffer),
    );
  }
}

/** Listens until SIGTERM or SIGINT. Prints its address in a line of its own. */
async function run(given: Given): Promise<void> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(given.text('http') ?? '') ?? [];
  if (host === undefined || Number(port) > 65_535) throw new UsageError('--http takes HOST:PORT');
  const told = new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
  // Whoever started it may be gone before it could say where it listens.
  process.stdout.on('error', () => {});
  const counts = { accepted: 0, processed: 0 };
  const threads = Array.from(
    { length: given.count('threads', 1, 64) },
    () =>
      new FloorThread((bodies) => {
        counts.processed += bodies;
      }),
  );
  const journal = new Journal();

  const submit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    journal.append(body, () => {
      answer(response, { uuid: randomUUID() });
      threads[counts.accepted++ % threads.length]!.take(body);
    });
  };
  const server = createServer((request, response) => {
    if (request.method === 'POST') void submit(request, response).catch(() => response.destroy());
    else answer(response, metric(request.url ?? '', counts));
  });
  try {
    server.listen(Number(port), host);
    await once(server, 'listening');
    console.log(`http://${host}:${(server.address() as AddressInfo).port}`);
    await told;
  } finally {
    server.close();
    server.closeAllConnections();
    for (const thread of threads) await thread.close();
    journal.close();
  }
}

function answer(response: ServerResponse, value: unknown): void {
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(value));
}

/** The queue's metrics that senders ask for; what the floor server does not count is 0. */
function metric(url: string, { accepted, processed }: { readonly accepted: number; readonly processed: number }) {
  const counts: Readonly<Record<string, number>> = { depth: accepted - processed, processed };
  const name = /name=global\.([a-z]+)$/.exec(decodeURIComponent(url))?.[1] ?? '';
  return { status: 200, value: { Count: counts[name] ?? 0 } };
}

export const program: Program = {
  name: 'floor-server',
  summary: "How many commands a second does a server take that does nothing but the floor's work?",
  options: {
    http: { value: 'HOST:PORT', default: '127.0.0.1:0', doc: 'where it listens; port 0 is a free one' },
    threads: { value: 'N', default: String(availableParallelism()), doc: "threads that do the floor's work" },
  },
  run,
};
