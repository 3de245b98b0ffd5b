// Point queries: what compile servers and dashboards ask about one node.

import { Client, type Target } from './client.ts';
import { digestOf, digestOfParts } from './digest.ts';
import { certnameOf } from './fleet.ts';
import { Started } from './started.ts';

interface PointOptions {
  readonly target: Target;
  /** Nodes of a fleet that are stored. */
  readonly nodes: number;
  /** Milliseconds from one query to the next. */
  readonly everyMs: number;
  readonly done: () => boolean;
}

/** More than wait for their answers at any time, unless the server has stopped answering. */
const CONNECTIONS = 32;

const routesOf = (node: string): readonly string[] =>
  [`nodes/${node}`, `nodes/${node}/facts/role`, `resources/Sshkey/${node}`].map((route) => `/pdb/query/v4/${route}`);

/**
 * Resolves with the milliseconds of each query. A query is asked whether or not those before it were answered, so that all that come while
 * the server stalls are counted, not the first of them alone.
 */
export async function askPoints({ target, nodes, everyMs, done }: PointOptions): Promise<number[]> {
  const client = new Client(target, CONNECTIONS);
  const times: number[] = [];
  const started = new Started();
  const ask = async (path: string): Promise<void> => {
    const { status, bytes, total } = await client.read({ path }, () => {});
    if (status !== 200 || bytes <= 2) throw new Error(`${path} got ${status} and ${bytes} bytes`);
    times.push(total);
  };
  for (let i = 0; !done() && !started.hasFailed; i++) {
    const routes = routesOf(certnameOf((i * 7919) % nodes));
    started.add(ask(routes[i % routes.length]!));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  await started.done().finally(() => client.close());
  return times;
}

/** Of the answers to all of them about the first nodes. */
export async function digestOfPoints(client: Client, nodes: number): Promise<string> {
  const digests: string[] = [];
  for (let node = 0; node < Math.min(nodes, 30); node++) {
    for (const path of routesOf(certnameOf(node))) digests.push(digestOf(await client.json(path)).digest);
  }
  return digestOfParts(digests);
}
