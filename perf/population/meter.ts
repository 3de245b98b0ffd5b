// What a simulated population has sent and asked so far, and how long it waited: a line now and then while it runs, in the form that the
// benchmark of PuppetDB prints, and a table at the end.

import { show, sum, table, waitsOf } from '../lib/figures.ts';

const EVERY_MS = 5000;
/** Of the interval between runs that a rate is expressed in, whatever the population's own is. */
const USUAL_INTERVAL_S = 1800;
/** Errors whose texts are printed. */
const ERRORS_TOLD = 5;

/** What is counted each by itself. */
export type Sent = 'facts' | 'catalog' | 'report' | 'query';

export class Meter {
  readonly #times: Readonly<Record<Sent, number[]>> = { facts: [], catalog: [], report: [], query: [] };
  readonly #perRun: number;
  readonly #timer: NodeJS.Timeout;
  readonly #last = { at: performance.now(), commands: 0, queries: 0, errors: 0 };
  errors = 0;

  /** `perRun`: commands of a host's run; 0 where none are sent. */
  constructor(perRun: number) {
    this.#perRun = perRun;
    this.#timer = setInterval(() => console.error(this.#line()), EVERY_MS);
    this.#timer.unref();
  }

  /** One was accepted, or answered, after so many milliseconds. */
  took(sent: Sent, ms: number): void {
    this.#times[sent].push(ms);
  }

  failed(error: Error): void {
    this.errors++;
    if (this.errors <= ERRORS_TOLD) console.error(error.message);
  }

  get commands(): number {
    const { facts, catalog, report } = this.#times;
    return facts.length + catalog.length + report.length;
  }

  get queries(): number {
    return this.#times.query.length;
  }

  /** Nodes with a run each half an hour that send so many commands a second. */
  nodesAt(commandsPerSecond: number): number {
    return this.#perRun === 0 ? 0 : (commandsPerSecond / this.#perRun) * USUAL_INTERVAL_S;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Since the last line. */
  #line(): string {
    const { at, commands, queries, errors } = this.#last;
    const now = { at: performance.now(), commands: this.commands, queries: this.queries, errors: this.errors };
    Object.assign(this.#last, now);
    const seconds = (now.at - at) / 1000;
    const rate = (now.commands - commands) / seconds;
    const asked = this.#times.query.slice(queries);
    const mean = asked.length === 0 ? 0 : sum(asked) / asked.length / 1000;
    return (
      `${show(rate)} cmd/s (~${this.nodesAt(rate).toFixed(0)} nodes @ 30m) | ` +
      `${(asked.length / seconds).toFixed(2)} q/s ${mean.toFixed(2)} s/q | ${now.errors - errors} err`
    );
  }

  /** Milliseconds that each kind waited. */
  table(): string {
    const rows = Object.entries(this.#times)
      .filter(([, times]) => times.length > 0)
      .map(([sent, times]) => {
        const { count, p50, p95, p99, worst } = waitsOf(times);
        return [sent, String(count), show(p50), show(p95), show(p99), show(worst)];
      });
    return table(['waited, ms', 'number', 'p50', 'p95', 'p99', 'worst'], rows);
  }

  /** The same for a result. */
  toJSON(): object {
    const waits = Object.entries(this.#times).map(([sent, times]) => [sent, waitsOf(times)]);
    return { ...Object.fromEntries(waits), errors: this.errors };
  }
}
