// The recorded query cases asked of the engine itself: no server, no threads, no HTTP. The quick way to see what a change of
// the query side breaks; the area `http`, which is about the envelope, is left to the test with a server.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IngestSettings } from '../../engine/ingest/command/types.ts';
import { openRequest } from '../../engine/query/request/run.ts';
import type { QueryRequest } from '../../engine/query/request.ts';
import { slotOf } from '../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../engine/store/partition.ts';
import { applyBatch, queuedOf } from '../support/apply.ts';
import { querySettings } from '../support/query-settings.ts';
import {
  type Answer,
  areas,
  check,
  type RecordedCase,
  type RecordedRequest,
  type ReplayResult,
  readLines,
  stringifyJSON,
} from './replay.mjs';

const PARTITIONS = 3;
const DAY = 86_400_000;
const CENTURY = 36_500 * DAY;
/** Areas that need a server. */
const OUTSIDE: ReadonlySet<string> = new Set(['http']);

interface CorpusLine {
  readonly command: string;
  readonly version: number;
  readonly certname: string;
  readonly payload: unknown;
}

export interface EngineUnderTest {
  answer(request: RecordedRequest): Answer;
  close(): Promise<void>;
}

/** A store in a temporary directory that holds exactly the corpus of `dir`. */
export function openCorpus(dir: string): EngineUnderTest {
  const root = mkdtempSync(join(tmpdir(), 'muster-corpus-'));
  const partitions = Array.from({ length: PARTITIONS }, (_, slot) => openPartition(join(root, String(slot))));
  try {
    loadCorpus(dir, partitions);
  } catch (error) {
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
  return {
    answer: (request) => answerOf(request, partitions),
    async close() {
      await Promise.all(partitions.map((partition) => partition.close()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function loadCorpus(dir: string, partitions: readonly Partition[]): void {
  const settings: IngestSettings = {
    now: Date.now(),
    resourceEventsTtl: CENTURY,
    factsBlocklist: [],
    factsBlocklistType: 'literal',
    decompressedMax: 1e9,
  };
  for (const [index, line] of (readLines(join(dir, 'corpus.ndjson')) as CorpusLine[]).entries()) {
    const { command, version, certname, payload } = line;
    const envelope = { command, version, certname, received: settings.now };
    const queued = queuedOf(index + 1, Buffer.from(stringifyJSON(payload)), envelope);
    const [outcome] = applyBatch(partitions[slotOf(certname, PARTITIONS)]!, [queued], settings);
    if (outcome?.kind !== 'processed') throw new Error(`corpus line ${index + 1}: ${JSON.stringify(outcome)}`);
  }
}

function answerOf(recorded: RecordedRequest, partitions: readonly Partition[]): Answer {
  const settings = { ...querySettings, now: Date.now(), nodePurgeTtl: CENTURY };
  const run = openRequest(requestOf(recorded), { partitions, clock: Date.now }, settings);
  const chunks: Uint8Array[] = [];
  while (!run.done) {
    const chunk = run.step();
    if (chunk !== null) chunks.push(Uint8Array.from(chunk));
  }
  const { head } = run;
  if (head === null) throw new Error('an answer without a head');
  const { body } = head;
  const text = typeof body === 'string' ? body : Buffer.concat(body === null ? chunks : [body]).toString();
  const headers: Record<string, string> = {};
  for (const [name, value] of head.headers) headers[name.toLowerCase()] = value;
  if (head.contentType !== null) headers['content-type'] = head.contentType;
  return { status: head.status, headers, text };
}

const PREFIX = '/pdb/query/v4';

function requestOf({ method = 'GET', path, params = {}, body }: RecordedRequest): QueryRequest {
  if (!path.startsWith(PREFIX)) throw new Error(`${path} is not a query`);
  const [route = '', raw] = path.slice(PREFIX.length).split('?', 2);
  const pairs = Object.entries(params).map(
    ([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(value))}`,
  );
  if (raw !== undefined) pairs.unshift(raw);
  const text = body === undefined || body === null ? null : textOf(body);
  return { method, path: route, api: 'query', queryString: pairs.join('&'), body: text };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : stringifyJSON(value));

/** Asks all query cases of `dir`. */
export function askEngine(engine: EngineUnderTest, dir: string): ReplayResult[] {
  const results: ReplayResult[] = [];
  for (const { area, file } of areas(dir, 'cases')) {
    if (OUTSIDE.has(area)) continue;
    for (const { id, request, compare, response } of readLines(file) as RecordedCase[]) {
      results.push({ area, id, request, diff: check(response, compare, engine.answer(request)) });
    }
  }
  return results;
}
