// A terminal that remembers, and a server that answers what it is told to.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import type { Terminal } from '../../../server/cli/command.ts';
import { runCli } from '../../../server/cli/run.ts';

export interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly terminal?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly columns?: number;
  /** What comes on standard input. */
  readonly input?: Buffer;
  /** Gets what is written to standard output, as bytes. */
  readonly written?: Buffer[];
}

export async function run(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { written = [] } = options;
  let err = '';
  const outStream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk);
      done();
    },
  });
  const isTerminal = options.terminal ?? false;
  const terminal: Terminal = {
    environment: options.environment ?? {},
    out: (text) => void written.push(Buffer.from(text)),
    err: (text) => void (err += text),
    outStream,
    inStream: Readable.from(options.input === undefined ? [] : [options.input]),
    inIsTerminal: isTerminal,
    outIsTerminal: isTerminal,
    errIsTerminal: isTerminal,
    columns: options.columns ?? 80,
  };
  const status = await runCli(argv, terminal);
  return { status, out: Buffer.concat(written).toString(), err };
}

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface FakeServer {
  readonly url: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

/** The beginning of an answer whose connection breaks then. */
export class BrokenAnswer {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** `answer` gets each request and says what comes back: a text (status 200), status and text, or what breaks off. */
export async function fakeServer(
  answer: (asked: Asked) => string | Buffer | [number, string] | BrokenAnswer,
): Promise<FakeServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('latin1');
    const one = { method: request.method!, url: request.url!, headers: request.headers, body };
    asked.push(one);
    const reply = answer(one);
    if (Array.isArray(reply)) response.writeHead(reply[0]).end(reply[1]);
    else if (reply instanceof BrokenAnswer) response.write(reply.text, () => response.destroy());
    else response.end(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
