// The floor of a command: unpacking its bytes once, parsing them once, hashing them once, and its share of a durable append, in
// processor time of this process.

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, sum } from './figures.ts';
import type { Kind } from './fleet.ts';
import { hash, parse, unpack } from './floor-work.ts';
import type { Prepared } from './load.ts';

export const floorSteps = ['gunzip', 'parse', 'hash', 'append'] as const;
type FloorStep = (typeof floorSteps)[number];

interface FloorResult {
  readonly commands: number;
  /** Mean bytes of JSON, and as sent. */
  readonly plainBytes: number;
  readonly sentBytes: number;
  /** Milliseconds of processor time per command, one value for each round. */
  readonly steps: Readonly<Record<FloorStep, readonly number[]>>;
  /** Milliseconds on the clock of one durable append, shared by a group. */
  readonly appendClock: number;
}

/** The sum of the steps' medians: ms of processor time per command. */
export function floorOf(result: FloorResult): number {
  return sum(floorSteps.map((step) => median(result.steps[step])));
}

/** Mean of the floors of several kinds, weighted by how many commands of each there are. */
export function meanFloor(results: ReadonlyMap<Kind, FloorResult>, counts: ReadonlyMap<Kind, number>): number {
  let total = 0;
  let commands = 0;
  for (const [kind, count] of counts) {
    total += floorOf(results.get(kind)!) * count;
    commands += count;
  }
  return total / commands;
}

/** Measures bodies of one kind. `group`: commands that share one flush. */
function measureFloor(bodies: readonly Buffer[], rounds: number, group: number): FloorResult {
  const plain = bodies.map(unpack);
  const steps: Record<FloorStep, number[]> = { gunzip: [], parse: [], hash: [], append: [] };
  const clocks: number[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'muster-floor-'));
  try {
    // The first round only warms up.
    for (let round = -1; round < rounds; round++) {
      const gunzipMs = cpuMsOf(() => {
        for (const body of bodies) unpack(body);
      });
      const parseMs = cpuMsOf(() => {
        for (const bytes of plain) parse(bytes);
      });
      const hashMs = cpuMsOf(() => {
        for (const bytes of plain) hash(bytes);
      });
      const start = performance.now();
      const appendMs = cpuMsOf(() => appendAll(join(dir, String(round)), bodies, group));
      if (round < 0) continue;
      clocks.push((performance.now() - start) / bodies.length);
      steps.gunzip.push(gunzipMs / bodies.length);
      steps.parse.push(parseMs / bodies.length);
      steps.hash.push(hashMs / bodies.length);
      steps.append.push(appendMs / bodies.length);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return {
    commands: bodies.length,
    plainBytes: sum(plain.map((bytes) => bytes.length)) / bodies.length,
    sentBytes: sum(bodies.map((body) => body.length)) / bodies.length,
    steps,
    appendClock: median(clocks),
  };
}

/** A sample of a run, evenly spread over its nodes, measured kind by kind. */
export function measureRunFloor(
  requests: readonly Prepared[],
  options: { readonly sample: number; readonly rounds: number; readonly group: number },
): Map<Kind, FloorResult> {
  const byKind = new Map<Kind, Buffer[]>();
  for (const { kind, body } of requests) byKind.set(kind, [...(byKind.get(kind) ?? []), body]);
  const results = new Map<Kind, FloorResult>();
  for (const [kind, bodies] of byKind) {
    const step = Math.max(1, bodies.length / options.sample);
    const sample: Buffer[] = [];
    for (let at = 0; at < bodies.length; at += step) sample.push(bodies[Math.floor(at)]!);
    results.set(kind, measureFloor(sample, options.rounds, options.group));
  }
  return results;
}

function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function appendAll(path: string, bodies: readonly Buffer[], group: number): void {
  const header = Buffer.alloc(96);
  const file = openSync(path, 'w');
  for (let i = 0; i < bodies.length; i++) {
    writeSync(file, header);
    writeSync(file, bodies[i]!);
    if ((i + 1) % group === 0 || i === bodies.length - 1) fdatasyncSync(file);
  }
  closeSync(file);
}
