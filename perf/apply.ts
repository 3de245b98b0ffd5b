// What does a command cost before HTTP, log and threads: decoded and applied by the engine of this build, in this process, and with
// --against by that of another build of the project, batch by batch in turn. The machines that benchmarks run on change
// their speed by half within minutes, and with it every figure of two servers that are measured one after the other; two builds that
// take turns every few milliseconds meet the same machine. What both share (V8's heap, and so collections) is not told apart.
//
// The engine is no part of the programs here: builds are found by their folder, and what is used of them is below.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { atExit } from './lib/at-exit.ts';
import { digestOfParts } from './lib/digest.ts';
import { median, show, sum, table } from './lib/figures.ts';
import type { Kind } from './lib/fleet.ts';
import { describeFleet, fleetFor, fleetOptions } from './lib/fleet-options.ts';
import { History, type Prepared, prepareRun, type RunName, runNames } from './lib/load.ts';
import { describeMachine } from './lib/machine.ts';
import { commonOptions, type Given, type Program, UsageError } from './lib/options.ts';
import { writeResult } from './lib/result.ts';
import { projectDir } from './lib/server.ts';

const DAY = 86_400_000;

interface Outcome {
  readonly kind: string;
  readonly hash: string | null;
}
interface Partition {
  write<T>(change: (batch: object) => T): T;
  close(): Promise<void>;
}
/** What is used of a build: engine/store/partition.ts and engine/ingest/. */
interface Engine {
  openPartition(dir: string): Partition;
  prepare(batch: object, command: object, settings: object): object;
  applyPrepared(batch: object, prepared: object, settings: object): Outcome;
  readonly settings: object;
}

async function engineOf(dir: string): Promise<Engine> {
  const fileOf = (module: string): string => join(dir, 'dist', 'engine', `${module}.js`);
  /** `formerly`: where builds of before have it. */
  const load = async (module: string, formerly = module): Promise<Record<string, unknown>> => {
    const file = [module, formerly].map(fileOf).find((found) => existsSync(found)) ?? fileOf(module);
    try {
      return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    } catch (error) {
      throw new UsageError(`${dir} has no build (${(error as Error).message}); run \`npm install\` there first`);
    }
  };
  const [{ openPartition }, { prepare, applyPrepared }, { Inflater }, { Fingerprints, newKey }] = await Promise.all([
    load('store/partition'),
    load('ingest/apply'),
    load('ingest/command/inflater', 'ingest/inflater'),
    load('fingerprint'),
  ]);
  const settings = {
    now: Date.now(),
    resourceEventsTtl: 3650 * DAY,
    factsBlocklist: [],
    factsBlocklistType: 'literal',
    decompressedMax: 256 << 20,
    inflater: new (Inflater as new () => object)(),
    fingerprints: new (Fingerprints as new (key: unknown) => object)((newKey as () => unknown)()),
  };
  return { openPartition, prepare, applyPrepared, settings } as unknown as Engine;
}

/** Milliseconds of one kind of command in one run: of each command. */
interface Times {
  readonly decode: number[];
  readonly apply: number[];
}

/** A build with a partition of its own. */
class Build {
  readonly name: string;
  readonly #engine: Engine;
  readonly #partition: Partition;
  readonly hashes: string[] = [];
  /** Milliseconds of commits, by batch. */
  commits: number[] = [];
  times = new Map<Kind, Times>();

  constructor(name: string, engine: Engine, dir: string) {
    this.name = name;
    this.#engine = engine;
    this.#partition = engine.openPartition(dir);
  }

  /** Forgets what was measured. */
  begin(): void {
    this.commits = [];
    this.times = new Map();
  }

  apply(requests: readonly Prepared[], seq: number): void {
    const { prepare, applyPrepared, settings } = this.#engine;
    let written = 0;
    this.#partition.write((batch) => {
      for (const [index, request] of requests.entries()) {
        const command = queued(request, seq + index);
        const start = performance.now();
        const prepared = prepare(batch, command, settings);
        const decoded = performance.now();
        const outcome = applyPrepared(batch, prepared, settings);
        this.#took(request.kind, decoded - start, performance.now() - decoded);
        if (outcome.kind !== 'processed') throw new Error(`${this.name}: ${JSON.stringify(outcome)}`);
        this.hashes.push(outcome.hash ?? '');
      }
      written = performance.now();
    });
    this.commits.push(performance.now() - written);
  }

  #took(kind: Kind, decode: number, apply: number): void {
    let times = this.times.get(kind);
    if (times === undefined) this.times.set(kind, (times = { decode: [], apply: [] }));
    times.decode.push(decode);
    times.apply.push(apply);
  }

  close(): Promise<void> {
    return this.#partition.close();
  }
}

