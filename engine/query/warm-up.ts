// Queries asked of the store itself before clients ask theirs: code that has run some hundred times is compiled, and answers
// in less time than at first. They are of the kinds that agents, dashboards and scripts send, over what is stored; their
// answers are dropped.

import type { Partition } from '../store/partition.ts';
import { type OpenRequest, openRequest, type QueryStore, SHORT_PIECES } from './request/run.ts';
import type { QueryRequest, QuerySettings } from './request.ts';

/** Fewer nodes than that show little of how code will be used. */
const NODES_MIN = 20;
/** Milliseconds that one query may take: the rest of a long answer shows nothing new. */
const QUERY_MS = 8;
/** Milliseconds that a client's query may have to wait for. */
const STEP_MS = 1;

const SETTINGS: Omit<QuerySettings, 'now'> = {
  nodePurgeTtl: 0,
  addAgentReportFilter: true,
  edition: 'community',
  vocabulary: 'puppetdb',
  prettyPrint: false,
  timeoutDefault: 10_000,
  timeoutMax: 10_000,
  queryDepthMax: 1000,
  regexBudget: 1000,
  planAfter: 0,
};

/** A node and a report that the store has, for queries about one. */
export interface Sample {
  readonly certname: string;
  readonly report: string | null;
}

/** Null while the store has too few nodes, or none of the first ones has facts and a catalog. */
export function sampleOf(partitions: readonly Partition[]): Sample | null {
  let nodes = 0;
  let sample: Sample | null = null;
  for (const partition of partitions) {
    const view = partition.snapshot();
    try {
      nodes += view.counts.nodes;
      if (sample === null) {
        let looks = NODES_MIN;
        for (const { node } of view.nodesByName(false)) {
          if (looks-- === 0) break;
          const record = view.node(node);
          if (record === undefined || record.catalog === null || record.factset === null) continue;
          sample = { certname: record.certname, report: record.latestReport?.hash ?? null };
          break;
        }
      }
    } finally {
      view.close();
    }
  }
  return nodes < NODES_MIN ? null : sample;
}

type Asked = readonly [path: string, params?: Readonly<Record<string, unknown>>];

const CLASS = ['and', ['=', 'type', 'Class'], ['=', 'title', 'Main']];

const aboutAll: readonly Asked[] = [
  ['/nodes'],
  ['/nodes', { query: ['~', 'certname', '[0-4]'] }],
  ['/nodes', { query: ['and', ['=', ['fact', 'kernel'], 'Linux'], ['=', ['fact', 'osfamily'], 'Debian']] }],
  ['/nodes', { query: ['=', 'latest_report_status', 'changed'] }],
  ['/nodes', { query: ['in', 'certname', ['extract', 'certname', ['select_resources', CLASS]]] }],
  ['/nodes', { query: ['subquery', 'resources', CLASS] }],
  ['/nodes', { order_by: [{ field: 'certname' }], limit: 20, offset: 5, include_total: true }],
  ['/nodes', { order_by: [{ field: 'report_timestamp', order: 'desc' }], limit: 20 }],
  ['/resources', { query: ['=', 'type', 'Package'] }],
  ['/resources/Service'],
  ['/resources', { query: ['and', ['=', 'type', 'Package'], ['=', 'tag', 'package']] }],
  ['/resources', { query: ['and', ['=', 'type', 'Service'], ['=', ['parameter', 'ensure'], 'running']] }],
  ['/resources', { query: ['and', ['=', 'type', 'File'], ['~', 'title', '^/etc']] }],
  ['/resources', { query: ['=', 'type', 'File'], order_by: [{ field: 'certname' }, { field: 'title' }], limit: 50 }],
  ['/resources', { query: ['and', ['=', 'exported', true], ['not', ['=', 'certname', 'none']]] }],
  ['/resources', { query: ['extract', [['function', 'count'], 'type'], ['~', 'certname', '.'], ['group_by', 'type']] }],
  ['/edges', { query: ['=', 'source_type', 'Class'], limit: 200 }],
  ['/facts/kernel'],
  ['/facts/networking'],
  ['/facts', { query: ['and', ['=', 'name', 'kernel'], ['=', 'value', 'Linux']] }],
  ['/facts', { query: ['extract', [['function', 'count'], 'value'], ['=', 'name', 'kernel'], ['group_by', 'value']] }],
  ['/facts', { query: ['=', 'name', 'ipaddress'], order_by: [{ field: 'value' }], limit: 20 }],
  ['/fact-names'],
  ['/fact-paths'],
  ['/fact-contents', { query: ['=', 'path', ['networking', 'ip']] }],
  ['/fact-contents', { query: ['~>', 'path', ['networking', '.*', 'ip']], limit: 200 }],
  ['/inventory', { query: ['=', 'facts.os.family', 'Debian'] }],
  ['/inventory', { query: ['extract', ['certname', 'facts.kernel'], ['>', 'facts.processors.count', 1]] }],
  ['/factsets', { limit: 50 }],
  ['/catalogs', { limit: 10 }],
  [
    '/reports',
    { query: ['=', 'latest_report?', true], order_by: [{ field: 'receive_time', order: 'desc' }], limit: 5 },
  ],
  ['/reports', { query: ['extract', ['certname', 'status', 'end_time'], ['=', 'latest_report?', true]] }],
  ['/events', { query: ['and', ['=', 'latest_report?', true], ['=', 'resource_type', 'File']] }],
  ['/event-counts', { query: ['=', 'latest_report?', true], summarize_by: 'certname' }],
  ['/event-counts', { query: ['=', 'latest_report?', true], summarize_by: 'resource' }],
  ['/aggregate-event-counts', { query: ['=', 'latest_report?', true], summarize_by: 'certname' }],
  ['/packages'],
  ['/environments'],
  ['/producers'],
  ['', { query: 'nodes[count(), latest_report_status]{ group by latest_report_status }' }],
  ['', { query: 'resources[count()]{}' }],
  ['', { query: 'nodes[certname]{ inventory { facts.kernel = "Linux" } order by certname }' }],
  [
    '',
    {
      query:
        'resources[certname, title]{ type = "Class" and certname in inventory[certname]{ facts.kernel = "Linux" } }',
    },
  ],
  ['', { query: 'inventory[facts.os.family, count()]{ group by facts.os.family }' }],
  ['', { query: 'package_inventory[package_name, count()]{ package_name ~ "^lib" group by package_name }' }],
  [
    '',
    {
      query:
        'reports[certname, end_time]{ latest_report? = true and status in ["failed", "changed"] order by end_time }',
    },
  ],
];

