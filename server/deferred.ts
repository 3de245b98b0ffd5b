// Stand-ins for the ring and the query pool while they start: the listener is up first, so that clients get a 503 and
// health checks an answer instead of a refused connection. Until the real thing is there, commands are refused and
// queries answered with 503.

import type { QueryRequest, QuerySettings } from '../engine/query/request.ts';
import {
  type Accepted,
  type CommandRing,
  type Maintenance,
  type QueryHandle,
  type QueryHandlers,
  type QueryPool,
  type Submission,
  SubmissionRefused,
} from '../workers/types.ts';

const startingText = 'the server is starting';

export class DeferredRing implements CommandRing {
  #ring: CommandRing | null = null;

  attach(ring: CommandRing): void {
    this.#ring = ring;
  }

  async submit(submission: Submission, wait: boolean): Promise<Accepted> {
    if (this.#ring === null) throw new SubmissionRefused('unavailable', startingText, 1);
    return this.#ring.submit(submission, wait);
  }

  async maintain(step: Maintenance): Promise<number> {
    if (this.#ring === null) throw new Error(startingText);
    return this.#ring.maintain(step);
  }

  get depth(): number {
    return this.#ring?.depth ?? 0;
  }

  get healthy(): boolean {
    return this.#ring?.healthy ?? false;
  }

  async stop(): Promise<void> {
    await this.#ring?.stop();
  }
}

const noHandle: QueryHandle = { grant: () => {}, cancel: () => {} };

export class DeferredPool implements QueryPool {
  #pool: QueryPool | null = null;

  attach(pool: QueryPool): void {
    this.#pool = pool;
  }

  run(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers): QueryHandle {
    if (this.#pool !== null) return this.#pool.run(request, settings, handlers);
    handlers.onHead({ status: 503, contentType: 'text/plain;charset=utf-8', headers: [], body: startingText });
    handlers.onEnd();
    handlers.onLeft?.(null);
    return noHandle;
  }

  async stop(): Promise<void> {
    await this.#pool?.stop();
  }
}
