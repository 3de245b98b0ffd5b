// A stand-in for the ring while it starts: the listener is up first, so that clients get a 503 and health checks an answer
// instead of a refused connection. Until the real thing is there, commands are refused.

import {
  type Accepted,
  type CommandRing,
  type Maintenance,
  type Submission,
  SubmissionRefused,
} from '../workers/types.ts';

const STARTING_TEXT = 'the server is starting';

export class DeferredRing implements CommandRing {
  #ring: CommandRing | null = null;

  attach(ring: CommandRing): void {
    this.#ring = ring;
  }

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    if (this.#ring === null) throw new SubmissionRefused('unavailable', STARTING_TEXT, 1);
    return this.#ring.submit(submission, wait);
  }

  async maintain(step: Maintenance): Promise<number> {
    if (this.#ring === null) throw new Error(STARTING_TEXT);
    return this.#ring.maintain(step);
  }

  endMaintenance(): void {
    this.#ring?.endMaintenance();
  }

  get depth(): number {
    return this.#ring?.depth ?? 0;
  }

  get busyPartitions(): number {
    return this.#ring?.busyPartitions ?? 0;
  }

  get healthy(): boolean {
    return this.#ring?.healthy ?? false;
  }

  async stop(): Promise<void> {
    await this.#ring?.stop();
  }
}