const aboutNode = (certname: string): readonly Asked[] => [
  [`/nodes/${certname}`],
  [`/nodes/${certname}/facts`],
  [`/nodes/${certname}/resources`],
  [`/factsets/${certname}`],
  [`/catalogs/${certname}`],
  [`/package-inventory/${certname}`],
  ['/nodes', { query: ['in', 'certname', ['array', [certname, 'none']]] }],
  ['/edges', { query: ['=', 'certname', certname] }],
  ['/resources', { query: ['and', ['=', 'certname', certname], ['=', 'type', 'File']] }],
  ['/reports', { query: ['=', 'certname', certname], order_by: [{ field: 'end_time', order: 'desc' }], limit: 5 }],
];

const aboutReport = (hash: string): readonly Asked[] => [
  ['/reports', { query: ['=', 'hash', hash] }],
  ['/events', { query: ['=', 'report', hash] }],
  [`/reports/${hash}/logs`],
  [`/reports/${hash}/metrics`],
];

/** The requests for a sample. */
export function warmUpRequests({ certname, report }: Sample): readonly QueryRequest[] {
  const asked = [
    ...aboutAll,
    ...aboutNode(encodeURIComponent(certname)),
    ...(report === null ? [] : aboutReport(report)),
  ];
  return asked.map(([path, params]) => ({
    method: 'GET',
    path,
    api: 'query',
    queryString: Object.entries(params ?? {})
      .map(
        ([name, value]) => `${name}=${encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value))}`,
      )
      .join('&'),
    body: null,
  }));
}

/**
 * Asks all of them again and again, in short steps between which clients' queries come: next the one that has had the least time
 * so far, so that the short ones, which clients send most, are asked most often. Never throws.
 */
export class WarmUp {
  readonly #store: QueryStore;
  readonly #requests: readonly QueryRequest[];
  #left: number;
  /** Milliseconds that each of the requests has had. */
  readonly #spent: Float64Array;
  #asked = 0;
  #query: OpenRequest | null = null;
  /** Milliseconds of work on the query at hand. */
  #took = 0;

  /** `budgetMs`: milliseconds of work in all. */
  constructor(store: QueryStore, sample: Sample, budgetMs: number) {
    this.#store = { ...store, slice: STEP_MS, undivided: SHORT_PIECES };
    this.#requests = warmUpRequests(sample);
    this.#left = budgetMs;
    this.#spent = new Float64Array(this.#requests.length);
  }

  /** A step of work; false: that was the last one. */
  step(): boolean {
    const { stopwatch = this.#store.clock } = this.#store;
    const started = stopwatch();
    const query = (this.#query ??= this.#open());
    query.step();
    const spent = stopwatch() - started;
    this.#left -= spent;
    this.#took += spent;
    this.#spent[this.#asked]! += spent;
    if (query.done || this.#took >= QUERY_MS || this.#left <= 0) this.rest();
    return this.#left > 0;
  }

  /** Gives up what the query at hand holds. The next step begins another one. */
  rest(): void {
    this.#query?.close();
    this.#query = null;
    this.#took = 0;
  }

  #open(): OpenRequest {
    this.#asked = this.#spent.indexOf(Math.min(...this.#spent));
    const request = this.#requests[this.#asked]!;
    return openRequest(request, this.#store, { ...SETTINGS, now: this.#store.clock() });
  }
}
