// A query as the edge hands it over: nothing is parsed yet, so that large queries cost the front end nothing. The engine
// matches the route, checks and coerces parameters, parses, resolves, plans and executes (spec/query.md 1.5-1.8).

import type { QueryApi } from '../../schemas/query-routes.ts';

/** Content types of answers, spelled as PuppetDB 8 does. */
export const JSON_TYPE = 'application/json;charset=utf-8';
export const TEXT_TYPE = 'text/plain;charset=utf-8';

export interface QueryRequest {
  /** Upper-case HTTP method name as sent. */
  readonly method: string;
  /** Path below the API's base (`/pdb/query/v4`, `/pdb/ext/v1`), still percent-encoded: ``, `/nodes`, `/facts/a%20b`. */
  readonly path: string;
  readonly api: QueryApi;
  /** Raw query string without `?` (empty when there is none). */
  readonly queryString: string;
  /** Body text of a POST, or of a GET that sends a form; else null. */
  readonly body: string | null;
}

export interface QuerySettings {
  /** Epoch ms when the query began. */
  readonly now: number;
  /** Milliseconds: horizon of `node_state = inactive`; 0 is no horizon. */
  readonly nodePurgeTtl: number;
  readonly addAgentReportFilter: boolean;
  /** `enterprise`: corrective_change shown, split event counts, resource graphs, report resources. */
  readonly edition: 'community' | 'enterprise';
  /** Name of the version field in reports: `neutral` is cm_version. */
  readonly vocabulary: 'neutral' | 'puppetdb';
  readonly prettyPrint: boolean;
  /** Milliseconds; 0: none. */
  readonly timeoutDefault: number;
  readonly timeoutMax: number;
  readonly queryDepthMax: number;
  /** Milliseconds that regular expressions may use in one query, as far as they cannot be matched in one pass. */
  readonly regexBudget: number;
  /** Milliseconds after which a query's plan is kept for the log; 0: never. */
  readonly planAfter: number;
}

/** What the edge answers first: before any row when the answer streams. */
export interface QueryHead {
  readonly status: number;
  /** Full content type, or null for none. */
  readonly contentType: string | null;
  /** Extra headers: `X-Records`. */
  readonly headers: readonly (readonly [string, string])[];
  /** The whole body, as text or UTF-8; null when chunks follow. */
  readonly body: string | Uint8Array | null;
}
