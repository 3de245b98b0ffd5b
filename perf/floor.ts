// What a command costs at least: unpacking its bytes once, parsing them once, hashing them once, and its share of a durable
// append. A server that parses what it is sent cannot be cheaper; one that need not look at what did not change can.
//
// Processor time of this process (with its helper threads), not time on the clock: that is what other load on the machine
// disturbs least. The disk's own work is not in it.

import { digestOfParts } from './lib/digest.ts';
import { show, spread, table } from './lib/figures.ts';
import { describeFleet, fleetFor, fleetOptions } from './lib/fleet-options.ts';
import { floorOf, floorSteps, meanFloor, measureRunFloor } from './lib/floor.ts';
import { unpack } from './lib/floor-work.ts';
import { History, prepareRun } from './lib/load.ts';
import { describeMachine } from './lib/machine.ts';
import { commonOptions, type Given, type Program } from './lib/options.ts';
import { writeResult } from './lib/result.ts';

async function run(given: Given): Promise<void> {
  const nodes = given.count('nodes', 1, 10_000);
  const rounds = given.count('rounds', 1, 1000);
  const group = given.count('group', 1, 1000);
  const fleet = fleetFor(given);
  const requests = await prepareRun(new History(fleet), 'first', 0, nodes);
  const results = measureRunFloor(requests, { sample: nodes, rounds, group });

  console.log(describeMachine());
  console.log(`${nodes} nodes, ${describeFleet(fleet)}; ${rounds} rounds, a flush for every ${group} commands`);
  console.log('Milliseconds of processor time per command: median (smallest-largest round)\n');
  const rows = [...results].map(([kind, result]) => [
    kind,
    show(result.plainBytes / 1000),
    show(result.sentBytes / 1000),
    ...floorSteps.map((step) => spread(result.steps[step])),
    show(floorOf(result)),
    show(result.appendClock),
  ]);
  const head = ['kind', 'KB JSON', 'KB sent', 'gunzip', 'JSON.parse', 'SHA-1', 'append', 'floor', 'append, clock'];
  console.log(table(head, rows));
  const counts = new Map([...results].map(([kind, { commands }]) => [kind, commands]));
  const mean = meanFloor(results, counts);
  const digest = digestOfParts(requests.map(({ body }) => unpack(body)));
  console.log(`\nfloor of the mean command: ${show(mean)} ms; digest of the payloads ${digest}`);
  writeResult(given, { machine: describeMachine(), kinds: Object.fromEntries(results), mean, digest });
}

export const program: Program = {
  name: 'floor',
  summary: 'What does a command cost at least: one gunzip, one JSON.parse, one SHA-1, its share of a durable append?',
  options: {
    nodes: { value: 'N', default: '40', small: '3', doc: 'nodes whose first run is measured' },
    rounds: { value: 'N', default: '7', small: '2', doc: 'measured rounds over all commands' },
    group: { value: 'N', default: '8', doc: 'commands that share one flush: as many as there are connections' },
    ...fleetOptions,
    ...commonOptions,
  },
  run,
};