function queued({ path, body }: Prepared, seq: number): object {
  const parameters = new URL(path, 'http://localhost').searchParams;
  const envelope = {
    uuid: '',
    command: parameters.get('command')?.replaceAll('_', ' '),
    version: Number(parameters.get('version')),
    certname: parameters.get('certname'),
    received: Date.now(),
    producerTimestamp: Date.parse(parameters.get('producer-timestamp') ?? ''),
    gzip: true,
    size: null,
  };
  // Older builds look for the envelope's fields beside the body.
  return { seq, envelope, body, ...envelope };
}

interface BuildResult {
  readonly build: string;
  readonly run: RunName;
  /** Mean milliseconds of a command. */
  readonly mean: number;
  readonly commit: number;
  readonly kinds: Readonly<Record<string, { readonly decode: number; readonly apply: number }>>;
}

function resultOf(build: Build, run: RunName, commands: number): BuildResult {
  const kinds: Record<string, { decode: number; apply: number }> = {};
  let whole = sum(build.commits);
  for (const [kind, { decode, apply }] of build.times) {
    whole += sum(decode) + sum(apply);
    kinds[kind] = { decode: median(decode), apply: median(apply) };
  }
  return { build: build.name, run, mean: whole / commands, commit: sum(build.commits) / commands, kinds };
}

async function run(given: Given): Promise<void> {
  // As in the server (workers/system/v8.ts).
  setFlagsFromString('--no-allocation-site-pretenuring');
  const nodes = given.count('nodes', 1, 100_000);
  const size = given.count('batch', 1, 10_000);
  const against = given.text('against');
  const fleet = fleetFor(given);
  const history = new History(fleet);
  const dir = mkdtempSync(join(tmpdir(), 'muster-apply-'));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  const forget = atExit(remove);
  const builds: Build[] = [];
  const results: BuildResult[] = [];
  try {
    builds.push(new Build('this', await engineOf(projectDir), join(dir, 'this')));
    if (against !== null) builds.push(new Build('against', await engineOf(resolve(against)), join(dir, 'against')));
    console.log(describeMachine());
    console.log(`${nodes} nodes, ${describeFleet(fleet)}; batches of ${size} commands, one partition`);
    console.log('Milliseconds on the clock: means of all, medians of each kind as decoded + applied\n');
    let seq = 0;
    for (const name of runNames) {
      const requests = await prepareRun(history, name, 0, nodes);
      for (const build of builds) build.begin();
      for (let at = 0, turn = 0; at < requests.length; at += size, turn++) {
        // Whoever comes first finds the bodies in no cache.
        for (let place = 0; place < builds.length; place++) {
          builds[(place + turn) % builds.length]!.apply(requests.slice(at, at + size), seq + at + 1);
        }
      }
      seq += requests.length;
      for (const build of builds) results.push(resultOf(build, name, requests.length));
    }
    const digests = builds.map(({ hashes }) => digestOfParts(hashes));
    if (new Set(digests).size > 1) throw new Error(`the builds give other hashes: ${digests.join(', ')}`);
    console.log(printed(results, builds.length > 1));
    console.log(`\ndigest of the hashes ${digests[0]}`);
    writeResult(given, { machine: describeMachine(), fleet: describeFleet(fleet), results, digest: digests[0] });
  } finally {
    for (const build of builds) await build.close();
    remove();
    forget();
  }
}

function printed(results: readonly BuildResult[], isCompared: boolean): string {
  const kinds = ['facts', 'catalog', 'report'];
  const rows = results.map(({ build, run: name, mean, commit, kinds: times }) => {
    const other = results.find((result) => result.run === name && result.build === 'against');
    const ratio = isCompared && build === 'this' && other !== undefined ? show(mean / other.mean) : '';
    const cells = kinds.map((kind) => {
      const time = times[kind];
      return time === undefined ? '' : `${show(time.decode)} + ${show(time.apply)}`;
    });
    return [name, build, show(mean), ratio, ...cells, show(commit)];
  });
  return table(['run', 'build', 'mean', 'ratio', ...kinds, 'commit'], rows);
}

export const program: Program = {
  name: 'apply',
  summary: 'What does a command cost in the engine alone, and in that of another build, batch by batch in turn?',
  options: {
    nodes: { value: 'N', default: '300', small: '4', doc: 'nodes of the fleet' },
    batch: { value: 'N', default: '48', doc: 'commands of one transaction, after which the other build has its turn' },
    against: { value: 'DIR', doc: 'the folder of another built checkout of the project' },
    ...fleetOptions,
    ...commonOptions,
  },
  run,
};
