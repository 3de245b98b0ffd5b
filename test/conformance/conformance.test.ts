// Everything that was recorded, cases and scenarios, against the real server: the built program in a process of its own, an
// empty data directory, HTTP. `npm test` builds it first; alone, this file runs what `dist` holds.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { muster } from '../support/muster.ts';
import { assertConforming, byArea, excusedCases } from './excused.ts';
import { areas, type ReplayResult, replay } from './replay.mjs';

const dir = fileURLToPath(new URL('.', import.meta.url));
const START_MS = 30_000;
const POLL_MS = 25;

/** Nothing recorded may expire or be collected meanwhile. */
const SETTINGS = {
  'node-ttl': '0s',
  'node-purge-ttl': '3650d',
  'report-ttl': '3650d',
  'resource-events-ttl': '3650d',
  'gc-interval': '0',
  vocabulary: 'puppetdb',
  partitions: '4',
};

interface RunningServer {
  readonly url: string;
  /** Ends with the exit status; the temporary directory is gone then. */
  stop(): Promise<number | null>;
}

async function startServer(): Promise<RunningServer> {
  const root = mkdtempSync(join(tmpdir(), 'muster-conformance-'));
  const portFile = join(root, 'port');
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(
    process.execPath,
    [muster, 'start', '--data', join(root, 'data'), '--http', '127.0.0.1:0', '--port-file', portFile, ...settings],
    { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const log = tailOf(child);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const stop = async (): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const [status] = await ended;
    rmSync(root, { recursive: true, force: true });
    return status;
  };
  for (const end = Date.now() + START_MS; !existsSync(portFile); await sleep(POLL_MS)) {
    if (child.exitCode === null && child.signalCode === null && Date.now() < end) continue;
    await stop();
    throw new Error(`the server did not start:\n${log()}`);
  }
  return { url: `http://127.0.0.1:${readFileSync(portFile, 'utf8').split('\n')[0]}`, stop };
}

const TAIL_MAX = 4000;

/** Keeps the end of what the server logs. */
function tailOf(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-TAIL_MAX);
  });
  return () => text;
}

describe('server: recorded answers', () => {
  let server: RunningServer | null = null;
  let loadFailures: readonly string[];
  let results: Map<string, ReplayResult[]>;
  before(async () => {
    server = await startServer();
    const replayed = await replay({
      url: server.url,
      dir,
      load: true,
      quiet: true,
      area: [],
      only: [],
      concurrency: 8,
      'metrics-prefix': 'puppetlabs.puppetdb',
    });
    loadFailures = replayed.loadFailures;
    results = byArea(replayed.results);
  });
  after(async () => {
    if (server !== null) assert.equal(await server.stop(), 0, 'the server stops cleanly');
  });

  it('every command of the corpus is stored', () => {
    assert.deepEqual(loadFailures, []);
  });
  for (const { area } of areas(dir, 'cases')) {
    it(`${area}: every case is answered as recorded`, () => assertConforming(results.get(area) ?? [], excusedCases()));
  }
  for (const { area } of areas(dir, 'scenarios')) {
    it(`${area}: every scenario runs as recorded`, () =>
      assertConforming(results.get(`scenarios/${area}`) ?? [], excusedCases()));
  }
  it('every excuse names a recorded case', () => {
    const ids = new Set([...results.values()].flat().map((r) => r.id));
    assert.deepEqual(
      [...excusedCases().keys()].filter((id) => !ids.has(id)),
      [],
    );
  });
});
