// The query pool as the routes know it, in miniature: it plays a script.

import type { QueryHead, QueryRequest, QuerySettings } from '../../../engine/query/request.ts';
import type { QueryHandle, QueryHandlers, QueryPool } from '../../../workers/types.ts';

export interface ScriptedRun {
  readonly request: QueryRequest;
  readonly settings: QuerySettings;
  readonly handlers: QueryHandlers;
  granted: number;
  cancelled: number;
}

/** Remembers what it was asked, and plays the script for each. */
export class ScriptedPool implements QueryPool {
  readonly runs: ScriptedRun[] = [];
  play: (run: ScriptedRun) => void;

  constructor(play: (run: ScriptedRun) => void) {
    this.play = play;
  }

  run(request: QueryRequest, settings: QuerySettings, handlers: QueryHandlers): QueryHandle {
    const run: ScriptedRun = { request, settings, handlers, granted: 0, cancelled: 0 };
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
