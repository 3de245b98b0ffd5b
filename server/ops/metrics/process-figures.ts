// Figures of the process that clients of a JVM ask for, with the closest equivalents this runtime has: heap of the main
// thread, everything else of the resident memory as non-heap, threads and descriptors from the operating system, garbage
// collections as the engine reports them. Where a figure does not exist the value is -1, as Java writes "undefined".

import { readdirSync } from 'node:fs';
import { arch, availableParallelism, freemem, hostname, loadavg, platform, release, totalmem } from 'node:os';
import { constants, PerformanceObserver, performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
import { memoryUsage } from '../../../workers/system/process-memory.ts';
import { filesAllowed } from '../../system-limits.ts';

export interface Usage {
  readonly init: number;
  readonly committed: number;
  readonly max: number;
  readonly used: number;
}

interface CollectorFigures {
  readonly name: string;
  readonly count: number;
  readonly totalMs: number;
  /** null before the first collection. */
  readonly lastMs: number | null;
}

interface Collector {
  readonly name: string;
  readonly kinds: readonly number[];
  count: number;
  totalMs: number;
  lastMs: number | null;
}

/**
 * Samples start with `start` and end with `stop`; everything else may be asked at any time. `cpuInterval` is the time
 * between samples of processor use, milliseconds.
 */
export class ProcessFigures {
  readonly #cpuInterval: number;
  readonly #initialHeap = getHeapStatistics().total_heap_size;
  readonly #collectors: readonly Collector[] = [
    { name: 'Scavenge', kinds: [constants.NODE_PERFORMANCE_GC_MINOR], count: 0, totalMs: 0, lastMs: null },
    {
      name: 'MarkSweepCompact',
      kinds: [constants.NODE_PERFORMANCE_GC_MAJOR, constants.NODE_PERFORMANCE_GC_INCREMENTAL],
      count: 0,
      totalMs: 0,
      lastMs: null,
    },
  ];
  readonly #poolPeaks = new Map<string, number>();
  #observer: PerformanceObserver | null = null;
  #sampler: NodeJS.Timeout | null = null;
  #peakThreads = 0;
  #cpu = process.cpuUsage();
  #gcMs = 0;
  #sampledAt = performance.now();
  #cpuUsage = 0;
  #gcCpuUsage = 0;
  #utilization = performance.eventLoopUtilization();

  constructor(cpuInterval: number) {
    this.#cpuInterval = cpuInterval;
  }

  start(): void {
    this.#observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const kind = (entry as unknown as { detail?: { kind?: number } }).detail?.kind ?? 0;
        const collector = this.#collectors.find((candidate) => candidate.kinds.includes(kind));
        if (collector === undefined) continue;
        collector.count++;
        collector.totalMs += entry.duration;
        collector.lastMs = entry.duration;
      }
    });
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#sampler = setInterval(() => this.#sample(), this.#cpuInterval);
    this.#sampler.unref();
  }

  stop(): void {
    this.#observer?.disconnect();
    this.#observer = null;
    if (this.#sampler !== null) clearInterval(this.#sampler);
    this.#sampler = null;
  }

  heap(): Usage {
    const { total_heap_size: committed, heap_size_limit: max, used_heap_size: used } = getHeapStatistics();
    return { init: this.#initialHeap, committed, max, used };
  }

  /** Bytes of memory that the process really has. */
  resident(): number {
    return memoryUsage()?.rss ?? -1;
  }

  /** Threads' own heaps, buffers, code and mapped files: what is resident beside the main thread's heap. */
  nonHeap(): Usage {
    const usage = memoryUsage();
    const used = usage === null ? -1 : Math.max(0, usage.rss - usage.heapTotal);
    return { init: 0, committed: used, max: -1, used };
  }

  buffers(): { readonly count: number; readonly used: number } {
    return { count: -1, used: memoryUsage()?.arrayBuffers ?? -1 };
  }

  pools(): readonly { readonly name: string; readonly usage: Usage; readonly peak: Usage }[] {
    return getHeapSpaceStatistics().map(({ space_name: name, space_size: committed, space_used_size: used }) => {
      const peak = Math.max(this.#poolPeaks.get(name) ?? 0, used);
      this.#poolPeaks.set(name, peak);
      const usage = { init: 0, committed, max: -1, used };
      return { name, usage, peak: { ...usage, committed: Math.max(committed, peak), used: peak } };
    });
  }

  collectors(): readonly CollectorFigures[] {
    return this.#collectors;
  }

  /** Thread ids of the operating system; only this one where it does not tell. */
  threadIds(): readonly number[] {
    let ids: number[];
    try {
      ids = readdirSync('/proc/self/task').map(Number);
    } catch {
      ids = [process.pid];
    }
    this.#peakThreads = Math.max(this.#peakThreads, ids.length);
    return ids;
  }

  threads(): { readonly count: number; readonly peak: number } {
    const count = this.threadIds().length;
    return { count, peak: this.#peakThreads };
  }

  descriptors(): { readonly used: number; readonly max: number } {
    const allowed = filesAllowed();
    try {
      return { used: readdirSync('/proc/self/fd').length, max: Number.isFinite(allowed) ? allowed : -1 };
    } catch {
      return { used: -1, max: -1 };
    }
  }

  /** Percent of all processors, over the last sampling interval. */
  processor(): { readonly usage: number; readonly collection: number } {
    return { usage: this.#cpuUsage, collection: this.#gcCpuUsage };
  }

  /** Share of the time since the last call that the main thread was busy, 0 to 1. */
  utilization(): number {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    return utilization;
  }

  /** Nanoseconds of processor time that the process used. */
  processorTime(): { readonly total: number; readonly user: number } {
    const { user, system } = process.cpuUsage();
    return { total: (user + system) * 1000, user: user * 1000 };
  }

  uptimeMs(): number {
    return Math.round(process.uptime() * 1000);
  }

  startTimeMs(): number {
    return Math.round(performance.timeOrigin);
  }

  system() {
    return {
      name: platform(),
      release: release(),
      architecture: arch(),
      host: hostname(),
      processors: availableParallelism(),
      load: loadavg()[0] ?? -1,
      memoryTotal: totalmem(),
      memoryFree: freemem(),
    };
  }

  #sample(): void {
    const now = performance.now();
    const cpu = process.cpuUsage(this.#cpu);
    const gcMs = this.#collectors.reduce((sum, collector) => sum + collector.totalMs, 0);
    const span = (now - this.#sampledAt) * availableParallelism();
    this.#cpuUsage = Math.min(100, ((cpu.user + cpu.system) / 1000 / span) * 100);
    this.#gcCpuUsage = Math.min(100, ((gcMs - this.#gcMs) / span) * 100);
    this.#cpu = process.cpuUsage();
    this.#gcMs = gcMs;
    this.#sampledAt = now;
    this.threadIds();
  }
}
