// What a partition holds, as far as queries could tell.

import assert from 'node:assert/strict';
import type { Partition } from '../../../engine/store/partition.ts';
import { REPORT_LISTS } from '../../../engine/store/records/report-lists.ts';
import { NODES_ALL } from '../../../engine/store/records/tables.ts';
import type { View } from '../../../engine/store/view.ts';

/** All of it, in an order that does not depend on ids. */
export function stateOf(partition: Partition): object {
  const view = partition.snapshot();
  try {
    return {
      nodes: [...view.set(NODES_ALL).toArray()].map((id) => nodeState(view, id)).sort(byText),
      environments: view.environments().sort(),
      producers: view.producers().sort(),
      paths: [...view.factPaths()].map((path) => JSON.stringify(path)).sort(),
      bodies: [view.resources, view.facts, view.edges, view.packages].map((kind) => kind.ids().length),
      counts: view.counts,
    };
  } finally {
    view.close();
  }
}

function nodeState(view: View, id: number): object {
  const record = view.node(id);
  assert.ok(record);
  const bodies = (kind: 'resources' | 'facts' | 'edges' | 'packages'): string[] => {
    const { stride } = view[kind];
    const items = view[kind].list(id).filter((_, index) => index % stride === stride - 1);
    for (const item of items) assert.ok(view[kind].nodes(item).has(id), `${kind} ${item} knows node ${id}`);
    return [...items].map((item) => JSON.stringify({ ...view[kind].body(item), parsed: undefined })).sort();
  };
  const reports = [...view.reports.ofNode(id)].map((report) => {
    const { nodeId: _, ...header } = view.reports.get(report)!;
    const parts = REPORT_LISTS.map((name) => view.reports.list(report, name));
    return { header, events: view.reports.events(report), parts };
  });
  return {
    ...record,
    latestReport: record.latestReport && { ...record.latestReport, reportId: 0 },
    resources: bodies('resources'),
    facts: bodies('facts'),
    edges: bodies('edges'),
    packages: bodies('packages'),
    inputs: view.inputs(id),
    reports: reports.sort(byText),
  };
}

const byText = (a: object, b: object): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
