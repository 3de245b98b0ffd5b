// How a population of hosts sends: each a number of runs, as fast as the server takes them; or one run an interval, spread evenly over it,
// until told to end, with the pauses between a run's commands that agents make. No host is in two runs at a time.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { Client } from '../lib/client.ts';
import { prepare, submit } from '../lib/load.ts';
import { Random } from '../lib/random.ts';
import { Started } from '../lib/started.ts';
import type { Turns } from '../lib/turns.ts';
import type { Host, Step } from './host.ts';
import type { Meter } from './meter.ts';
import { ask } from './queriers.ts';

export interface Sending {
  readonly client: Client;
  /** Of commands on its connections. */
  readonly turns: Turns;
  readonly meter: Meter;
  readonly hosts: readonly Host[];
  /** No more is begun. */
  readonly ending: AbortSignal;
  readonly seed: number;
}

/** Which stream of randomness is for what. */
const FOR = { gaps: 10 } as const;

/** As compile servers compress what they send. */
const GZIP_LEVEL = 1;

/** A command whose turn has not come by the end is not sent. */
async function take({ client, turns, meter, ending }: Sending, step: Step): Promise<void> {
  if ('query' in step) {
    const { path, query } = step.query;
    const body = Buffer.from(JSON.stringify({ query }));
    const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
    await ask(client, meter, ending, { method: 'POST', path, headers, body });
    return;
  }
  const start = performance.now();
  await turns.begin();
  const waited = performance.now() - start;
  try {
    if (ending.aborted) return;
    const request = await prepare(step.command, GZIP_LEVEL);
    const sent = performance.now();
    await submit(client, request);
    meter.took(request.kind, waited + performance.now() - sent);
  } catch (error) {
    meter.failed(error as Error);
  } finally {
    turns.end();
  }
}

export interface Runs {
  /** Of each host. */
  readonly count: number;
  /** Hosts that send at a time. */
  readonly senders: number;
  /** Epoch ms of the last run, and ms over which all of them are spread: their producer's times, not those at which they are sent. */
  readonly end: number;
  readonly span: number;
}

/** Sends so many runs of each host. */
export async function sendRuns(sending: Sending, { count, senders, end, span }: Runs): Promise<void> {
  const { hosts, ending } = sending;
  const total = hosts.length * count;
  // Those that wait for their next run are at the places from `begun` to `hosts.length + returned`, around.
  const ring = [...hosts];
  let begun = 0;
  let returned = 0;
  const sender = async (): Promise<void> => {
    while (begun < hosts.length + returned && !ending.aborted) {
      const host = ring[begun++ % ring.length]!;
      for (const step of host.run(end - span + Math.round((span * begun) / total))) await take(sending, step);
      if (host.runs < count) ring[returned++ % ring.length] = host;
    }
  };
  await Promise.all(Array.from({ length: Math.min(senders, hosts.length) }, sender));
}

/** Seconds between two commands of a run: normally distributed, within bounds. */
const GAP = { mean: 5, deviation: 3, least: 0.5, most: 15 };

export function gapMs(random: Random): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
  return Math.min(GAP.most, Math.max(GAP.least, GAP.mean + GAP.deviation * normal)) * 1000;
}

/**
 * One run of each host an interval (ms). Resolves when it is told to end, with how many runs were left out because their host was still in
 * the one before.
 */
export async function sendOn(sending: Sending, intervalMs: number): Promise<number> {
  const { hosts, ending, seed } = sending;
  const random = new Random(seed, FOR.gaps);
  const busy = new Set<Host>();
  const started = new Started();
  let left = 0;
  const run = async (host: Host): Promise<void> => {
    busy.add(host);
    let isPaused = false;
    for (const step of host.run(Date.now())) {
      if (isPaused) await delay(gapMs(random), undefined, { signal: ending }).catch(() => {});
      await take(sending, step);
      if (ending.aborted) break;
      // Queries come right after each other, and right before their catalog.
      isPaused = 'command' in step;
    }
    busy.delete(host);
  };
  const start = performance.now();
  for (let next = 0; !ending.aborted && !started.hasFailed; next++) {
    const due = start + (next / hosts.length) * intervalMs;
    const wait = due - performance.now();
    // Also who is late lets others have their turn.
    await (wait > 0 ? delay(wait, undefined, { signal: ending }).catch(() => {}) : nextTurn());
    if (ending.aborted) break;
    const host = hosts[next % hosts.length]!;
    if (busy.has(host)) left++;
    else started.add(run(host));
  }
  await started.done();
  return left;
}
