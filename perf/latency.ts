// How long do clients wait while the server is busy? First the server's highest rate is found; then commands arrive at a
// fixed part of it, at times that do not depend on the answers, and point queries are asked beside them; then the same
// with a client that dumps all resources again and again. A submission's time runs from the moment it was due, so a server
// that stalls cannot hide it by being asked less; point queries do not wait for each other either. The phases begin when the
// server has come to rest.

import { Client, type Timed } from './lib/client.ts';
import { digestOf, digestOfParts } from './lib/digest.ts';
import { digestOfDump } from './lib/dump-digest.ts';
import { readAgain } from './lib/dump-reader.ts';
import { show, sum, table, type Waits, waitsOf } from './lib/figures.ts';
import { describeFleet, fleetFor, fleetOptions } from './lib/fleet-options.ts';
import { drained, fill, History, type Prepared, prepare, submitAll } from './lib/load.ts';
import { OthersWatch } from './lib/machine.ts';
import { commonOptions, type Given, type Program } from './lib/options.ts';
import { askPoints, digestOfPoints } from './lib/points.ts';
import { printProfiles } from './lib/profile.ts';
import { atRest } from './lib/rest.ts';
import { writeResult } from './lib/result.ts';
import { describeRun, type Server, serverFor, serverOptions } from './lib/server.ts';
import { Started } from './lib/started.ts';

interface PhaseResult {
  readonly phase: string;
  /** Commands a second that arrived. */
  readonly rate: number;
  readonly submissions: Waits | null;
  readonly points: Waits;
  readonly dumps: number;
  readonly dumpedBytes: number;
  readonly others: number;
}

const DUMP = '/pdb/query/v4/resources';
const CONNECTIONS = 64;
/** Changed commands that are sent before the first one that counts: meanwhile the server compiles what they need, as after every start. */
const COMMANDS_BEFORE = 1500;

/** Facts, catalogs and reports of one run after the other, 5 % of each new: what a fleet sends. */
class Supply {
  readonly #history: History;
  readonly #nodes: number;
  #run = 1;
  #node = 0;

  constructor(history: History, nodes: number) {
    this.#history = history;
    this.#nodes = nodes;
  }

