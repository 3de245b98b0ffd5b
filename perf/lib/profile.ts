// Reads V8 CPU profiles (node --cpu-prof writes one for each thread) and says in which folders and functions the time went.
// Samples are taken by the clock: on a busy machine, a thread that waits for a core counts as doing what it was doing.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { show, table } from './figures.ts';
import type { Given } from './options.ts';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds. */
  readonly timeDeltas: readonly number[];
}

interface ProfileSummary {
  /** Milliseconds in which the thread did something. */
  readonly busyMs: number;
  /** Own milliseconds by place, largest first. */
  readonly areas: readonly (readonly [place: string, ms: number])[];
  readonly functions: readonly (readonly [place: string, ms: number])[];
}

const IDLE = new Set(['(idle)', '(program)', '(root)']);

/** `engine/ingest/apply.js`, `node:zlib`, `package lmdb`, or `(garbage collector)`. */
function fileOf({ functionName, url }: ProfileNode['callFrame']): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(built in)';
  const inside = /\/dist\/(.*)$/.exec(url)?.[1];
  const dependency = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  return dependency !== undefined ? `package ${dependency}` : (inside ?? url);
}

/** The folder of a file of ours; others as they are. */
function areaOf(file: string): string {
  const slash = file.lastIndexOf('/');
  return file.startsWith('node:') || file.startsWith('package ') || slash < 0 ? file : file.slice(0, slash);
}

export function summarize(profile: Profile): ProfileSummary {
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const areas = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy = 0;
  for (let i = 0; i < profile.samples.length; i++) {
    const frame = frames.get(profile.samples[i]!);
    if (frame === undefined || IDLE.has(frame.functionName)) continue;
    const ms = profile.timeDeltas[i]! / 1000;
    const file = fileOf(frame);
    const place = `${frame.functionName || '(anonymous)'} ${file}${frame.url === '' ? '' : `:${frame.lineNumber + 1}`}`;
    busy += ms;
    const area = areaOf(file);
    areas.set(area, (areas.get(area) ?? 0) + ms);
    functions.set(place, (functions.get(place) ?? 0) + ms);
  }
  const sorted = (map: Map<string, number>) => [...map].sort(([, a], [, b]) => b - a);
  return { busyMs: busy, areas: sorted(areas), functions: sorted(functions) };
}

const THREADS_SHOWN = 2;
const LINES_SHOWN = 20;

/** Prints the busiest threads of the profiles that --profile asked for. */
export function printProfiles(given: Given): void {
  const dir = given.text('profile');
  if (dir === null) return;
  const names = readdirSync(dir).filter((name) => name.endsWith('.cpuprofile'));
  const all = names.map((name) => ({
    name,
    ...summarize(JSON.parse(readFileSync(join(dir, name), 'utf8')) as Profile),
  }));
  all.sort((a, b) => b.busyMs - a.busyMs);
  for (const { name, busyMs, areas, functions } of all.slice(0, THREADS_SHOWN)) {
    const rows = (list: ProfileSummary['areas']): string[][] =>
      list.slice(0, LINES_SHOWN).map(([place, ms]) => [place, show(ms), show((ms / busyMs) * 100)]);
    console.log(`\n${name}: ${show(busyMs)} ms busy\n`);
    console.log(table(['place', 'own ms', '%'], rows(areas)));
    console.log(`\n${table(['function', 'own ms', '%'], rows(functions))}`);
  }
}
