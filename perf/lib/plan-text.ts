// One line from the answer to `explain=analyze`.

interface Partition {
  readonly nodes?: number;
  readonly drive?: string;
  readonly index?: string | null;
  readonly reports?: string;
}

interface Plan {
  readonly 'Node Type'?: string;
  readonly Partitions?: readonly Partition[];
  readonly Subqueries?: readonly Plan[];
}

/** `Item Scan: items by type`, partitions that agree named once; `-` for what is no plan of Muster. */
export function summarizePlan(text: string): string {
  let plan: Plan | undefined;
  try {
    plan = (JSON.parse(text) as { 'query plan'?: { Plan?: Plan }[] }[])[0]?.['query plan']?.[0]?.Plan;
  } catch {
    return '-';
  }
  if (plan?.['Node Type'] === undefined) return '-';
  const ways = new Map<string, number>();
  for (const { drive, index, reports } of plan.Partitions ?? []) {
    const way =
      drive !== undefined
        ? `${drive}${index ? ` by ${index}` : ''}`
        : reports !== undefined
          ? `reports: ${reports}`
          : '';
    if (way !== '') ways.set(way, (ways.get(way) ?? 0) + 1);
  }
  const parts = [...ways].map(([way, times]) => (ways.size > 1 ? `${way} (${times})` : way));
  const subqueries = countSubqueries(plan);
  const rest = subqueries > 0 ? [`${subqueries} subquer${subqueries > 1 ? 'ies' : 'y'}`] : [];
  return [plan['Node Type'].toLowerCase(), ...parts, ...rest].join(', ');
}

const countSubqueries = ({ Subqueries = [] }: Plan): number =>
  Subqueries.reduce((sum, inner) => sum + 1 + countSubqueries(inner), 0);
