// The rows of a selection that no query asks for.

import type { ExecContext } from '../../../../engine/query/exec/plan/context.ts';
import type { Selection } from '../../../../engine/query/exec/plan/selection.ts';
import { Source } from '../../../../engine/query/exec/sources/source.ts';

export function sourceOf(selection: Selection, ctx: ExecContext): Source {
  const { entity, filter } = selection;
  const page = { orderBy: [], limit: null, offset: 0 };
  const tree = { entity, columns: [], filter, groupBy: null, distinct: null, ...page };
  return new Source(selection, ctx, ctx.trace.begin(tree));
}
