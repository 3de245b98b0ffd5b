// What answers of every kind work with: what they are given, how they ask for rows and open a list, and the heads that they end with. Which kind of
// route is answered how is in answer.ts.

import type { EntityName } from '../../../schemas/entities.ts';
import type { QueryRoute } from '../../../schemas/query-routes.ts';
import type { ByteWriter } from '../../bytes.ts';
import { prettyJson } from '../../json/pretty.ts';
import type { JsonValue } from '../../json/value.ts';
import { execute } from '../exec/execute.ts';
import type { ExecContext } from '../exec/plan/context.ts';
import { JSON_TYPE, type QueryHead, type QuerySettings } from '../request.ts';
import { type EntityOptions, type ResolveOptions, resolveEntity } from '../resolve/resolve.ts';
import type { ExecuteOptions } from '../sink.ts';
import { type ListBody, type ListOptions, type OneBody, RowList, type RowShape } from './body.ts';
import type { QueryParams } from './params.ts';

/** What an answer works with. */
export interface AnswerInput {
  readonly route: QueryRoute;
  /** Decoded path parameters. */
  readonly path: Readonly<Record<string, string>>;
  readonly params: QueryParams;
  readonly settings: QuerySettings;
  readonly ctx: ExecContext;
  /** Opens the streamed body: chunks are taken from it while the generator runs. */
  readonly stream: (options: ListOptions) => ListBody;
  /** The same for a body that is one thing. */
  readonly streamOne: () => OneBody;
  /** For a body that goes with its head: what is written lasts until the query is closed. */
  readonly writer: (size: number) => ByteWriter;
  /** Headers known before the first row. */
  readonly header: (name: string, value: string) => void;
}

/** Work that is done in slices: it yields where one may end. */
export type Work<T> = Generator<undefined, T>;

/** The head of a complete answer; null when the body is what was streamed. */
export type Answer = Work<QueryHead | null>;

/** The head of an answer that is such a JSON text. */
export const jsonHead = (status: number, body: string | Uint8Array): QueryHead => ({
  status,
  contentType: JSON_TYPE,
  headers: [],
  body,
});

/** The 404 for a thing that the path names and that is not there. */
export const notFound = (kind: string, id: string): QueryHead =>
  jsonHead(404, prettyJson({ error: `No information is known about ${kind} ${id}` }));

/** What parameters and settings say of how a query is resolved. */
export function resolveOptions({ params, settings, ctx }: AnswerInput): ResolveOptions {
  return {
    orderBy: params.orderBy,
    limit: params.limit,
    offset: params.offset,
    includeFactsExpiration: params.includeFactsExpiration,
    includePackageInventory: params.includePackageInventory,
    distinct: params.distinct,
    addAgentReportFilter: settings.addAgentReportFilter,
    edition: settings.edition,
    vocabulary: settings.vocabulary,
    depthMax: settings.queryDepthMax,
    checkRegex: ctx.checkRegex,
  };
}

/** Without the client's order and page. */
export const UNPAGED = { orderBy: null, limit: null, offset: null } as const;

/** The rows of a query that an answer is made of: all of them in no order, unless `options` say otherwise. */
export function* rowsOf(
  input: AnswerInput,
  entity: EntityName,
  query: JsonValue,
  options: EntityOptions & ExecuteOptions = {},
): Work<readonly string[]> {
  const tree = resolveEntity(entity, query, { ...resolveOptions(input), ...UNPAGED, ...options });
  const found = new RowList();
  yield* execute(tree, input.ctx, found, options);
  return found.rows;
}

/** Whether answers are indented: the client's wish, or the server's setting. */
export const prettyWanted = ({ params, settings }: AnswerInput): boolean => params.pretty ?? settings.prettyPrint;

/** A list of such rows: those that the work gives to the body. */
export function* listed(input: AnswerInput, shape: RowShape, work: (body: ListBody) => Work<void>): Answer {
  const body = input.stream({ pretty: prettyWanted(input), shape });
  for (const _ of work(body)) {
    yield;
    yield* body.caughtUp();
  }
  yield* body.caughtUp();
  body.end();
  return null;
}

/** Tells the number of all rows in a header, where that was asked for. */
export const totalTo = ({ params, header }: AnswerInput): { onTotal?: (total: number) => void } =>
  params.includeTotal ? { onTotal: (total) => header('X-Records', String(total)) } : {};
