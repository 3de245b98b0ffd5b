// What routes look up by themselves, apart from any query: whether the thing that a path names is there, and parts of a report as they are
// stored.

import { AGENT_REPORT } from '../../../schemas/entities.ts';
import type { ParentKind } from '../../../schemas/query-routes.ts';
import type { ByteWriter } from '../../bytes.ts';
import type { NodeRecord, ReportId } from '../../store/records/records.ts';
import type { ReportListName } from '../../store/records/report-lists.ts';
import type { View } from '../../store/view.ts';
import type { ExecContext } from '../exec/plan/context.ts';

const EXISTS: Readonly<Record<ParentKind, (id: string, ctx: ExecContext) => boolean>> = {
  node: (certname, ctx) => ctx.hasNode(certname),
  catalog: (certname, ctx) => nodeOf(certname, ctx)?.catalog != null,
  factset: (certname, ctx) => nodeOf(certname, ctx)?.factset != null,
  environment: (name, ctx) => ctx.views.some((view) => view.hasName('environment', name)),
  producer: (name, ctx) => ctx.views.some((view) => view.hasName('producer', name)),
  report: (hash, ctx) => viewOfReport(hash, ctx) !== null,
};

/** Whether there is such a thing. `id`: a certname, a name, or a report's hash. */
export const exists = (of: ParentKind, id: string, ctx: ExecContext): boolean => EXISTS[of](id, ctx);

function nodeOf(certname: string, ctx: ExecContext): NodeRecord | undefined {
  const view = ctx.view(ctx.partOf(certname));
  return view.node(view.nodeId(certname));
}

/** Stored JSON text of a part of an agent report; null when there is none (or the report is a plan's). */
export function reportPart(hash: string, part: ReportListName, ctx: ExecContext): string | null {
  const at = placeOfPart(hash, part, ctx);
  return at === null ? null : at.view.reports.list(at.id, part);
}

/** The same, appended to `out`; false when there is none. */
export function writeReportPart(hash: string, part: ReportListName, ctx: ExecContext, out: ByteWriter): boolean {
  const at = placeOfPart(hash, part, ctx);
  return at === null ? false : at.view.reports.writeList(at.id, part, out);
}

function placeOfPart(
  hash: string,
  part: ReportListName,
  ctx: ExecContext,
): { readonly view: View; readonly id: ReportId } | null {
  const view = viewOfReport(hash, ctx);
  if (view === null) return null;
  const id = view.reports.idOf(hash);
  return view.reports.get(id)?.type === AGENT_REPORT || part === 'resources' ? { view, id } : null;
}

function viewOfReport(hash: string, ctx: ExecContext): View | null {
  for (let part = 0; part < ctx.parts; part++) {
    const view = ctx.view(part);
    if (view.reports.idOf(hash) !== 0) return view;
  }
  return null;
}
