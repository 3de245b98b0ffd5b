// Queries below `/pdb/query` and `/pdb/ext`: negotiates content, hands the raw request to the query pool and streams what
// comes back. The client's pace reaches the pool as credit: bytes are granted when the socket has taken them, so an answer
// never waits in memory beyond the socket's buffer and the credit.

import { sentText } from '../../engine/bytes.ts';
import type { QueryRequest, QuerySettings } from '../../engine/query/request.ts';
import { kept } from '../../workers/queries/answer-slots.ts';
import type { AnswerHead, QueryHandle, QueryHandlers, QueryPool } from '../../workers/types.ts';
import type { BodyWriter, Exchange, Handler, Reply } from '../http/exchange.ts';
import { isBelow } from '../http/paths.ts';
import { mediaType, NOT_FOUND, refuseMedia, textReply } from '../http/replies.ts';

export interface QueryRouteDeps {
  readonly pool: QueryPool;
  /** Settings as they are now; `now` is added per query. */
  readonly settings: () => Omit<QuerySettings, 'now'>;
  /** Largest query text in a body, bytes. */
  readonly bodyMax: number;
  /** Epoch ms. */
  readonly now: () => number;
}

const QUERY_ROOT = '/pdb/query/v4';
const EXT_ROOT = '/pdb/ext/v1';
const RETIRED = /^\/pdb\/query\/(v[123])(?:\/|$)/;

export function createQueryHandler(deps: QueryRouteDeps): Handler {
  return (exchange) => {
    const refused = negotiate(exchange);
    if (refused !== null) {
      exchange.reply(refused);
      return;
    }
    const retired = RETIRED.exec(exchange.path);
    if (retired !== null) {
      exchange.reply(textReply(404, `The ${retired[1]} API has been retired; please use v4`));
      return;
    }
    if (!isBelow(exchange.path, QUERY_ROOT)) {
      exchange.reply(NOT_FOUND);
      return;
    }
    return answer(exchange, 'query', exchange.path.slice(QUERY_ROOT.length), deps);
  };
}

/** The extension routes. They exist in the enterprise edition only. */
export function createExtHandler(deps: QueryRouteDeps): Handler {
  return (exchange) => {
    if (deps.settings().edition !== 'enterprise' || !isBelow(exchange.path, EXT_ROOT)) {
      exchange.reply(NOT_FOUND);
      return;
    }
    const refused = negotiate(exchange);
    if (refused !== null) {
      exchange.reply(refused);
      return;
    }
    return answer(exchange, 'ext', exchange.path.slice(EXT_ROOT.length), deps);
  };
}

/** The version of replication between servers that this one speaks. */
const SYNC_VERSION = 2;

function negotiate(exchange: Exchange): Reply | null {
  if (exchange.has('x-pdb-sync-ver')) {
    const version = exchange.header('x-pdb-sync-ver');
    if (!/^[+-]?\d{1,9}$/.test(version)) {
      return textReply(400, `The x-pdb-sync-ver header: ${version} cannot be converted to an int.`);
    }
    if (Number(version) !== SYNC_VERSION) {
      const text = `PDB sync request version ${version} too new for this server (expected ${SYNC_VERSION}).`;
      return textReply(409, text);
    }
  }
  return refuseMedia(exchange);
}

async function answer(exchange: Exchange, api: QueryRequest['api'], path: string, deps: QueryRouteDeps): Promise<void> {
  const request: QueryRequest = {
    method: exchange.method,
    path,
    api,
    queryString: exchange.queryString,
    body: await readBody(exchange, deps.bodyMax),
  };
  const { now } = deps;
  new Answer(exchange).run(deps.pool, request, { ...deps.settings(), now: now() });
}

/** The body where it means something: JSON of a POST, parameters of a GET that sends a form. */
async function readBody(exchange: Exchange, max: number): Promise<string | null> {
  const { method } = exchange;
  const isForm =
    method === 'GET' &&
    mediaType(exchange.header('content-type')).toLowerCase() === 'application/x-www-form-urlencoded';
  if (method !== 'POST' && !isForm) return null;
  const bytes = await exchange.body(max);
  if (isForm && bytes.byteLength === 0) return null;
  return sentText(bytes);
}

/** One answer on its way from the pool to the client. */
class Answer {
  readonly #exchange: Exchange;
  #handle: QueryHandle | null = null;
  #writer: BodyWriter | null = null;
  /** Bytes the socket has not taken yet. */
  #owed = 0;
  #isOver = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  run(pool: QueryPool, request: QueryRequest, settings: QuerySettings): void {
    if (this.#exchange.aborted) return;
    this.#exchange.onAbort(() => this.#cancel());
    const handlers: QueryHandlers = {
      onHead: (head) => this.#head(head),
      onChunk: (chunk, free, isScarce) => this.#chunk(chunk, free, isScarce),
      onEnd: () => this.#end(),
      onAbort: (text) => this.#cutShort(text),
    };
    // None of these is called before it returns.
    this.#handle = pool.run(request, settings, handlers, this.#exchange);
  }

  #head(head: AnswerHead): void {
    if (this.#isOver) return;
    const { status, contentType, headers, size } = head;
    if (head.body === null) {
      this.#writer = this.#exchange.stream({ status, contentType, headers }, size);
    } else {
      this.#isOver = true;
      this.#exchange.reply({ status, contentType, headers, body: head.body });
    }
  }

  #end(): void {
    // The pool has let go of the query: there is nothing left to grant or to cancel.
    this.#isOver = true;
    this.#writer?.end();
  }

  #chunk(chunk: Uint8Array, free?: () => void, isScarce = false): void {
    if (this.#isOver || this.#writer === null) {
      free?.();
      return;
    }
    const isWaiting = this.#owed > 0;
    // While the client is behind, what comes waits in memory of its own unless there is plenty of the shared one.
    const writer = this.#writer;
    const hasRoom = isWaiting && isScarce ? writer.write(kept(chunk, free)) : writer.write(chunk, free);
    if (hasRoom && !isWaiting) {
      this.#handle?.grant(chunk.byteLength);
      return;
    }
    this.#owed += chunk.byteLength;
    if (!isWaiting) this.#grantWhenDrained();
  }

  #grantWhenDrained(): void {
    // Never rejects: it resolves too when the client is gone.
    void this.#writer?.drained().then(() => {
      const bytes = this.#owed;
      this.#owed = 0;
      if (!this.#isOver) this.#handle?.grant(bytes);
    });
  }

  /** The status line has been sent: what is left is to say so in the body and to break the framing. */
  #cutShort(text: string): void {
    const writer = this.#writer;
    if (writer === null || this.#isOver) return;
    this.#isOver = true;
    writer.write(Buffer.from(text, 'utf8'));
    writer.abort();
  }

  #cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handle?.cancel();
  }
}
