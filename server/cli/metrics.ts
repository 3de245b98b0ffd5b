// Figures of a running server, from /metrics/v2, for the commands that need some.

import { PUPPETDB_DOMAIN } from '../ops/metrics/object-name.ts';
import { type Client, isList, isMap } from './client.ts';

export interface MetricOf {
  /** Without `puppetlabs.puppetdb.`: `mq:name=global.depth`. */
  readonly bean: string;
  readonly attribute: string;
}

const areAnswers = (answer: unknown): answer is readonly { readonly status?: unknown; readonly value?: unknown }[] =>
  isList(answer) && answer.every(isMap);

/** The numbers, null for one that the server does not have. Rejects with CliFailure when it lets nobody read them. */
export async function readMetrics(client: Client, metrics: readonly MetricOf[]): Promise<(number | null)[]> {
  const requests = metrics.map(({ bean, attribute }) => ({
    type: 'read',
    mbean: `${PUPPETDB_DOMAIN}.${bean}`,
    attribute,
  }));
  const request = {
    method: 'POST',
    path: '/metrics/v2',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(requests),
  } as const;
  const answers = await client.askJson(request, areAnswers);
  return answers.map(({ status, value }) => {
    const number = Number(value);
    return status === 200 && value !== null && Number.isFinite(number) ? number : null;
  });
}
