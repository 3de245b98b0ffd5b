// The command queue of a running server in figures, for `muster import`: from the first place that has them for who asks. Muster tells
// them below /pdb/admin, where whoever imports may ask; other servers have them among their metrics. A place that is not there, or not
// for this client, is asked once only: each refusal is a line in the server's log.

import { type Client, isMap, Refusal } from './client.ts';
import { readMetrics } from './metrics.ts';

export interface Queue {
  /** Commands whose turn will come by itself. */
  readonly waiting: number;
  /** Commands that failed and will be tried again; null: not known, they are among those that wait. */
  readonly retrying: number | null;
  /** Commands that have come since the server started; null: not known. */
  readonly entered: number | null;
}

type Figure = 'depth' | 'awaiting-retry' | 'size' | 'discarded';
/** Rejects with Refusal when the server does not tell. null: it does not have that one. */
type Place = (client: Client, figures: readonly Figure[]) => Promise<readonly (number | null)[]>;

const ownPlace: Place = async (client, figures) => {
  const told = await client.askJson({ method: 'GET', path: '/pdb/admin/v1/queue' }, isMap);
  return figures.map((figure) => {
    const value = told[figure];
    return typeof value === 'number' ? value : null;
  });
};

const metricsPlace: Place = (client, figures) =>
  readMetrics(
    client,
    figures.map((figure) => ({ bean: `mq:name=global.${figure}`, attribute: 'Count' })),
  );

export class QueueFigures {
  readonly #client: Client;
  /** Those that may have an answer. */
  readonly #places = new Set<Place>([ownPlace, metricsPlace]);

  constructor(client: Client) {
    this.#client = client;
  }

  /** Commands that became dead letters since the server started; null: not known. */
  async discarded(): Promise<number | null> {
    const [discarded = null] = (await this.#read(['discarded'])) ?? [];
    return discarded;
  }

  /** Where no place has all of it, of the depth alone: then the queue has to become empty. */
  async queue(): Promise<Queue> {
    const figures = await this.#read(['depth', 'awaiting-retry', 'size']);
    if (figures === null) return { waiting: await this.#depth(), retrying: null, entered: null };
    const [depth = 0, retrying = 0, entered = 0] = figures;
    return { waiting: Math.max(0, depth - retrying), retrying, entered };
  }

  /** null: no place has all of them just now. */
  async #read(wanted: readonly Figure[]): Promise<readonly number[] | null> {
    for (const place of this.#places) {
      try {
        const found = (await place(this.#client, wanted)).filter((figure) => figure !== null);
        if (found.length === wanted.length) return found;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        if (error.isForGood) this.#places.delete(place);
      }
    }
    return null;
  }

  async #depth(): Promise<number> {
    const path = '/status/v1/services/puppetdb-status';
    const { status } = await this.#client.askJson({ method: 'GET', path }, isMap);
    const depth = isMap(status) ? status['queue_depth'] : null;
    return typeof depth === 'number' ? depth : 0;
  }
}
