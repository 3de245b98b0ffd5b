// Fills a running server with the runs of a generated fleet, through the public API, with a progress bar.
//
//   node dist/perf/fill.js --url http://127.0.0.1:8080 --nodes 100 --runs 2

import { Client } from './lib/client.ts';
import { fleetFor, fleetOptions } from './lib/fleet-options.ts';
import { emptied, prepare, submit } from './lib/load.ts';
import { Given, type OptionTable, optionLines, UsageError } from './lib/options.ts';

const options = {
  url: { value: 'URL', default: 'http://127.0.0.1:8080', doc: 'server' },
  nodes: { value: 'N', default: '100', doc: 'nodes' },
  'first-node': { value: 'N', default: '0', doc: 'number of the first node' },
  runs: { value: 'N', default: '1', doc: 'agent runs of every node' },
  'first-run': { value: 'N', default: '0', doc: 'number of the first run' },
  ...fleetOptions,
  // So that what is filled in today is neither expired nor purged by a server with the usual settings.
  start: {
    value: 'TIME',
    default: 'yesterday',
    doc: 'time of run 0, or `yesterday`, 0 h UTC; runs are half an hour apart',
  },
  concurrency: { value: 'N', default: '8', doc: 'connections' },
  'no-wait': { value: null, doc: 'do not wait until everything is processed' },
  quiet: { value: null, doc: 'no progress bar' },
} as const satisfies OptionTable;

const USAGE = `usage: fill [options]   submits the agent runs of a generated fleet to a running server

${optionLines(options)}

Exit status: 0 all accepted and processed, 1 something was refused, 2 bad usage.`;

/** After so many refusals no more nodes are begun. */
const FAILURES_MAX = 10;

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

/** Where the server is; this program comes without a certificate. */
function urlOf(given: Given): string {
  const url = given.text('url') ?? '';
  if (!URL.canParse(url) || new URL(url).protocol !== 'http:') {
    throw new UsageError(`--url takes the address of a server, http://…, not '${url}'`);
  }
  return url;
}

async function fill(given: Given): Promise<number> {
  const nodes = given.count('nodes', 1, 1_000_000);
  const firstNode = given.count('first-node', 0, 1_000_000);
  const runs = given.count('runs', 1, 10_000);
  const firstRun = given.count('first-run', 0, 10_000);
  const connections = given.count('concurrency', 1, 512);
  const fleet = fleetFor(given);
  const client = new Client({ url: urlOf(given), identity: null }, connections);
  const progress = new Progress(nodes * runs * 3, given.flag('quiet'));
  const failures: string[] = [];
  for (let run = firstRun; run < firstRun + runs; run++) {
    let next = firstNode;
    const sender = async (): Promise<void> => {
      while (next < firstNode + nodes && failures.length < FAILURES_MAX) {
        for (const command of fleet.run(next++, run)) {
          const request = await prepare(command);
          await submit(client, request).catch((error: Error) => failures.push(error.message));
          progress.step(request.plainBytes);
        }
      }
    };
    await Promise.all(Array.from({ length: connections }, sender));
  }
  console.log(progress.finish());
  for (const failure of failures) console.error(failure);
  if (!given.flag('no-wait') && failures.length === 0) {
    const start = performance.now();
    await emptied(client);
    console.log(`all processed ${((performance.now() - start) / 1000).toFixed(1)} s later`);
  }
  client.close();
  return failures.length > 0 ? 1 : 0;
}

const args = process.argv.slice(2);
try {
  if (args.includes('--help') || args.includes('-h')) console.log(USAGE);
  else process.exitCode = await fill(new Given(options, args));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
