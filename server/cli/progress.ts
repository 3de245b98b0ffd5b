// A progress bar on standard error. Nothing is written when that is not a terminal.

import type { Terminal } from './command.ts';

export interface Progress {
  /** `done` of the total that was given at the start (or of `total`, when it has become known or changed). */
  update(done: number, total?: number): void;
  /** Removes the bar; `text` (with what was done) stays in its place. */
  finish(text?: string): void;
}

const INTERVAL_MS = 100;
const BAR_WIDTH = 24;

interface ProgressOptions {
  readonly label: string;
  /** null: not known; the bar then only counts. */
  readonly total: number | null;
  readonly unit: 'bytes' | string;
  /** Milliseconds, monotonic. */
  readonly clock?: () => number;
}

export function startProgress(terminal: Terminal, options: ProgressOptions): Progress {
  if (!terminal.errIsTerminal) {
    return { update: () => {}, finish: () => {} };
  }
  const clock = options.clock ?? (() => performance.now());
  const started = clock();
  let last = Number.NEGATIVE_INFINITY;
  let { total } = options;
  return {
    update: (done, changed) => {
      if (changed !== undefined) total = changed;
      const now = clock();
      if (now - last < INTERVAL_MS) return;
      last = now;
      const line = progressLine(options, done, total, now - started);
      terminal.err(`\r\x1b[K${line.slice(0, Math.max(20, terminal.columns - 1))}`);
    },
    finish: (text) => terminal.err(`\r\x1b[K${text === undefined ? '' : `${text}\n`}`),
  };
}

/** `import  [=====>          ]  31 %  12.3 MB of 40.0 MB  3.1 MB/s  9 s left` */
export function progressLine(options: ProgressOptions, done: number, total: number | null, elapsedMs: number): string {
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = `${amount(perSecond, options.unit)}/s`;
  if (total === null || total === 0) return `${options.label}  ${amount(done, options.unit)}  ${rate}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = `${'='.repeat(filled)}${filled < BAR_WIDTH ? '>' : ''}`.slice(0, BAR_WIDTH).padEnd(BAR_WIDTH);
  const left = perSecond > 0 ? `  ${timeLeft((total - done) / perSecond)} left` : '';
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `${options.label}  [${bar}] ${percent} %  ${amount(done, options.unit)} of ${amount(total, options.unit)}  ${rate}${left}`;
}

export function amount(value: number, unit: string): string {
  if (unit !== 'bytes') return `${Math.round(value)} ${unit}`;
  if (value < 1e6) return `${(value / 1e3).toFixed(1)} kB`;
  return value < 1e9 ? `${(value / 1e6).toFixed(1)} MB` : `${(value / 1e9).toFixed(2)} GB`;
}

function timeLeft(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(Math.max(0, seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
