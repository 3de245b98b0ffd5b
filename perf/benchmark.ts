// How large a fleet does a server keep up with? A population of simulated hosts sends to it, with the options of the benchmark that comes
// with PuppetDB: each host a number of runs as fast as they are taken, or one an interval, for as long as it is let; or clients ask
// queries. Unlike that one it changes what it says it changes, waits until what was sent has been processed, and tells how long
// clients waited.

import { setMaxListeners } from 'node:events';
import { onInterrupt } from './lib/at-exit.ts';
import { Client } from './lib/client.ts';
import { digestOfParts } from './lib/digest.ts';
import { digestOfDump } from './lib/dump-digest.ts';
import { show } from './lib/figures.ts';
import { emptied } from './lib/load.ts';
import { OthersWatch } from './lib/machine.ts';
import { commonOptions, type Given, type Program } from './lib/options.ts';
import { printProfiles } from './lib/profile.ts';
import { writeResult } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';
import { Turns } from './lib/turns.ts';
import { hostOptionsFor, hostsFor, type Mode, modeOf, populationOptions } from './population/arguments.ts';
import type { Host } from './population/host.ts';
import { Meter } from './population/meter.ts';
import { askAll, clientsOf } from './population/queriers.ts';
import { describeSamples } from './population/samples.ts';
import { sendOn, sendRuns } from './population/sending.ts';

/** Hosts whose answers are digested. */
const HOSTS_SHOWN = 30;

interface Work {
  readonly mode: Mode;
  /** None with --querier. */
  readonly hosts: readonly Host[];
  /** Commands of a host's run. */
  readonly perRun: number;
  /** What is sent or asked, in a line. */
  readonly what: string;
  readonly seed: number;
  readonly connections: number;
}

interface Result {
  /** Until the last one was accepted or answered, and from then until the queue was empty. */
  readonly seconds: number;
  readonly drained: number;
  /** A second, until the queue was empty, and how many nodes with a run each half an hour that is. */
  readonly processed: number;
  readonly nodes: number;
  /** Commands that waited when the last one had been accepted, and those that became dead letters. */
  readonly depth: number;
  readonly discarded: number;
  /** Runs that were left out because their host was still in the one before. */
  readonly left: number;
  /** Processor time a command, ms: the server's, and this program's. */
  readonly cpu: number;
  readonly own: number;
  readonly others: number;
  /** With --nummsgs. */
  readonly digest: string | null;
}

function workFor(given: Given): Work {
  const mode = modeOf(given);
  const seed = given.count('seed', 0, 0xffffffff);
  if (mode.name === 'querier') {
    const what = mode.queriers.map(({ count, category }) => `${count} of ${category}`).join(', ');
    return { mode, hosts: [], perRun: 0, what, seed, connections: clientsOf(mode.queriers) };
  }
  const options = hostOptionsFor(given);
  const hosts = hostsFor(given, options);
  const perRun = Object.values(options.samples).filter((documents) => documents.length > 0).length;
  const what = `${hosts.length} hosts from ${hosts[0]!.certname} on, ${describeSamples(options.samples, given)}, seed ${seed}`;
  return { mode, hosts, perRun, what, seed, connections: given.count('senders', 1, 512) };
}

/** Aborted when the time is over, or by an interrupt. */
function endingFor(given: Given): AbortSignal {
  const ending = new AbortController();
  // Each pause and each query listens.
  setMaxListeners(0, ending.signal);
  onInterrupt(() => ending.abort());
  if (given.text('seconds') !== null) {
    setTimeout(() => ending.abort(), given.number('seconds', 0.1, 2_000_000) * 1000).unref();
  }
  return ending.signal;
}

/** Sends or asks; resolves with the number of runs that were left out. */
async function perform(client: Client, meter: Meter, work: Work, ending: AbortSignal): Promise<number> {
  const { mode, hosts, seed, connections } = work;
  const population = { client, turns: new Turns(connections), meter, hosts, ending, seed };
  switch (mode.name) {
    case 'nummsgs':
      await sendRuns(population, { ...mode, senders: connections, end: Date.now() + mode.endIn });
      return 0;
    case 'runinterval':
      return sendOn(population, mode.interval);
    case 'querier':
      await askAll(population, mode.queriers);
      return 0;
  }
}

