// Point queries, one after the other: what a compile server or a dashboard asks about one node.

import { Client, type Target } from './client.ts';
import type { Fleet } from './fleet.ts';

interface PointOptions {
  readonly target: Target;
  readonly fleet: Fleet;
  /** Nodes of it that are stored. */
  readonly nodes: number;
  readonly pauseMs: number;
  readonly done: () => boolean;
}

/** Milliseconds of each query. */
export async function askPoints({ target, fleet, nodes, pauseMs, done }: PointOptions): Promise<number[]> {
  const client = new Client(target, 1);
  const times: number[] = [];
  for (let i = 0; !done(); i++) {
    const node = fleet.certname((i * 7919) % nodes);
    const routes = [`nodes/${node}`, `nodes/${node}/facts/role`, `resources/Sshkey/${node}`];
    const { status, total } = await client.read({ path: `/pdb/query/v4/${routes[i % routes.length]}` }, () => {});
    if (status !== 200) throw new Error(`a point query got ${status}`);
    times.push(total);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  client.close();
  return times;
}
