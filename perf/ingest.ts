// How many commands a second does the server take in, and what does one cost it? Four runs of a fleet, one after the other
// (first, changed, unchanged, reports only), each sent and processed to the end before the next. Every round has a new
// server with an empty store. Beside each run stands the floor of its own bytes (lib/floor.ts), measured just before it, and what
// the floor server (floor-server.ts) takes of them in a second, measured at the end of each round.

import { Client } from './lib/client.ts';
import { median, show, spread, table } from './lib/figures.ts';
import { describeFleet, fleetFor, fleetOptions } from './lib/fleet-options.ts';
import { History, type Prepared, prepareRun, type RunName, runNames, runTexts } from './lib/load.ts';
import { measureRun, type RunPlan, type RunResult, STAGES, sendAll } from './lib/measured-run.ts';
import { commonOptions, type Given, type Program, UsageError } from './lib/options.ts';
import { printProfiles } from './lib/profile.ts';
import { writeResult } from './lib/result.ts';
import { describeRun, serverFor, serverOptions, startFloorServer } from './lib/server.ts';

/** A run as the floor server took it. */
interface FloorServerResult {
  readonly processedPerSecond: number;
  /** Its processor time per command, ms. */
  readonly cpu: number;
}

interface RoundResult extends RunResult {
  readonly floorServer: FloorServerResult;
}

/** The same runs, one after the other, sent to a floor server. */
async function measureFloorServer(
  runs: readonly (readonly Prepared[])[],
  connections: number,
): Promise<FloorServerResult[]> {
  const server = await startFloorServer();
  try {
    const client = new Client(server, connections);
    const control = new Client(server, 1);
    const results: FloorServerResult[] = [];
    for (const requests of runs) {
      const cpuBefore = server.processes.cpuMs();
      const { elapsed } = await sendAll(client, control, requests, connections);
      const cpu = server.processes.cpuMs() - cpuBefore;
      results.push({ processedPerSecond: requests.length / elapsed, cpu: cpu / requests.length });
    }
    client.close();
    control.close();
    return results;
  } finally {
    await server.stop();
  }
}

function printResults(names: readonly RunName[], rounds: readonly (readonly RoundResult[])[]): void {
  const rows = names.map((run, i) => {
    const of = (pick: (result: RoundResult) => number): number[] => rounds.map((results) => pick(results[i]!));
    return [
      run,
      String(rounds[0]![i]!.commands),
      show(rounds[0]![i]!.plainBytes / 1e6),
      spread(of((r) => r.processedPerSecond)),
      `${show(median(of((r) => r.submitP50)))} / ${show(median(of((r) => r.submitP99)))}`,
      spread(of((r) => r.cpu)),
      [0, 1, 2].map((thread) => show(median(of((r) => r.threads[thread]!)))).join(' / '),
      spread(of((r) => r.floor)),
      spread(of((r) => r.cpu / r.floor)),
      `${show(median(of((r) => r.floorServer.processedPerSecond)))} / ${show(median(of((r) => r.floorServer.cpu)))}`,
      `${show(median(of((r) => r.peakPss)))} / ${show(median(of((r) => r.peakAnonymous)))}`,
      show(median(of((r) => r.diskPerNode / 1000))),
      show(median(of((r) => r.others * 100))),
    ];
  });
  const head = [
    'run',
    'commands',
    'MB JSON',
    'processed/s',
    'submit ms p50 / p99',
    'CPU ms per command',
    'main / busiest / other threads',
    'floor ms',
    'multiple',
    'floor server: processed/s / CPU ms',
    'peak MiB, all / anonymous',
    'disk KB per node',
    'others %',
  ];
  console.log(table(head, rows));
  console.log("\nThe server's own timers, mean ms per command:\n");
  const stages = Object.keys(STAGES);
  console.log(
    table(
      ['run', ...stages],
      names.map((run, i) => [
        run,
        ...stages.map((name) => spread(rounds.map((results) => results[i]!.stages[name] ?? Number.NaN))),
      ]),
    ),
  );
}

/** A run builds on those before it, so only the last ones can be left out. */
function runsOf(given: Given): RunName[] {
  const wanted = (given.text('runs') ?? '').split(',');
  const names = runNames.slice(0, wanted.length);
  if (wanted.join() !== names.join()) throw new UsageError(`--runs takes the first ones of ${runNames.join(',')}`);
  return names;
}

async function run(given: Given): Promise<void> {
  const external = given.text('url') !== null;
  const nodes = given.count('nodes', 1, 100_000);
  const rounds = external || given.text('data') !== null ? 1 : given.count('rounds', 1, 100);
  const connections = given.count('connections', 1, 512);
  const plan: RunPlan = {
    nodes,
    connections,
    ...(given.flag('small')
      ? { floorSample: Math.min(nodes, 2), floorRounds: 1, settle: 50 }
      : { floorSample: Math.min(nodes, 25), floorRounds: 3, settle: 1500 }),
  };
  const names = runsOf(given);
  const fleet = fleetFor(given);
  const machine = describeRun(given);
  console.log(machine);
  console.log(
    `${nodes} nodes, ${describeFleet(fleet)}; gzip, ${connections} connections; ${rounds} rounds: median (range)`,
  );

  const history = new History(fleet);
  const prepared = new Map<RunName, Prepared[]>();
  for (const name of names) prepared.set(name, await prepareRun(history, name, 0, nodes));

  const results: RoundResult[][] = [];
  const starts: number[] = [];
  let resident = 0;
  for (let round = 0; round < rounds; round++) {
    const server = await serverFor(given);
    const of: RunResult[] = [];
    try {
      starts.push(server.startMs);
      for (const name of names) {
        const result = await measureRun(server, name, prepared.get(name)!, plan);
        of.push(result);
        console.error(
          `round ${round + 1} ${name}: ${show(result.processedPerSecond)}/s, ${show(result.cpu)} ms CPU per command`,
        );
      }
      resident = Math.max(resident, server.processes.peakResident());
    } finally {
      await server.stop();
    }
    const floorServer = await measureFloorServer([...prepared.values()], connections);
    results.push(of.map((result, i) => ({ ...result, floorServer: floorServer[i]! })));
  }

  console.log(`\n${names.map((name) => `${name}: ${runTexts[name]}`).join('; ')}\n`);
  printResults(names, results);
  const digests = names.map((name, i) => `${name} ${[...new Set(results.map((of) => of[i]!.digest))].join(' and ')}`);
  console.log(`\nstart to running ${spread(starts)} ms; peak resident ${show(resident)} MiB`);
  console.log(`digests of the answers: ${digests.join(', ')}`);
  if (results.some((of) => of.some((result, i) => result.digest !== results[0]![i]!.digest))) {
    throw new Error('the rounds ended with different data');
  }
  printProfiles(given);
  writeResult(given, {
    machine,
    fleet: describeFleet(fleet),
    startMs: starts,
    peakResidentMiB: resident,
    rounds: results,
  });
}

export const program: Program = {
  name: 'ingest',
  summary: 'How many commands a second, at which cost in processor time, memory and disk?',
  options: {
    nodes: {
      value: 'N',
      default: '200',
      small: '4',
      doc: "nodes; a run's requests are held in memory, about 40 KB each",
    },
    rounds: { value: 'N', default: '3', small: '1', doc: 'rounds, each with a new server; one with --url or --data' },
    connections: { value: 'N', default: '8', doc: 'connections that submit at once' },
    runs: { value: 'NAME,NAME', default: runNames.join(','), doc: 'the first ones of these runs' },
    ...fleetOptions,
    ...serverOptions,
    ...commonOptions,
  },
  run,
};
