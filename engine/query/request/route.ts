// From a path to its row of the route table. Segments are compared as they were sent; what a parameter captured is
// percent-decoded once (spec/query.md 1.6).

import { type QueryApi, type QueryRoute, queryRoutes } from '../../../schemas/query-routes.ts';

export interface RouteMatch {
  readonly route: QueryRoute;
  /** Decoded path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
}

const WIDE = /^(?:[\w.~:-]|%[0-9a-fA-F]{2})*$/;
const NARROW = /^[\w.-]+$/;

type Segment = { readonly kind: 'text' | 'wide' | 'narrow'; readonly text: string };
interface Pattern {
  readonly route: QueryRoute;
  readonly segments: readonly Segment[];
}

function segmentOf(text: string): Segment {
  if (text.startsWith(':')) return { kind: 'wide', text: text.slice(1) };
  if (text.startsWith('.')) return { kind: 'narrow', text: text.slice(1) };
  return { kind: 'text', text };
}

/** By API and number of segments: few candidates per request. */
const PATTERNS = new Map<string, Pattern[]>();
for (const route of queryRoutes) {
  const segments = route.path.split('/').slice(1).map(segmentOf);
  const key = `${route.api} ${segments.length}`;
  const patterns = PATTERNS.get(key) ?? [];
  patterns.push({ route, segments });
  PATTERNS.set(key, patterns);
}

/** The route of a path, or null. `path` is below the API's base, still percent-encoded. */
export function matchRoute(api: QueryApi, path: string, edition: 'community' | 'enterprise'): RouteMatch | null {
  const sent = path.split('/').slice(1);
  for (const pattern of PATTERNS.get(`${api} ${sent.length}`) ?? []) {
    if (pattern.route.enterprise && edition !== 'enterprise') continue;
    const params = capture(pattern.segments, sent);
    if (params !== null) return { route: pattern.route, params };
  }
  return null;
}

function capture(segments: readonly Segment[], sent: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index] as Segment;
    const text = sent[index] as string;
    if (segment.kind === 'text') {
      if (segment.text !== text) return null;
    } else {
      if (!(segment.kind === 'wide' ? WIDE : NARROW).test(text)) return null;
      params[segment.text] = text.includes('%') ? percentDecode(text) : text;
    }
  }
  return params;
}

/** Percent codes as UTF-8; bytes that are none become U+FFFD. */
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    const bytes: number[] = [];
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '%') {
        bytes.push(Number.parseInt(text.slice(at + 1, at + 3), 16));
        at += 2;
      } else {
        bytes.push(text.charCodeAt(at));
      }
    }
    return Buffer.from(bytes).toString('utf8');
  }
}
