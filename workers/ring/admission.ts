// Whether a submission may come in: limits on what is being written and what waits, and the state of the log. Every limit
// has a rule for being full: refuse, and say when to come back. Nothing is ever dropped.

import { type CommandStream, StreamUnavailable } from '../../engine/inbox/stream.ts';
import { messageOf } from '../../engine/reason.ts';
import type { Log } from '../log.ts';
import { SubmissionRefused } from '../types.ts';
import type { Entry } from './mailbox.ts';
import type { RingLimits } from './ring-options.ts';

const PROBE_MS = 1000;
/** How long a failed write keeps the inbox from being called well. */
const UNWELL_MS = 10_000;
const RETRY_AFTER_UNAVAILABLE = 5;
const RETRY_AFTER_MAX = 60;

export const stoppingRefusal = (): SubmissionRefused =>
  new SubmissionRefused('stopping', 'the service is shutting down', 5);

interface AdmissionOptions {
  readonly limits: RingLimits;
  readonly stream: CommandStream;
  /** Commands processed per second lately. */
  readonly rate: () => number;
  /** Commands that are to move to another partition. */
  readonly moving: () => number;
  /** Told how many commands are waiting, whenever that changes. */
  readonly onWaiting: (count: number) => void;
  readonly log: Log;
}

export class Admission {
  readonly #limits: RingLimits;
  readonly #stream: CommandStream;
  readonly #rate: () => number;
  readonly #moving: () => number;
  readonly #onWaiting: (count: number) => void;
  readonly #log: Log;
  readonly #waitingByCertname = new Map<string, number>();
  #writing = 0;
  #writingSize = 0;
  /** Commands in the mailboxes and at the actors, and the bytes of those that will be executed. */
  #waiting = 0;
  #waitingSize = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #probe: NodeJS.Timeout | null = null;

  constructor({ limits, stream, rate, moving, onWaiting, log }: AdmissionOptions) {
    this.#limits = limits;
    this.#stream = stream;
    this.#rate = rate;
    this.#moving = moving;
    this.#onWaiting = onWaiting;
    this.#log = log;
    // Opened while it could not be written: it shall be tried again also when nobody sends anything.
    if (stream.trouble !== null) this.failed(stream.trouble);
  }

  /** Submissions are not refused for the state of the log, and were not a moment ago. */
  get isWell(): boolean {
    return this.#stream.trouble === null && performance.now() - this.#failedAt >= UNWELL_MS;
  }

  /** Throws SubmissionRefused when there is no room. */
  check(certname: string, size: number): void {
    const { trouble } = this.#stream;
    if (trouble !== null) throw this.failed(trouble);
    const { waitingMax, waitingPerCertnameMax, waitingSizeMax, writingSizeMax } = this.#limits;
    const count = this.#waiting + this.#writing + this.#moving();
    if (count >= waitingMax) throw this.#full(`${count} commands are waiting to be processed`);
    const own = this.#waitingByCertname.get(certname) ?? 0;
    if (own >= waitingPerCertnameMax) throw this.#full(`${own} commands of ${certname} are waiting to be processed`);
    // A command larger than a limit is still taken when nothing else is there.
    if (this.#waiting > 0 && this.#waitingSize + this.#writingSize + size > waitingSizeMax) {
      throw this.#full(`${this.#waitingSize} bytes of commands are waiting to be processed`);
    }
    if (this.#writing > 0 && this.#writingSize + size > writingSizeMax) {
      throw this.#full(`${this.#writingSize} bytes of commands are waiting to be written`);
    }
  }

  writing(size: number): void {
    this.#writing++;
    this.#writingSize += size;
  }

  written(size: number): void {
    this.#writing--;
    this.#writingSize -= size;
  }

  entered({ obsolete, record }: Entry): void {
    const { certname } = record.envelope;
    this.#onWaiting(++this.#waiting);
    this.#waitingByCertname.set(certname, (this.#waitingByCertname.get(certname) ?? 0) + 1);
    if (!obsolete) this.#waitingSize += record.bytes;
  }

  /** A waiting command became obsolete: it will not be executed. */
  superseded({ record }: Entry): void {
    this.#waitingSize -= record.bytes;
  }

  left({ obsolete, record }: Entry): void {
    const { certname } = record.envelope;
    const own = this.#waitingByCertname.get(certname) ?? 1;
    if (own === 1) this.#waitingByCertname.delete(certname);
    else this.#waitingByCertname.set(certname, own - 1);
    this.#onWaiting(--this.#waiting);
    if (!obsolete) this.#waitingSize -= record.bytes;
  }

  /** What to tell the sender of a command that the stream did not take. */
  failed(error: unknown): Error {
    if (error instanceof RangeError) return error;
    const message = messageOf(error);
    const now = performance.now();
    if (now - this.#failedAt > UNWELL_MS) this.#log.error(`commands are refused: ${message}`);
    this.#failedAt = now;
    if (this.#stream.trouble !== null) this.#startProbing();
    const text = error instanceof StreamUnavailable ? message : `the command log cannot be written: ${message}`;
    return new SubmissionRefused('unavailable', text, RETRY_AFTER_UNAVAILABLE);
  }

  close(): void {
    if (this.#probe !== null) clearInterval(this.#probe);
    this.#probe = null;
  }

  /** Back when about a tenth of what waits has been processed. */
  #full(message: string): SubmissionRefused {
    const seconds = Math.ceil((this.#waiting + this.#moving()) / 10 / Math.max(this.#rate(), 1));
    return new SubmissionRefused('full', message, Math.min(Math.max(seconds, 1), RETRY_AFTER_MAX));
  }

  /** Asks the stream to recover, now and then, until it has. */
  #startProbing(): void {
    if (this.#probe !== null) return;
    this.#probe = setInterval(() => void this.#tryToRecover(), PROBE_MS);
    this.#probe.unref();
  }

  async #tryToRecover(): Promise<void> {
    const recovered = await this.#stream.recover();
    if (!recovered || this.#probe === null) return;
    this.close();
    this.#failedAt = Number.NEGATIVE_INFINITY;
    this.#log.info('the command log can be written again');
  }
}
