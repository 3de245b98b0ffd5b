// The programs of perf/ in their small mode, as they are shipped: so that they neither rot nor measure less than they say.
// Their figures mean nothing here and are not looked at.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { opensslMissing } from '../server/tls/certificates.ts';

const main = fileURLToPath(new URL('../../dist/perf/main.js', import.meta.url));
const fill = fileURLToPath(new URL('../../dist/perf/fill.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'muster-perf-test-'));
after(() => rmSync(dir, { recursive: true, force: true }));

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

const perf = (...args: string[]): Promise<Ran> => runScript(main, args);

function runScript(script: string, args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { maxBuffer: 1 << 26 }, (error, out, err) => {
      resolve({ status: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

/** Fewer partitions are made sooner. */
const quickServer = ['--server-arg=--partitions', '--server-arg=2'];

/** Runs a program and returns what it wrote with --out. */
async function resultOf<Result>(name: string, ...args: string[]): Promise<Result & { readonly text: string }> {
  const file = join(dir, `${name}.json`);
  const { status, out, err } = await perf(
    name,
    '--small',
    '--out',
    file,
    ...(name === 'floor' || name === 'apply' ? [] : quickServer),
    ...args,
  );
  assert.equal(status, 0, `${out}\n${err}`);
  return { ...(JSON.parse(readFileSync(file, 'utf8')) as Result), text: out };
}

test('perf: --help lists every program, and each explains its options', async () => {
  const { status, out } = await perf('--help');
  assert.equal(status, 0);
  const names = [
    'floor',
    'floor-server',
    'apply',
    'ingest',
    'queries',
    'growth',
    'latency',
    'stream',
    'connect',
    'benchmark',
  ];
  for (const name of names) assert.match(out, new RegExp(`^ {2}${name} .*\\?$`, 'm'));
  assert.match((await perf('ingest', '--help')).out, /--nodes N .*\(200; 4 with --small\)/);
});

test('perf: bad usage is status 2 and says what is wrong', async () => {
  const cases = [
    ['nothing-such'],
    ['floor', '--nodes', 'many'],
    ['ingest', '--resources', '9-3'],
    ['latency', '--rate', 'quick'],
    ['queries', '--sizes', ''],
    ['compare', '--small'],
    ['connect', '--seed', '2'],
    ['stream', '--no-such'],
    ['stream', '--tls', '--tls-key', 'dsa'],
    ['stream', '--tls', '--url', 'http://127.0.0.1:1'],
    ['latency', '--url', 'https://127.0.0.1:1', '--ca', 'ca.pem'],
    ['latency', '--url', 'https://127.0.0.1:1', '--ca', 'none', '--cert', 'none', '--key', 'none'],
    ['latency', '--nodes', '2.5'],
    ['queries', '--only', '['],
    ['queries', '--only', 'no such query'],
    ['queries', '--repeat', '0'],
    ['growth', '--sizes', '1000,1100'],
    ['benchmark', '--small', '--querier', 'cars', '--url', 'http://127.0.0.1:1'],
    ['stream', '--crawl', 'slowly'],
    ['ingest', '--small', '--url', 'nowhere'],
    ['ingest', '--small', '--url', 'http://127.0.0.1:1', '--pid', 'none'],
    ['ingest', '--small', '--url', 'http://127.0.0.1:1', '--disk', join(dir, 'none')],
  ];
  for (const args of cases) {
    const { status, err } = await perf(...args);
    assert.equal(status, 2, args.join(' '));
    assert.ok(err.trim().length > 0);
  }
});

test('fill: --help lists its options; bad usage is status 2, a command that is not accepted 1', async () => {
  const { status, out } = await runScript(fill, ['--help']);
  assert.equal(status, 0);
  assert.match(out, /--nodes N +nodes \(100\)$/m);
  for (const args of [['--nodes', 'many'], ['--url', 'nowhere'], ['--start', 'soon'], ['--no-such']]) {
    assert.equal((await runScript(fill, args)).status, 2, args.join(' '));
  }
  const nobody = ['--url', 'http://127.0.0.1:1', '--nodes', '1', '--resources', '5-6'];
  assert.equal((await runScript(fill, nobody)).status, 1);
});

test('fill: what a server asks to be sent again is, and said', async () => {
  let posts = 0;
  const server = createHttpServer((request, response) => {
    request.resume().on('end', () => {
      if (posts++ === 0) response.writeHead(503, { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' }).end('no room');
      else response.end('{"uuid":""}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { status, err } = await runScript(fill, ['--url', url, '--nodes', '1', '--resources', '5-6', '--no-wait']);
  server.close();
  assert.equal(status, 0);
  assert.equal(posts, 4);
  assert.match(err, /503 no room; sent again every 1 s/);
});

test('apply: every run of both builds, whose hashes must be the same', async () => {
  interface Result {
    readonly results: readonly {
      readonly build: string;
      readonly run: string;
      readonly mean: number;
      readonly kinds: Record<string, { decode: number; apply: number }>;
    }[];
    readonly digest: string;
  }
  const project = fileURLToPath(new URL('../..', import.meta.url));
  const { results, digest } = await resultOf<Result>('apply', '--against', project);
  const runs = ['first', 'changed', 'unchanged', 'reports'];
  assert.deepEqual(
    results.map(({ run, build }) => `${run} ${build}`),
    runs.flatMap((run) => [`${run} this`, `${run} against`]),
  );
  for (const { mean, kinds, run } of results) {
    assert.ok(mean > 0);
    assert.deepEqual(Object.keys(kinds), run === 'reports' ? ['report'] : ['facts', 'catalog', 'report']);
  }
  assert.match(digest, /^[0-9a-f]{16}$/);
  const { status, err } = await perf('apply', '--small', '--against', dir);
  assert.equal(status, 2);
  assert.match(err, /has no build/);
});

test('floor: every kind has its four costs, and the payloads depend on the seed alone', async () => {
  interface Result {
    readonly kinds: Record<string, { steps: Record<string, number[]>; plainBytes: number; sentBytes: number }>;
    readonly digest: string;
  }
  const result = await resultOf<Result>('floor');
  assert.deepEqual(Object.keys(result.kinds), ['facts', 'catalog', 'report']);
  for (const { steps, plainBytes, sentBytes } of Object.values(result.kinds)) {
    assert.deepEqual(Object.keys(steps), ['gunzip', 'parse', 'hash', 'append']);
    assert.ok(sentBytes < plainBytes);
  }
  assert.equal((await resultOf<Result>('floor')).digest, result.digest);
  assert.notEqual((await resultOf<Result>('floor', '--seed', '2')).digest, result.digest);
});

test('ingest: four runs against a started server, with figures of the server process and a digest of its answers', async () => {
  interface Run {
    readonly run: string;
    readonly commands: number;
    readonly processedPerSecond: number;
    readonly floor: number;
    readonly peakPss: number;
    readonly diskPerNode: number;
    readonly digest: string;
    readonly floorServer: { readonly processedPerSecond: number; readonly cpu: number };
  }
  const { rounds, text } = await resultOf<{ readonly rounds: Run[][] }>('ingest');
  const runs = rounds[0]!;
  assert.deepEqual(
    runs.map(({ run, commands }) => [run, commands]),
    [
      ['first', 12],
      ['changed', 12],
      ['unchanged', 12],
      ['reports', 4],
    ],
  );
  for (const run of runs) {
    for (const figure of ['processedPerSecond', 'floor', 'peakPss', 'diskPerNode'] as const) {
      assert.ok(run[figure] > 0, `${run.run}: ${figure}`);
    }
    assert.ok(run.floorServer.processedPerSecond > 0, run.run);
  }
  assert.equal(new Set(runs.map(({ digest }) => digest)).size, 4, 'each run changes what the server answers');
  assert.match(text, /digests of the answers/);
});

test('compare: figures of two results side by side, and whether the answers are the same', async () => {
  const run = {
    run: 'first',
    processedPerSecond: 10,
    cpu: 4,
    submitP99: 9,
    peakPss: 200,
    diskPerNode: 5000,
    digest: 'a',
  };
  const [before, after] = [join(dir, 'before.json'), join(dir, 'after.json')];
  writeFileSync(before, JSON.stringify({ fleet: 'f', rounds: [[run]] }));
  writeFileSync(
    after,
    JSON.stringify({ fleet: 'f', rounds: [[{ ...run, processedPerSecond: 25, cpu: 1, digest: 'b' }]] }),
  );
  const { status, out } = await perf('compare', '--before', before, '--after', after);
  assert.equal(status, 0);
  assert.match(out, /first \| +processed\/s \| +10\.0 \| +25\.0 \| +2\.50 \| +NO/);
  assert.match(out, /CPU ms per command \| +4\.00 \| +1\.00 \| +4\.00/);
  writeFileSync(before, JSON.stringify({ fleet: 'f', rounds: [[{ ...run, cpu: null, diskPerNode: null }]] }));
  const partly = await perf('compare', '--before', before, '--after', after);
  assert.match(partly.out, /CPU ms per command \| +- \| +1\.00 \| +- /);
  assert.match(partly.out, /disk KB per node \| +- \| +5\.00 \| +- /);
  writeFileSync(after, JSON.stringify({ fleet: 'g', rounds: [[run]] }));
  assert.equal((await perf('compare', '--before', before, '--after', after)).status, 2);
});

test('queries: each size answers every query, with rows, digest and the way it went', async () => {
  interface Query {
    readonly name: string;
    readonly cost: string;
    readonly status: number;
    readonly rows: number | null;
    readonly bytes: number;
    readonly way: string;
    readonly digest: string | null;
  }
  const { sizes, text } = await resultOf<{ readonly sizes: { nodes: number; queries: Query[] }[] }>('queries');
  assert.deepEqual(
    sizes.map(({ nodes }) => nodes),
    [10, 30],
  );
  const [small, large] = sizes.map(({ queries }) => new Map(queries.map((query) => [query.name, query])));
  assert.ok(small!.size >= 40);
  assert.equal(small!.size, large!.size);
  for (const query of large!.values()) {
    assert.equal(query.status, 200, query.name);
    assert.match(query.digest ?? '', /^[0-9a-f]{16}$/, query.name);
  }
  assert.equal(large!.get('nodes: all')!.rows, 30);
  // What is about one node does not change when others come.
  for (const name of ['facts of one node', 'resources: of one node', 'report by hash', 'edges of one node']) {
    assert.equal(large!.get(name)!.digest, small!.get(name)!.digest, name);
    assert.notEqual(large!.get(name)!.rows, 0, name);
  }
  assert.match(large!.get('resources: by type and title')!.way, /items by type and title/);
  assert.match(text, /time grows/);
});

test('stream: the dump is complete, beside a slow reader and point queries', async () => {
  interface Result {
    readonly rows: number;
    readonly bytes: number;
    readonly crawledBytes: number;
    readonly during: { readonly count: number };
    readonly memory: Record<string, { readonly pss: number }>;
  }
  const result = await resultOf<Result>('stream', '--nodes', '12');
  // 30-60 resources in each catalog, and its Sshkey.
  assert.ok(result.rows >= 12 * 31 && result.rows <= 12 * 61, String(result.rows));
  assert.ok(result.during.count > 0);
  assert.deepEqual(Object.keys(result.memory), ['before', 'peak', 'after']);
});

test('stream: over HTTPS, with a certificate', { skip: opensslMissing() }, async () => {
  interface Result {
    readonly rows: number;
    readonly during: { readonly count: number };
    readonly text: string;
  }
  const result = await resultOf<Result>('stream', '--nodes', '12', '--tls', '--tls-key', 'ec');
  assert.match(result.text, /^.*, over HTTPS \(keys ec\)$/m);
  assert.ok(result.rows >= 12 * 31 && result.rows <= 12 * 61, String(result.rows));
  assert.ok(result.during.count > 0);
});

test('connect: connections that are kept, and new ones', async () => {
  interface Result {
    readonly results: readonly { readonly connections: string; readonly requests: number; readonly cpuMs: number }[];
  }
  const { results, text } = await resultOf<Result>('connect', '--path', '/pdb/meta/v1/version', '--gzip');
  assert.match(text, /^2 clients at once, GET \/pdb\/meta\/v1\/version, compressed$/m);
  assert.match(text, /^digest of the answer [0-9a-f]{16}$/m);
  assert.deepEqual(
    results.map(({ connections }) => connections),
    ['kept', 'new'],
  );
  for (const { requests, cpuMs } of results) assert.ok(requests > 0 && cpuMs >= 0);
});

test('benchmark: hosts send so many runs, some of them changed', async () => {
  interface Result {
    readonly discarded: number;
    readonly digest: string;
    readonly waits: Record<'facts' | 'catalog' | 'report' | 'query', { readonly count: number }> & {
      readonly errors: number;
    };
    readonly text: string;
  }
  const changing = ['--rand-perc', '100', '--catalog-query-pct', '100', '--catalog-query-n', '1'];
  const changed = await resultOf<Result>('benchmark', ...changing);
  const { facts, catalog, report, query, errors } = changed.waits;
  assert.deepEqual(
    [facts, catalog, report, query].map(({ count }) => count),
    [12, 12, 12, 12],
  );
  assert.deepEqual([errors, changed.discarded], [0, 0]);
  assert.match(changed.text, /^36 commands accepted in .* cmd\/s \(~\d+ nodes @ 30m\), 0 dead letters$/m);
  assert.notEqual((await resultOf<Result>('benchmark')).digest, changed.digest);
});

test('latency: three phases, each with its waits', async () => {
  interface Phase {
    readonly phase: string;
    readonly submissions: { readonly count: number; readonly p99: number } | null;
    readonly points: { readonly count: number };
    readonly dumps: number;
  }
  const { phases, rate } = await resultOf<{ readonly phases: Phase[]; readonly rate: number }>(
    'latency',
    '--nodes',
    '4',
    '--seconds',
    '0.3',
    '--rate',
    '40',
  );
  assert.equal(rate, 40);
  assert.deepEqual(
    phases.map(({ phase }) => phase),
    ['quiet', 'commands', 'commands and dumps'],
  );
  assert.equal(phases[0]!.submissions, null);
  for (const { submissions, points } of phases.slice(1)) {
    assert.ok(submissions !== null && submissions.p99 > 0);
    assert.equal(submissions.count, 12);
    assert.ok(points.count > 0);
  }
  assert.ok(phases[2]!.dumps > 0);
});

test('latency: a server that answers with nothing is not fast', async () => {
  const server = createHttpServer((request, response) => {
    request.resume().on('end', () => {
      response.end(/name=global/.test(decodeURIComponent(request.url ?? '')) ? '{"value":{"Count":0}}' : '[]');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { status, err } = await perf('latency', '--small', '--url', url);
  server.close();
  assert.equal(status, 1);
  assert.match(err, /got 200 and 2 bytes/);
});

test('growth: every size has its runs and queries, and a chart is drawn', async () => {
  interface Size {
    readonly nodes: number;
    readonly changed: { readonly commands: number };
    readonly queries: { readonly name: string; readonly digest: string | null }[];
    readonly disk: number;
  }
  const { sizes, svg } = await resultOf<{ readonly sizes: Size[]; readonly svg: string }>('growth', '--senders', '2');
  assert.deepEqual(
    sizes.map(({ nodes, changed }) => [nodes, changed.commands]),
    [
      [10, 6],
      [20, 6],
    ],
  );
  assert.ok(sizes[1]!.disk > 0);
  const digestOf = (size: Size) => size.queries.find(({ name }) => name === 'resources: of one node')?.digest;
  assert.equal(digestOf(sizes[0]!), digestOf(sizes[1]!));
  assert.match(svg, /^<svg .*<polyline .*<\/svg>\n$/s);
});

const onLinux = { skip: process.platform !== 'linux' };

/** A program that runs, with a folder of its own for what is temporary. */
function started(name: string, ...args: string[]) {
  const folder = join(dir, `temporary-${name}`);
  mkdirSync(folder, { recursive: true });
  const child = spawn(process.execPath, [main, name, ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // a group of its own
  });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return { child, folder, ended: once(child, 'close'), err: () => err, temporary: () => readdirSync(folder) };
}

async function until(holds: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!holds()) {
    assert.ok(performance.now() < end, `after a minute not: ${holds}`);
    await sleep(10);
  }
}

test('benchmark: hosts like those of an archive send on until Ctrl-C, which ends neither the server nor the figures', async () => {
  const exported = join(dir, 'puppetdb-bak', 'facts');
  mkdirSync(exported, { recursive: true });
  const factset = { certname: 'a', environment: 'production', values: { kernel: 'Linux' }, producer: 'p' };
  writeFileSync(join(exported, 'a.json'), JSON.stringify({ ...factset, producer_timestamp: '2026-01-01T00:00:00Z' }));
  writeFileSync(join(exported, 'b.json'), '{');
  const archive = join(dir, 'export.tgz');
  execFileSync('tar', ['-czf', archive, '-C', dir, 'puppetdb-bak']);
  const out = join(dir, 'archive.json');
  const hosts = ['--numhosts', '6', '--runinterval', '0.01', '--archive', archive];
  const run = started('benchmark', '--small', '--out', out, ...hosts, ...quickServer);
  await until(() => /cmd\/s \(~[1-9]\d* nodes @ 30m\) \| 0.00 q\/s 0.00 s\/q \| 0 err$/m.test(run.err()));
  process.kill(-run.child.pid!, 'SIGINT'); // as a terminal does: to the whole group
  assert.deepEqual(await run.ended, [0, null]);
  assert.match(run.err(), /b\.json: .*; skipped$/m);
  const { what, waits, digest } = JSON.parse(readFileSync(out, 'utf8'));
  assert.match(what, /, 1 facts, 0 catalogs, 0 reports from /);
  assert.ok(waits.facts.count > 6 && waits.catalog.count === 0);
  assert.equal(digest, null);
  assert.deepEqual(run.temporary(), []);
});

test('interrupted: no server and no folder is left, nor any of a floor server', async () => {
  const engine = started('apply', '--nodes', '1000', '--batch', '3');
  await until(() => engine.temporary().some((name) => name.startsWith('muster-apply-')));
  engine.child.kill('SIGTERM');
  assert.deepEqual(await engine.ended, [1, null]);
  assert.deepEqual(engine.temporary(), []);

  const load = started('ingest', '--small', '--runs', 'first', '--rounds', '100', ...quickServer);
  await until(() => /round 1 first/.test(load.err()));
  const journal = (name: string): boolean => existsSync(join(load.folder, name, 'journal'));
  const floor = (): boolean => load.temporary().some(journal);
  await until(() => !floor());
  await until(floor);
  load.child.kill('SIGINT');
  assert.deepEqual(await load.ended, [1, null]);
  await until(() => load.temporary().length === 0);
});

test('interrupted: nor is a server left when the terminal goes', async () => {
  const run = started('latency', '--small', '--seconds', '60', ...quickServer);
  await until(() => /highest rate/.test(run.err()));
  process.kill(-run.child.pid!, 'SIGHUP');
  assert.deepEqual(await run.ended, [1, null]);
  assert.deepEqual(run.temporary(), []);
});

test('floor-server: an address in use ends it', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const floor = started('floor-server', '--http', `127.0.0.1:${port}`);
  assert.deepEqual(await floor.ended, [1, null]);
  assert.match(floor.err(), /EADDRINUSE/);
  assert.deepEqual(floor.temporary(), []);
  taken.close();
});

test('a started server that ends by itself is told of', onLinux, async () => {
  const run = started('latency', '--small', '--seconds', '60', ...quickServer);
  await until(() => /highest rate/.test(run.err()));
  const pid = Number(readFileSync(`/proc/${run.child.pid}/task/${run.child.pid}/children`, 'utf8').trim());
  process.kill(pid, 'SIGKILL');
  assert.deepEqual(await run.ended, [1, null]);
  assert.match(run.err(), /the server has ended by itself \(SIGKILL\): .*"msg":"/s);
  assert.deepEqual(run.temporary(), []);
});
