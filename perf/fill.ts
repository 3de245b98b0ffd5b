// Fills a running server with the runs of a generated fleet, through the public API, with a progress bar.
//
//   node dist/perf/fill.js --url http://127.0.0.1:8080 --nodes 100 --runs 2

import http from 'node:http';
import { parseArgs, promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Command, FLEET_DEFAULTS, Fleet } from './lib/fleet.ts';

const USAGE = `usage: fill [options]   submits the agent runs of a generated fleet to a running server

  --url URL          server (http://127.0.0.1:8080)
  --nodes N          nodes (100)
  --first-node N     number of the first node (0)
  --runs N           agent runs of every node (1)
  --first-run N      number of the first run (0)
  --change F         fraction of each document that differs from run to run (0.05)
  --unique F         fraction of a catalog's resources that only one node has (0.1)
  --resources MIN-MAX  resources per catalog (200-800)
  --seed N           seed (1)
  --start TIME       time of run 0; runs are half an hour apart (yesterday, 0 h UTC)
  --concurrency N    connections (8)
  --no-wait          do not wait until everything is processed
  --quiet            no progress bar

Exit status: 0 all accepted and processed, 1 something was refused, 2 bad usage.`;

const compress = promisify(gzip);

interface Options {
  url: URL;
  nodes: number;
  firstNode: number;
  runs: number;
  firstRun: number;
  concurrency: number;
  wait: boolean;
  quiet: boolean;
  fleet: Fleet;
}

class UsageError extends Error {}

/** So that what is filled in today is neither expired nor purged by a server with the usual settings. */
const yesterday = (): string => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

function time(name: string, text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new UsageError(`--${name} takes a date and time, not '${text}'`);
  return ms;
}

function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < min || value > max)
    throw new UsageError(`--${name} takes a number from ${min} to ${max}, not '${text}'`);
  return value;
}

function options(args: string[]): Options | null {
  const string = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args,
    options: {
      url: string('http://127.0.0.1:8080'),
      nodes: string('100'),
      'first-node': string('0'),
      runs: string('1'),
      'first-run': string('0'),
      change: string(String(FLEET_DEFAULTS.change)),
      unique: string(String(FLEET_DEFAULTS.unique)),
      resources: string(`${FLEET_DEFAULTS.resourcesMin}-${FLEET_DEFAULTS.resourcesMax}`),
      seed: string('1'),
      start: string(yesterday()),
      concurrency: string('8'),
      'no-wait': flag,
      quiet: flag,
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return null;
  const range = /^(\d+)-(\d+)$/.exec(values.resources);
  if (!range) throw new UsageError(`--resources takes MIN-MAX, not '${values.resources}'`);
  const nodes = number('nodes', values.nodes, 1, 1_000_000);
  return {
    url: new URL(values.url),
    nodes,
    firstNode: number('first-node', values['first-node'], 0, 1_000_000),
    runs: number('runs', values.runs, 1, 10_000),
    firstRun: number('first-run', values['first-run'], 0, 10_000),
    concurrency: number('concurrency', values.concurrency, 1, 512),
    wait: !values['no-wait'],
    quiet: values.quiet,
    fleet: new Fleet({
      seed: number('seed', values.seed, 0, 0xffffffff),
      nodes,
      change: number('change', values.change, 0, 1),
      unique: number('unique', values.unique, 0, 1),
      resourcesMin: Number(range[1]),
      resourcesMax: Number(range[2]),
      start: time('start', values.start),
    }),
  };
}

class Submitter {
  readonly #url: URL;
  readonly #agent: http.Agent;

  constructor(url: URL, connections: number) {
    this.#url = url;
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Submits as the compile server does: gzip, parameters in the URL. Waits and repeats while the server asks for it. */
  async submit(command: Command): Promise<void> {
    const plain = Buffer.from(command.payload);
    const body = await compress(plain);
    const query = `command=${command.command}&version=${command.version}&certname=${command.certname}&producer-timestamp=${command.producerTimestamp}`;
    for (;;) {
      const { status, text, retryAfter } = await this.#request('POST', `/pdb/cmd/v1?${query}`, body, plain.length);
      if (status === 200) return;
      if (status !== 503 || retryAfter === null)
        throw new Error(`${command.command} for ${command.certname}: ${status} ${text.slice(0, 300)}`);
      await new Promise((resolve) => setTimeout(resolve, retryAfter * 1000));
    }
  }

  async depth(): Promise<number> {
    const { status, text } = await this.#request(
      'GET',
      '/metrics/v2/read/puppetlabs.puppetdb.mq:name=global.depth',
      null,
      0,
    );
    if (status !== 200) throw new Error(`the queue depth cannot be read: ${status} ${text.slice(0, 200)}`);
    return (JSON.parse(text) as { value: { Count: number } }).value.Count;
  }

  close(): void {
    this.#agent.destroy();
  }

  #request(
    method: string,
    path: string,
    body: Buffer | null,
    length: number,
  ): Promise<{ status: number; text: string; retryAfter: number | null }> {
    const headers: Record<string, string | number> = { Accept: 'application/json' };
    if (body !== null) {
      Object.assign(headers, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Encoding': 'gzip',
        'Content-Length': body.length,
        'X-Uncompressed-Length': length,
      });
    }
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(path, this.#url), { method, headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const after = response.headers['retry-after'];
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8'),
            retryAfter: after === undefined ? null : Number(after),
          });
        });
      });
      request.on('error', reject);
      request.end(body ?? undefined);
    });
  }
}

