// Questions the server asks itself, on the same way as clients' queries: through the query pool. Answers come whole (small
// ones) or in parts with back-pressure (rows, exports), never as a pile of unknown height.

import type { QueryRequest, QuerySettings } from '../../../engine/query/request.ts';
import { kept } from '../../../workers/queries/answer-slots.ts';
import type { AnswerHead, QueryPool } from '../../../workers/types.ts';
import { isJsonMap, type Json } from '../../json.ts';
import { RowSplitter } from './row-splitter.ts';

export interface Asker {
  readonly pool: QueryPool;
  /** Settings of a client's query beginning now. */
  readonly querySettings: () => QuerySettings;
}

/** How many rows the filter leaves. */
export const countOf = (filter: Json): Json => ['extract', [['function', 'count']], filter];

/** What a question may say beside its query. */
export interface Question {
  /** Default: `query`, as clients ask. */
  readonly api?: QueryRequest['api'];
  /** Path below the API's base: `/nodes`. */
  readonly path: string;
  readonly query?: Json;
  /** Further members of the request body: paging and the like. */
  readonly parameters?: { readonly [name: string]: Json };
  /** Departures from the settings of clients' queries. */
  readonly settings?: Partial<QuerySettings>;
}

export interface Answer {
  readonly head: AnswerHead;
  readonly text: string;
}

/** The pool refused a question or could not finish its answer. */
class QuestionFailed extends Error {
  constructor(path: string, status: number, text: string) {
    super(`query ${path === '' ? '/' : path} failed with status ${status}: ${text}`);
    this.name = 'QuestionFailed';
  }
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

const bodyText = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : new TextDecoder().decode(body);

/** The whole answer. Rejects with QuestionFailed for any status but 200, and for answers larger than 16 MiB. */
export function ask(asker: Asker, question: Question): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const decoder = new TextDecoder();
    let head: AnswerHead | null = null;
    let text = '';
    let size = 0;
    const fail = (status: number, reason: string): void => reject(new QuestionFailed(question.path, status, reason));
    const finish = (): void => {
      text += decoder.decode();
      if (head === null) fail(500, 'no answer');
      else if (head.status !== 200) fail(head.status, text);
      else resolve({ head, text });
    };
    const handle = asker.pool.run(requestOf(question), settingsOf(asker, question), {
      onHead: (given) => {
        head = given;
        if (given.body === null) return;
        // The whole answer: whether an end is told as well does not matter.
        text = bodyText(given.body);
        finish();
      },
      onChunk: (chunk, free) => {
        size += chunk.byteLength;
        const isTooLong = size > ANSWER_BYTES_MAX;
        if (!isTooLong) text += decoder.decode(chunk, { stream: true });
        free?.();
        if (!isTooLong) {
          handle.grant(chunk.byteLength);
          return;
        }
        handle.cancel();
        fail(500, `answer larger than ${ANSWER_BYTES_MAX} bytes`);
      },
      onEnd: finish,
      onAbort: (reason) => fail(500, reason),
    });
  });
}

/** The one number of an answer with one row and one column. */
export async function askNumber(asker: Asker, question: Question): Promise<number> {
  const { text } = await ask(asker, question);
  const rows = JSON.parse(text) as Json;
  const row = Array.isArray(rows) ? (rows[0] as Json | undefined) : undefined;
  const value = isJsonMap(row) ? Object.values(row)[0] : undefined;
  if (typeof value !== 'number') throw new QuestionFailed(question.path, 200, `no number in ${text.slice(0, 200)}`);
  return value;
}

/**
 * Inactive nodes, of all and active ones that were counted one after the other. The state `inactive` of queries is not asked for: it leaves
 * those out that have been so for longer than node-purge-ttl, also while they wait to be deleted.
 */
export const inactiveOf = (all: number, active: number): number => Math.max(0, all - active);

/** How many rows the query has, counted where the data are. */
export async function askTotal(asker: Asker, question: Question): Promise<number> {
  const parameters = { ...question.parameters, limit: 1, include_total: true };
  const { head } = await ask(asker, { ...question, parameters });
  const total = head.headers.find(([name]) => name.toLowerCase() === 'x-records')?.[1];
  if (total === undefined) throw new QuestionFailed(question.path, 200, 'no total');
  return Number(total);
}

/**
 * The body of an answer, in chunks that may be kept. The pool goes on only as they are taken; leaving the loop stops it.
 * Throws QuestionFailed when the answer is refused or breaks off.
 */
export async function* askChunks(asker: Asker, question: Question): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let head: AnswerHead | null = null;
  let ended = false;
  let failure: Error | null = null;
  let wake: (() => void) | null = null;
  const settled = (change: () => void): void => {
    change();
    wake?.();
  };
  const handle = asker.pool.run(requestOf(question), settingsOf(asker, question), {
    onHead: (given) =>
      settled(() => {
        head = given;
        // The whole answer: whether an end is told as well does not matter.
        ended ||= given.body !== null;
      }),
    onChunk: (chunk, free) =>
      settled(() => {
        // Whoever takes them may take their time.
        chunks.push(kept(chunk, free));
      }),
    onEnd: () => settled(() => (ended = true)),
    onAbort: (reason) => settled(() => (failure = new QuestionFailed(question.path, 500, reason))),
  });
  try {
    for (;;) {
      if (failure !== null) throw failure;
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        handle.grant(chunk.byteLength);
        continue;
      }
      if (ended) break;
      await new Promise<void>((resolve) => (wake = resolve));
      wake = null;
    }
    const { status, body } = (head as AnswerHead | null) ?? { status: 500, body: 'no answer' };
    if (status !== 200) throw new QuestionFailed(question.path, status, bodyText(body ?? ''));
    if (body !== null) yield typeof body === 'string' ? Buffer.from(body) : body;
  } finally {
    if (!ended) handle.cancel();
  }
}

/** Rows of an answer as JSON texts, one at a time. Otherwise the same; throws, too, when the answer is no complete list. */
export async function* askRows(asker: Asker, question: Question): AsyncGenerator<string> {
  const splitter = new RowSplitter();
  for await (const chunk of askChunks(asker, question)) yield* splitter.push(chunk);
  splitter.end();
}

function requestOf({ api = 'query', path, query, parameters }: Question): QueryRequest {
  const body = JSON.stringify({ ...(query !== undefined && { query }), ...parameters });
  return { method: 'POST', path, api, queryString: '', body };
}

function settingsOf(asker: Asker, question: Question): QuerySettings {
  return { ...asker.querySettings(), prettyPrint: false, timeoutDefault: 0, timeoutMax: 0, ...question.settings };
}
