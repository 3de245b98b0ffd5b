// replace catalog on a partition (command document 3.2).

import { RESOURCE_BY_TYPE_TITLE } from '../store/dictionary.ts';
import type { Batch } from '../store/partition.ts';
import type { EdgeBody, ItemId, NodeId, ResourceBody } from '../store/records.ts';
import { activate, assertStorable, recordOf, recordOfCertname } from './activation.ts';
import type { Applied } from './apply.ts';
import type { CatalogCommand, CatalogContents, DecodedResource } from './commands.ts';

export function applyCatalog(batch: Batch, command: CatalogCommand): Applied {
  const { certname, producerTimestamp, environment, producer, hash } = command;
  const stored = recordOfCertname(batch, certname)?.catalog ?? null;
  const isStale = stored !== null && stored.producerTimestamp > producerTimestamp;
  if (isStale) {
    activate(batch, certname, producerTimestamp);
    return { detail: 'stale', hash: null, unchanged: false };
  }
  assertStorable(command.refusal);
  const unchanged = stored?.hash === hash;
  const contents = unchanged ? null : command.contents((memo) => batch.resources.recall(memo));
  if (contents !== null) assertStorable(contents.refusal);
  const id = activate(batch, certname, producerTimestamp);
  if (contents !== null) writeCatalog(batch, id, contents);
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
  return { detail: 'stored', hash, unchanged };
}

function writeCatalog(batch: Batch, id: NodeId, { resources, edges }: CatalogContents): void {
  const before = batch.resources.list(id);
  const kept = before.length === 0 ? null : new Set(before);
  const items = new Uint32Array(resources.length);
  for (let index = 0; index < resources.length; index++) {
    const resource = resources[index] as DecodedResource;
    const isWhole = kept === null || (resource.fileGiven && resource.lineGiven);
    items[index] = isWhole ? itemOf(batch, resource) : completed(batch, resource, kept);
  }
  batch.setResources(id, items);
  const groups = new Uint32Array(edges.length);
  for (let index = 0; index < edges.length; index++) groups[index] = batch.edges.intern(edges[index] as EdgeBody).id;
  batch.setEdges(id, groups);
}

/** More bodies than this with one type and title: looking through the node's own list is cheaper. */
const LOOKUP_MAX = 64;

function itemOf(batch: Batch, { item, body, memo }: DecodedResource): ItemId {
  return item !== 0 ? item : batch.resources.intern(body as ResourceBody, memo).id;
}

/** The resource with `file` and `line` as they are stored for the node, where the command does not mention them. */
function completed(batch: Batch, resource: DecodedResource, kept: ReadonlySet<number>): ItemId {
  if (kept.has(resource.item)) return resource.item;
  const stored = storedResource(batch, resource, kept);
  if (stored === undefined) return itemOf(batch, resource);
  const body = resource.body ?? batch.view.resources.body(resource.item);
  const file = resource.fileGiven ? body.file : stored.file;
  const line = resource.lineGiven ? body.line : stored.line;
  if (file === body.file && line === body.line) return itemOf(batch, resource);
  return batch.resources.intern({ ...body, file, line }).id;
}

function storedResource(batch: Batch, resource: DecodedResource, kept: ReadonlySet<number>): ResourceBody | undefined {
  const { type, title } = resource;
  const { resources } = batch.view;
  const isFew = resources.estimate(RESOURCE_BY_TYPE_TITLE, [type, title], LOOKUP_MAX + 1) <= LOOKUP_MAX;
  const candidates = isFew ? resources.lookup(RESOURCE_BY_TYPE_TITLE, [type, title]) : kept;
  for (const item of candidates) {
    if (isFew && !kept.has(item)) continue;
    const body = resources.body(item);
    // Index entries of long titles are shortened: the body decides.
    if (body.type === type && body.title === title) return body;
  }
  return undefined;
}