class Progress {
  readonly #total: number;
  readonly #shown: boolean;
  readonly #start = performance.now();
  #done = 0;
  #bytes = 0;
  #last = 0;

  constructor(total: number, quiet: boolean) {
    this.#total = total;
    this.#shown = !quiet && process.stderr.isTTY === true;
  }

  step(bytes: number): void {
    this.#done++;
    this.#bytes += bytes;
    const now = performance.now();
    if (this.#shown && (now - this.#last > 100 || this.#done === this.#total)) {
      this.#last = now;
      const width = 30;
      const filled = Math.round((this.#done / this.#total) * width);
      process.stderr.write(
        `\r[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${this.#done}/${this.#total} commands, ${this.#rate()}  `,
      );
    }
  }

  #rate(): string {
    const seconds = (performance.now() - this.#start) / 1000;
    return `${(this.#done / seconds).toFixed(0)}/s, ${(this.#bytes / 1e6 / seconds).toFixed(1)} MB/s of JSON`;
  }

  finish(): string {
    if (this.#shown) process.stderr.write('\n');
    const seconds = (performance.now() - this.#start) / 1000;
    return `${this.#done} commands, ${(this.#bytes / 1e6).toFixed(1)} MB of JSON in ${seconds.toFixed(1)} s (${this.#rate()})`;
  }
}

async function fill(o: Options): Promise<number> {
  const submitter = new Submitter(o.url, o.concurrency);
  const progress = new Progress(o.nodes * o.runs * 3, o.quiet);
  const failures: string[] = [];
  for (let run = o.firstRun; run < o.firstRun + o.runs; run++) {
    let next = o.firstNode;
    const worker = async (): Promise<void> => {
      while (next < o.firstNode + o.nodes && failures.length < 10) {
        for (const command of o.fleet.run(next++, run)) {
          try {
            await submitter.submit(command);
          } catch (error) {
            failures.push((error as Error).message);
          }
          progress.step(command.payload.length);
        }
      }
    };
    await Promise.all(Array.from({ length: o.concurrency }, worker));
  }
  console.log(progress.finish());
  for (const failure of failures) console.error(failure);
  if (o.wait && failures.length === 0) {
    const start = performance.now();
    while ((await submitter.depth()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(`all processed ${((performance.now() - start) / 1000).toFixed(1)} s later`);
  }
  submitter.close();
  return failures.length > 0 ? 1 : 0;
}

try {
  const parsed = options(process.argv.slice(2));
  if (parsed === null) console.log(USAGE);
  else process.exitCode = await fill(parsed);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
