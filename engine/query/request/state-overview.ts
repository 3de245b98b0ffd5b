// How many active nodes are in which state of reporting (spec/interface.md "Report run status"), in the enterprise
// edition: no report at all, none within the threshold, else what the latest report says. Three counting queries over one
// snapshot, asked like any other query.

import type { JsonValue } from '../../json/value.ts';
import { formatTime } from '../../time.ts';
import { ACTIVE_FILTER } from '../resolve/defaults.ts';
import { type Answer, type AnswerInput, jsonHead, rowsOf, type Work } from './answer-input.ts';

interface StatusGroup {
  readonly count: number;
  readonly latest_report_status: string | null;
  readonly latest_report_noop: boolean | null;
}

const BY_STATUS: readonly JsonValue[] = ['latest_report_status', 'latest_report_noop'];

export function* stateOverview(input: AnswerInput): Answer {
  const { params, settings } = input;
  const threshold = params.unresponsiveThreshold ?? 0;
  const since = formatTime(Math.max(settings.now - threshold * 1000, 0));
  const recent: JsonValue = [
    'in',
    'latest_report_hash',
    ['extract', ['hash'], ['select_reports', ['and', ['=', 'latest_report?', true], ['>=', 'receive_time', since]]]],
  ];
  const unreported = yield* count(input, ['null?', 'latest_report_hash', true]);
  const reported = yield* count(input, ['null?', 'latest_report_hash', false]);
  const counts = { unresponsive: reported, unreported, noop: 0, failed: 0, unchanged: 0, changed: 0 };
  for (const group of yield* groups(input, recent)) {
    counts.unresponsive -= group.count;
    counts[stateOf(group)] += group.count;
  }
  return jsonHead(200, JSON.stringify(counts));
}

/**
 * A failure is one whatever the mode; otherwise a run that changes nothing on purpose is `noop`, whether its report says that in its
 * status or beside it. A status that is none of the four tells of no change.
 */
function stateOf(group: StatusGroup): 'noop' | 'failed' | 'unchanged' | 'changed' {
  const { latest_report_status: status, latest_report_noop: noop } = group;
  if (status === 'failed') return 'failed';
  if (noop === true || status === 'noop') return 'noop';
  return status === 'changed' ? 'changed' : 'unchanged';
}

function* count(input: AnswerInput, filter: JsonValue): Work<number> {
  const [row] = yield* rows<{ count: number }>(input, ['extract', [['function', 'count']], filter]);
  return row?.count ?? 0;
}

function groups(input: AnswerInput, filter: JsonValue): Work<StatusGroup[]> {
  return rows(input, ['extract', [['function', 'count'], ...BY_STATUS], filter, ['group_by', ...BY_STATUS]]);
}

function* rows<T>(input: AnswerInput, query: JsonValue): Work<T[]> {
  const found = yield* rowsOf(input, 'nodes', query, { routeFilters: [ACTIVE_FILTER] });
  return found.map((row) => JSON.parse(row) as T);
}
