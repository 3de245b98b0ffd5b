// The machine that figures were taken on, and how much of it others used meanwhile. Figures without this mean little:
// most machines that benchmarks run on are shared.

import { readFileSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os';

/** Milliseconds of a tick in /proc: USER_HZ is 100 on every Linux. */
export const TICK_MS = 10;

/** The magic number of file systems in memory. */
const TMPFS = 0x01021994;

/** One line for the head of a result. */
export function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown processor';
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(' ');
  const memory = statfsSync(tmpdir()).type === TMPFS ? 'temporary folders in memory, ' : '';
  return (
    `${availableParallelism()} cores ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, ` +
    `Node ${process.version}, ${memory}load average ${load}, ${new Date().toISOString().slice(0, 16)}Z`
  );
}

/** Processor time that the whole machine has spent since it was started, ms. NaN where there is no /proc. */
function machineCpuMs(): number {
  try {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number);
    return (user! + nice! + system! + irq! + softirq! + steal!) * TICK_MS;
  } catch {
    return Number.NaN;
  }
}

/** Tells after a while which share of the machine neither this process nor the measured one has used. */
export class OthersWatch {
  readonly #start = performance.now();
  readonly #machine = machineCpuMs();
  readonly #own = process.cpuUsage();

  /** Between 0 and 1. */
  share(serverCpuMs: number): number {
    const own = process.cpuUsage(this.#own);
    const others = machineCpuMs() - this.#machine - (own.user + own.system) / 1000 - serverCpuMs;
    const whole = (performance.now() - this.#start) * availableParallelism();
    return Math.min(1, Math.max(0, others / whole));
  }
}