  /** At least `count` commands, made before they are needed. */
  async take(count: number): Promise<Prepared[]> {
    const out: Prepared[] = [];
    while (out.length < count) {
      const commands = [...this.#history.fleet.run(this.#node, this.#run)];
      out.push(...(await Promise.all(commands.map((command) => prepare(command, 1)))));
      this.#node++;
      if (this.#node === this.#nodes) {
        this.#node = 0;
        this.#run++;
      }
    }
    return out;
  }
}

/** Sends the requests at a fixed rate; milliseconds from when each was due to its answer. */
async function paced(client: Client, requests: readonly Prepared[], perSecond: number): Promise<number[]> {
  const times: number[] = [];
  const started = new Started();
  const start = performance.now();
  for (let next = 0; next < requests.length && !started.hasFailed; ) {
    const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
    for (; next < Math.min(due, requests.length); next++) {
      const dueAt = start + ((next + 1) / perSecond) * 1000;
      started.add(
        client.ask(requests[next]!).then(({ status }) => {
          if (status !== 200) throw new Error(`a command got ${status}`);
          times.push(performance.now() - dueAt);
        }),
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await started.done();
  return times;
}

interface Phase {
  readonly name: string;
  readonly commands: boolean;
  readonly dumps: boolean;
}

const phases: readonly Phase[] = [
  { name: 'quiet', commands: false, dumps: false },
  { name: 'commands', commands: true, dumps: false },
  { name: 'commands and dumps', commands: true, dumps: true },
];

interface Setting {
  readonly server: Server;
  readonly nodes: number;
  readonly seconds: number;
  readonly rate: number;
  readonly supply: Supply;
}

async function measurePhase({ server, nodes, seconds, rate, supply }: Setting, phase: Phase): Promise<PhaseResult> {
  const client = new Client(server, CONNECTIONS);
  const requests = phase.commands ? await supply.take(Math.ceil(rate * seconds)) : [];
  // Compile servers keep their connections; `connect` measures what new ones cost.
  const opened = phase.commands ? CONNECTIONS : 0;
  await Promise.all(Array.from({ length: opened }, () => client.ask({ path: '/status/v1/simple' })));
  const others = new OthersWatch();
  const cpu = server.processes.cpuMs();
  let done = false;
  const load = phase.commands
    ? paced(client, requests, rate)
    : new Promise<number[]>((resolve) => setTimeout(() => resolve([]), seconds * 1000).unref());
  const reader = phase.dumps ? readAgain(server, DUMP) : null;
  const finish = (): void => {
    done = true;
  };
  const points = askPoints({ target: server, nodes, everyMs: 7, done: () => done });
  let dumps: readonly Timed[] = [];
  const [submissions, asked] = await Promise.all([load.finally(finish), points.finally(finish)]).finally(async () => {
    dumps = (await reader?.stop()) ?? [];
  });
  const othersShare = others.share(server.processes.cpuMs() - cpu);
  await drained(client);
  client.close();
  return {
    phase: phase.name,
    rate: phase.commands ? rate : 0,
    submissions: phase.commands ? waitsOf(submissions) : null,
    points: waitsOf(asked),
    dumps: dumps.length,
    dumpedBytes: sum(dumps.map(({ bytes }) => bytes)),
    others: othersShare,
  };
}

/** Commands a second that the server takes when they come as fast as they can, once it has compiled what they need. */
async function highestRate(client: Client, supply: Supply, isSmall: boolean): Promise<number> {
  const [before, tried] = isSmall ? [0, 12] : [COMMANDS_BEFORE, 450];
  await submitAll(client, await supply.take(before), 8);
  await drained(client);
  const trial = await supply.take(tried);
  const start = performance.now();
  await submitAll(client, trial, 8);
  await drained(client);
  const highest = (trial.length / (performance.now() - start)) * 1000;
  console.error(`highest rate ${show(highest)} commands/s`);
  return highest;
}

async function comeToRest(server: Server, restMs: number): Promise<void> {
  const rested = await atRest(server.processes, { restMs });
  if (Number.isNaN(rested)) console.error('whether the server rests is not known without --pid');
  else console.error(rested === null ? 'the server does not come to rest' : `at rest after ${show(rested)} s`);
}

function phasesTable(results: readonly PhaseResult[]): string {
  const cells = (waits: Waits | null): string[] =>
    waits === null ? ['-', '-', '-', '-'] : [String(waits.count), show(waits.p50), show(waits.p99), show(waits.worst)];
  const head = [
    'phase',
    'commands/s',
    'submitted',
    'p50',
    'p99',
    'worst',
    'point queries',
    'p50',
    'p99',
    'worst',
    'dumps',
    'MB',
    'others %',
  ];
  const rows = results.map((r) => [
    r.phase,
    show(r.rate),
    ...cells(r.submissions),
    ...cells(r.points),
    String(r.dumps),
    show(r.dumpedBytes / 1e6),
    show(r.others * 100),
  ]);
  return table(head, rows);
}

async function run(given: Given): Promise<void> {
  const nodes = given.count('nodes', 2, 100_000);
  const part = given.number('part', 0.01, 1);
  const restMs = given.number('rest', 0, 60) * 1000;
  const fixed = given.text('rate') === null ? null : given.number('rate', 1, 100_000);
  const seconds = given.number('seconds', 0.1, 3600);
  const fleet = fleetFor(given);
  const history = new History(fleet);
  const machine = describeRun(given);
  console.log(`${machine}\n${nodes} nodes, ${describeFleet(fleet)}`);
  const server = await serverFor(given);
  try {
    const client = new Client(server, 8);
    await fill(client, { history, first: 0, end: nodes, runs: ['first'] });
    const supply = new Supply(history, nodes);
    const highest = await highestRate(client, supply, given.flag('small'));
    // What the phases ask for, before they change it: how many commands they bring depends on the rate.
    const answers = digestOfParts([
      await digestOfPoints(client, nodes),
      (await digestOfDump(client, { path: DUMP })).digest,
    ]);
    const rate = fixed ?? highest * part;
    await comeToRest(server, restMs);

    const results: PhaseResult[] = [];
    for (const phase of phases) {
      results.push(await measurePhase({ server, nodes, seconds, rate, supply }, phase));
      console.error(`${phase.name}: done`);
    }
    const query = ['extract', ['certname', 'facts_environment'], ['~', 'certname', '.']];
    const { digest } = digestOf(await client.json('/pdb/query/v4/nodes', { query }));
    client.close();

    const share = show((rate / highest) * 100);
    console.log(`\nhighest rate ${show(highest)} commands/s; ${share} % of it during the phases. Milliseconds:\n`);
    console.log(phasesTable(results));
    console.log(`\ndigest of the points and the dump before the phases ${answers}, of the nodes afterwards ${digest}`);
    writeResult(given, { machine, fleet: describeFleet(fleet), highest, rate, phases: results, answers, digest });
  } finally {
    await server.stop();
  }
  printProfiles(given);
}

export const program: Program = {
  name: 'latency',
  summary:
    'How long do point queries and submissions wait while commands arrive at 80 % of the highest rate, and beside dumps?',
  options: {
    nodes: { value: 'N', default: '300', small: '6', doc: 'nodes in the store' },
    part: { value: 'F', default: '0.8', doc: 'part of the highest rate at which commands arrive' },
    rate: {
      value: 'N',
      doc: 'commands a second that arrive, instead of a part of the highest rate: to compare builds',
    },
    rest: {
      value: 'S',
      default: '15',
      small: '0',
      doc: 'seconds for which the server has nothing more to do when the phases begin',
    },
    seconds: { value: 'N', default: '10', small: '0.5', doc: 'length of each phase' },
    ...fleetOptions,
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
