// Resources that a node sent with its last catalog, known by a digest of the text they came as. A part of every catalog belongs to one node only,
// which for thousands of nodes is too much to be kept in memory: what such a text says is read from the stored body.

import type { Batch } from '../../store/batch.ts';
import type { RecordReader } from '../../store/items/dictionary-view.ts';
import type { KnownItems } from '../../store/items/known-items.ts';
import { BodyRef } from '../../store/items/refs.ts';
import type { StoredResource } from '../../store/records/bodies.ts';

/** A resource as it is stored. */
export interface SentResource {
  readonly ref: BodyRef;
  /** Which of the fields that may be left out the text has: GIVEN. */
  readonly given: number;
  /** The body, until the next one is looked for. */
  record(): StoredResource;
}

/** Of one node. */
export interface ResourceMemory {
  /** The resource that came as a text of that digest (`digestText`). */
  find(digest: string): SentResource | null;
}

/** Fields that a text may leave out, and a body always has. */
export const GIVEN = { file: 1, line: 2, parameters: 4 } as const;

export class SentResources implements ResourceMemory {
  readonly #batch: Batch;
  readonly #known: KnownItems;
  readonly #reader: RecordReader<StoredResource>;

  constructor(batch: Batch, known: KnownItems) {
    this.#batch = batch;
    this.#known = known;
    this.#reader = batch.view.resources.reader();
  }

  find(digest: string): SentResource | null {
    const known = this.#known;
    const place = known.find(digest);
    if (place < 0) return null;
    const item = known.item(place);
    const ref = new BodyRef();
    this.#batch.partition.resources.refs.set(ref, item);
    return { ref, given: known.flags(place), record: () => this.#reader.glance(item) };
  }
}
