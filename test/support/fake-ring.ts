// The ring in miniature, for what stands above it: it remembers what it was given, and settles as it is told.

import type { CommandOutcome } from '../../engine/ingest/command/types.ts';
import {
  type Accepted,
  type CommandRing,
  type Maintenance,
  MaintenanceStopped,
  type Submission,
  type SubmissionRefused,
} from '../../workers/types.ts';

/** Rejects the steps that run when maintenance is ended. */
function newEnd(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject!: (error: Error) => void;
  const promise = new Promise<never>((_, refuse) => (reject = refuse));
  promise.catch(() => {});
  return { promise, reject };
}

export class FakeRing implements CommandRing {
  depth = 0;
  busyPartitions = 0;
  healthy = true;
  readonly submissions: Submission[] = [];
  /** Whether who submitted them waits. */
  readonly waits: boolean[] = [];
  readonly steps: Maintenance[] = [];
  refusal: SubmissionRefused | null = null;
  /** Of every command. */
  outcome: Promise<CommandOutcome> = Promise.resolve({
    kind: 'processed',
    seq: 1,
    detail: 'stored',
    certname: 'a',
    hash: null,
  });
  /** Called before a command is accepted. */
  onSubmit: (submission: Submission) => Promise<void> | void = () => {};
  /** Called before a step of maintenance ends. */
  onMaintain: (step: Maintenance) => Promise<void> | void = () => {};
  readonly #ended = newEnd();

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    if (this.refusal !== null) throw this.refusal;
    await this.onSubmit(submission);
    this.submissions.push(submission);
    this.waits.push(wait);
    return { seq: this.submissions.length, outcome: wait ? this.outcome : null };
  }

  /** What was submitted. */
  text(index = 0): string {
    return Buffer.from(this.submissions[index]?.body ?? []).toString('utf8');
  }

  async maintain(step: Maintenance): Promise<number> {
    this.steps.push(step);
    await Promise.race([this.onMaintain(step), this.#ended.promise]);
    return 1;
  }

  endMaintenance(): void {
    this.#ended.reject(new MaintenanceStopped());
  }

  async stop(): Promise<void> {}
}
