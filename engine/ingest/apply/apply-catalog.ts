// replace catalog on a partition (spec/commands.md 3.2).

import type { Batch } from '../../store/batch.ts';
import type { KnownItem } from '../../store/items/known-items.ts';
import type { BodyRef } from '../../store/items/refs.ts';
import { RESOURCE } from '../../store/records/bodies.ts';
import type { ItemId, NodeId, ResourceBody } from '../../store/records/records.ts';
import type { CatalogCommand, CatalogContents, DecodedEdges, DecodedResource } from '../command/commands.ts';
import { assertStorable } from '../command/errors.ts';
import { counted, measured } from '../command/meter.ts';
import type { Applied } from '../command/types.ts';
import { activate, applyStale, recordOf, recordOfCertname } from './activation.ts';

export function applyCatalog(batch: Batch, command: CatalogCommand): Applied {
  const { certname, producerTimestamp, environment, producer, hash } = command;
  const stored = recordOfCertname(batch, certname)?.catalog ?? null;
  if (stored !== null && stored.producerTimestamp > producerTimestamp) return applyStale(batch, command);
  assertStorable(command.refusal);
  const unchanged = stored?.hash === hash;
  const recall = (ref: BodyRef) => batch.resources.recall(ref);
  const contents = unchanged ? null : measured('resource-hashes', () => command.contents(recall));
  if (contents !== null) assertStorable(contents.refusal);
  // Edges that are those of the stored catalog are stored already.
  const hasEdges = stored !== null && command.edgesOf === stored.hash;
  const edges = contents === null || hasEdges ? null : contents.edges();
  const id = activate(batch, certname, producerTimestamp);
  if (contents !== null) {
    measured('add-resources', () => writeResources(batch, id, contents.resources));
    measured('add-edges', () => {
      if (edges !== null) writeEdges(batch, id, edges);
    });
  }
  batch.addEnvironment(environment);
  batch.addProducer(producer);
  const catalog = {
    version: command.version,
    environment,
    transactionUuid: command.transactionUuid,
    catalogUuid: command.catalogUuid,
    codeId: command.codeId,
    jobId: command.jobId,
    producer,
    producerTimestamp,
    timestamp: command.received,
    hash,
  };
  batch.putNode(id, { ...recordOf(batch, id), catalog });
  if (command.memo !== null) batch.setMemo('catalog', id, command.memo);
  return { detail: 'stored', hash, unchanged, isFirst: stored === null };
}

function writeResources(batch: Batch, id: NodeId, resources: CatalogContents['resources']): void {
  const before = batch.resources.list(id);
  const kept = before.length === 0 ? null : new StoredResources(batch, before, resources);
  const items = new Uint32Array(resources.length);
  const known: KnownItem[] = [];
  for (let index = 0; index < resources.length; index++) {
    const resource = resources[index] as DecodedResource;
    const isWhole = kept === null || (resource.fileGiven && resource.lineGiven);
    const item = isWhole ? itemOf(batch, resource) : completed(batch, resource, index, kept);
    items[index] = item;
    if (resource.known !== null) known.push({ digest: resource.known.digest, item, flags: resource.known.flags });
  }
  batch.setResources(id, items, known);
  if (kept !== null) counted('catalog-volitilty', kept.changes(items));
}

function writeEdges(batch: Batch, id: NodeId, edges: readonly DecodedEdges[]): void {
  const groups = new Uint32Array(edges.length);
  for (let index = 0; index < edges.length; index++) {
    const { body, ref } = edges[index] as DecodedEdges;
    groups[index] = batch.edges.intern(body, ref).id;
  }
  batch.setEdges(id, groups);
}

function itemOf(batch: Batch, { item, body, ref }: DecodedResource): ItemId {
  return item !== 0 ? item : batch.resources.intern(body as ResourceBody, ref).id;
}

/** The resource; what the command does not mention of its `file` and `line` is as it is stored for the node. */
function completed(batch: Batch, resource: DecodedResource, index: number, kept: StoredResources): ItemId {
  if (kept.has(resource.item, index)) return resource.item;
  const stored = kept.find(resource.type, resource.title);
  if (stored === undefined) return itemOf(batch, resource);
  const body = resource.body ?? batch.view.resources.body(resource.item);
  const file = resource.fileGiven ? body.file : stored.file;
  const line = resource.lineGiven ? body.line : stored.line;
  if (file === body.file && line === body.line) return itemOf(batch, resource);
  return batch.resources.intern({ ...body, file, line }).id;
}

/** The resources a node has before its new catalog, those of this transaction included. */
class StoredResources {
  readonly #batch: Batch;
  readonly #before: Uint32Array;
  readonly #next: CatalogContents['resources'];
  /** Catalogs of a node are alike: only those that the new one does not have at the same place. */
  readonly #elsewhere = new Set<ItemId>();
  #byName: Map<string, ItemId> | null = null;

  /** `next`: the resources of the new catalog. */
  constructor(batch: Batch, before: Uint32Array, next: CatalogContents['resources']) {
    this.#batch = batch;
    this.#before = before;
    this.#next = next;
    for (let index = 0; index < before.length; index++) {
      const item = before[index] as ItemId;
      if (next[index]?.item !== item) this.#elsewhere.add(item);
    }
  }

  /** `index`: where the new catalog has it. */
  has(item: ItemId, index: number): boolean {
    return this.#before[index] === item || this.#elsewhere.has(item);
  }

  /** Resources that a new list adds, takes away or changes; one that is changed is another item of the same name. */
  changes(items: Uint32Array): number {
    let same = 0;
    for (let index = 0; index < items.length; index++) if (this.has(items[index] as ItemId, index)) same++;
    return Math.max(items.length, this.#before.length) - same;
  }

  /** The stored resource of that name, if the new catalog does not have the very item. */
  find(type: string, title: string): ResourceBody | undefined {
    if (this.#byName === null) {
      this.#byName = new Map();
      // Names are unique in a catalog: what stays as it is has none of the other names.
      const others = new Set(this.#elsewhere);
      for (let index = 0; index < this.#next.length; index++)
        others.delete((this.#next[index] as DecodedResource).item);
      const reader = this.#batch.view.resources.reader();
      for (const item of others) {
        const record = reader.read(item);
        this.#byName.set(nameOf(record.string(RESOURCE.type), record.string(RESOURCE.title)), item);
      }
    }
    const found = this.#byName.get(nameOf(type, title));
    return found === undefined ? undefined : this.#batch.view.resources.body(found);
  }
}

const nameOf = (type: string | null, title: string | null): string => `${type}\u0000${title}`;
