// The two contracts the routes stand on, in miniature: a ring that remembers what it was given and settles as it is told,
// and a pool that plays a script.

import type { CommandOutcome } from '../../../engine/ingest/command/types.ts';
import type { QueryHead, QueryRequest, QuerySettings } from '../../../engine/query/request.ts';
import type {
  Accepted,
  CommandRing,
  QueryHandle,
  QueryHandlers,
  QueryPool,
  Submission,
  SubmissionRefused,
} from '../../../workers/types.ts';

export class FakeRing implements CommandRing {
  readonly submissions: Submission[] = [];
  readonly waits: boolean[] = [];
  readonly depth = 0;
  readonly busyPartitions = 0;
  readonly healthy = true;
  refusal: SubmissionRefused | null = null;
  outcome: Promise<CommandOutcome> = Promise.resolve({
    kind: 'processed',
    seq: 1,
    detail: 'stored',
    certname: 'a',
    hash: null,
  });

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    if (this.refusal !== null) throw this.refusal;
    // As the real one may: the memory changes hands.
    const body = structuredClone(submission.body, { transfer: [submission.body.buffer as ArrayBuffer] });
    this.submissions.push({ ...submission, body });
    this.waits.push(wait);
    return { seq: this.submissions.length, outcome: wait ? this.outcome : null };
  }

  endMaintenance(): void {}

  text(index = 0): string {
    return Buffer.from(this.submissions[index]?.body ?? []).toString('utf8');
  }

  async maintain(): Promise<number> {
    return 0;
  }

  async stop(): Promise<void> {}
}

export interface FakeRun {
  readonly request: QueryRequest;
  readonly settings: QuerySettings;
  readonly handlers: QueryHandlers;
  granted: number;
  cancelled: number;
}

/** Sends at most `credit` bytes ahead of what was granted, as the contract says. */
export class FakePool implements QueryPool {
  readonly runs: FakeRun[] = [];
  play: (run: FakeRun) => void;

  constructor(play: (run: FakeRun) => void) {
    this.play = play;
  }

  run(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers): QueryHandle {
    const run: FakeRun = { request, settings, handlers, granted: 0, cancelled: 0 };
    this.runs.push(run);
    setImmediate(() => this.play(run));
    return {
      grant: (bytes) => {
        run.granted += bytes;
      },
      cancel: () => {
        run.cancelled++;
      },
    };
  }
}

export const jsonHead = (body: string | null, status = 200): QueryHead => ({
  status,
  contentType: 'application/json;charset=utf-8',
  headers: [],
  body,
});