async function measure(server: Server, work: Work, meter: Meter, ending: AbortSignal): Promise<Result> {
  const control = new Client(server, 1);
  const client = new Client(server, work.connections);
  const discarded = (await control.queue('discarded')) ?? Number.NaN;
  const others = new OthersWatch();
  const cpu = server.processes.cpuMs();
  const ownCpu = process.cpuUsage();
  const start = performance.now();
  const left = await perform(client, meter, work, ending);
  const seconds = (performance.now() - start) / 1000;
  meter.stop();
  const depth = (await control.queue('depth')) ?? Number.NaN;
  if (meter.commands > 0) await emptied(control);
  const elapsed = (performance.now() - start) / 1000;
  const spent = server.processes.cpuMs() - cpu;
  const { user, system } = process.cpuUsage(ownCpu);
  const othersShare = others.share(spent);
  const isWhole = work.mode.name === 'nummsgs' && !ending.aborted;
  const result = {
    seconds,
    drained: elapsed - seconds,
    processed: meter.commands / elapsed,
    nodes: meter.nodesAt(meter.commands / elapsed),
    depth,
    discarded: ((await control.queue('discarded')) ?? Number.NaN) - discarded,
    left,
    cpu: spent / meter.commands,
    own: (user + system) / 1000 / meter.commands,
    others: othersShare,
    digest: isWhole ? await digestOf(control, work.hosts) : null,
  };
  client.close();
  control.close();
  return result;
}

/** Digest of what is stored of some hosts, but for times and ids: the same for the same seed and options, whichever server it is. */
async function digestOf(client: Client, hosts: readonly Host[]): Promise<string> {
  const certnames = hosts.slice(0, HOSTS_SHOWN).map(({ certname }) => certname);
  const ofThem = ['in', 'certname', ['array', certnames]];
  const event = ['certname', 'resource_type', 'resource_title', 'property', 'old_value', 'new_value', 'status'];
  const queries = { resources: ofThem, facts: ofThem, edges: ofThem, events: ['extract', event, ofThem] };
  const digests: string[] = [];
  for (const [route, query] of Object.entries(queries)) {
    digests.push((await digestOfDump(client, { path: `/pdb/query/v4/${route}`, params: { query } })).digest);
  }
  return digestOfParts(digests);
}

function print(work: Work, meter: Meter, result: Result): void {
  console.log(`\n${meter.table()}\n`);
  if (work.hosts.length > 0) {
    const { seconds, drained, processed, nodes, depth, discarded, left, cpu, own, others } = result;
    console.log(
      `${meter.commands} commands accepted in ${show(seconds)} s; ${depth} waited then, all processed ${show(drained)} s later: ` +
        `${show(processed)} cmd/s (~${nodes.toFixed(0)} nodes @ 30m), ${discarded} dead letters`,
    );
    if (left > 0) console.log(`${left} runs were left out because their host was still in the one before`);
    console.log(
      `processor time a command, ms: server ${show(cpu)}, this program ${show(own)}; others ${show(others * 100)} %` +
        (result.digest === null ? '' : `; digest ${result.digest}`),
    );
  }
  if (meter.errors > 0) console.log(`${meter.errors} errors`);
}

async function run(given: Given): Promise<void> {
  const work = workFor(given);
  const machine = describeRun(given);
  console.log(`${machine}\n${work.what}`);
  const server = await serverFor(given);
  try {
    const ending = endingFor(given);
    const meter = new Meter(work.perRun);
    const result = await measure(server, work, meter, ending);
    print(work, meter, result);
    writeResult(given, { machine, what: work.what, ...result, waits: meter });
    if (meter.errors > 0) process.exitCode = 1;
  } finally {
    await server.stop();
  }
  printProfiles(given);
}

export const program: Program = {
  name: 'benchmark',
  summary:
    'How large a fleet does a server keep up with, asked with the options of the benchmark that comes with PuppetDB?',
  options: { ...populationOptions, ...serverOptions, ...commonOptions },
  run,
};
