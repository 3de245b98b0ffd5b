// Processor time and memory of process trees, read from /proc. A tree is given by its root: Muster is one process, a
// PuppetDB is a Java process and a tree of PostgreSQL's.

import { readdirSync, readFileSync } from 'node:fs';
import { quantile } from './figures.ts';
import { TICK_MS } from './machine.ts';

interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** Its own time. */
  readonly ownMs: number;
  /** That of children it has waited for; of a thread, those of its whole process. */
  readonly childrenMs: number;
}

function statOf(path: string, pid: number): Stat | null {
  try {
    const text = readFileSync(path, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ms = (first: number): number => (Number(fields[first]) + Number(fields[first + 1])) * TICK_MS;
    return { pid, parent: Number(fields[1]), ownMs: ms(11), childrenMs: ms(13) };
  } catch {
    return null; // It ended meanwhile.
  }
}

function kilobytes(path: string, key: string): number {
  try {
    return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

export interface Memory {
  /** MiB that belong to these processes, pages shared with others counted by their share. Includes mapped files. */
  readonly pss: number;
  /** MiB of memory of their own that is no file: heaps, buffers, stacks. */
  readonly anonymous: number;
}

export class Processes {
  readonly #roots: readonly number[];

  constructor(roots: readonly number[]) {
    this.#roots = roots;
  }

  get known(): boolean {
    return this.#roots.length > 0;
  }

  cpuMs(): number {
    let total = 0;
    for (const { ownMs, childrenMs } of this.#tree()) total += ownMs + childrenMs;
    return this.known ? total : Number.NaN;
  }

  /** NaN, as all figures here, where no process is known. */
  memory(): Memory {
    if (!this.known) return { pss: Number.NaN, anonymous: Number.NaN };
    let pss = 0;
    let anonymous = 0;
    for (const { pid } of this.#tree()) {
      pss += kilobytes(`/proc/${pid}/smaps_rollup`, 'Pss');
      anonymous += kilobytes(`/proc/${pid}/status`, 'RssAnon');
    }
    return { pss: pss / 1024, anonymous: anonymous / 1024 };
  }

  /** Highest resident memory that the root processes ever had, MiB. */
  peakResident(): number {
    if (!this.known) return Number.NaN;
    let total = 0;
    for (const pid of this.#roots) total += kilobytes(`/proc/${pid}/status`, 'VmHWM');
    return total / 1024;
  }

  /** Processor time by thread of the first root, ms. The main thread has the process's number. */
  threadCpuMs(): Map<number, number> {
    const out = new Map<number, number>();
    const root = this.#roots[0];
    if (root === undefined) return out;
    for (const name of readdirSync(`/proc/${root}/task`)) {
      const stat = statOf(`/proc/${root}/task/${name}/stat`, Number(name));
      if (stat !== null) out.set(Number(name), stat.ownMs);
    }
    return out;
  }

  #tree(): Stat[] {
    const roots = this.#roots.map((pid) => statOf(`/proc/${pid}/stat`, pid)).filter((stat) => stat !== null);
    if (roots.length === 0) return [];
    const all: Stat[] = [];
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const stat = statOf(`/proc/${name}/stat`, Number(name));
      if (stat !== null) all.push(stat);
    }
    const tree = roots;
    for (const one of tree)
      tree.push(...all.filter(({ parent, pid }) => parent === one.pid && !tree.some((t) => t.pid === pid)));
    return tree;
  }
}

interface MemorySample extends Memory {
  /** Milliseconds since the watch began. */
  readonly at: number;
}

/** Samples memory until it is stopped. */
export class MemoryWatch {
  readonly samples: MemorySample[] = [];
  readonly #processes: Processes;
  readonly #start = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(processes: Processes, periodMs: number) {
    this.#processes = processes;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), periodMs);
    this.#timer.unref();
  }

  /** The highest figures, each for itself. */
  stop(): Memory {
    clearInterval(this.#timer);
    this.#sample();
    const highest = (of: (sample: Memory) => number): number => quantile(this.samples.map(of), 1);
    return { pss: highest(({ pss }) => pss), anonymous: highest(({ anonymous }) => anonymous) };
  }

  #sample(): void {
    if (this.#processes.known) this.samples.push({ at: performance.now() - this.#start, ...this.#processes.memory() });
  }
}
