// replace catalog: from a payload that conforms to the wire table to a CatalogCommand. Resources and edges are checked and
// hashed in one pass; what is only needed to store them is made when `contents` is called.

import { REPLACE_CATALOG } from '../../../../schemas/commands/catalog.ts';
import { isEmpty, type WireTable } from '../../../../schemas/commands/format.ts';
import { textOf } from '../../../bytes.ts';
import { canonicalK, canonicalS, quote } from '../../../json/canonical.ts';
import { storedText } from '../../../json/stored.ts';
import { Float, isObject, type JsonObject, type JsonValue } from '../../../json/value.ts';
import type { BodyRef } from '../../../store/items/refs.ts';
import { hasOwnTag } from '../../../store/records/own-tag.ts';
import type { ItemId, ResourceBody } from '../../../store/records/records.ts';
import { parseLenient } from '../../../time.ts';
import type { FactsFilter } from '../../command/blocklist.ts';
import { Columns, nulIn } from '../../command/columns.ts';
import type { CatalogCommand, CatalogContents, DecodedResource } from '../../command/commands.ts';
import { blamingPayload } from '../../command/errors.ts';
import { catalogHash, resourceHash } from '../../command/hashes.ts';
import { measured } from '../../command/meter.ts';
import { excerpt } from '../../command/validate.ts';
import { parseElement } from '../../known/elements.ts';
import { GIVEN } from '../../known/sent-resources.ts';
import { isAsThen, type Memo, type Part, partOf } from '../../known/spans.ts';
import { boundDropped, type CommandReader, type Recollection, UNBOUNDED_DEPTH } from '../command-reader.ts';
import { edgeGroups, type ReadEdges, readEdges } from './catalog-edges.ts';
import { laidOut, rememberLayout, type SentEdges, sentEdges } from './catalog-layouts.ts';
import {
  ordered,
  orderOf,
  type PlacedResource,
  type ReadResources,
  readResources,
  resourcesOfList,
  sentOf,
} from './catalog-resources.ts';
import { type CatalogLists, type OrderedLists, readNamed } from './named-edges.ts';
import { describeSpec, isTextOf, PARAMETERS_DEPTH, PlainParts, tagsOf } from './read-resource.ts';

type CatalogHeaderFields = Omit<CatalogCommand, 'kind' | 'hash' | 'edgesOf' | 'memo' | 'contents' | 'received'>;

/** The fields that are not part of `resources` or `edges`. */
function catalogHeader(payload: JsonObject): CatalogHeaderFields {
  const columns = new Columns();
  const text = (key: string): string => columns.text(payload[key] as string, key);
  const textOrNull = (key: string): string | null => columns.textOrNull((payload[key] ?? null) as string | null, key);
  const uuid = (key: string): string | null => columns.uuid((payload[key] ?? null) as string | null, key);
  return {
    certname: text('certname'),
    producerTimestamp: parseLenient(payload['producer_timestamp'] as JsonValue) as number,
    version: text('version'),
    environment: textOrNull('environment'),
    transactionUuid: uuid('transaction_uuid'),
    catalogUuid: uuid('catalog_uuid'),
    codeId: textOrNull('code_id'),
    jobId: textOrNull('job_id'),
    producer: textOrNull('producer'),
    refusal: columns.refusal,
  };
}

/** The command of that header. */
function catalogCommand(
  header: CatalogHeaderFields,
  received: number,
  hash: string,
  contents: CatalogCommand['contents'],
  edgesOf: string | null = null,
): CatalogCommand {
  return {
    kind: 'catalog',
    ...header,
    received,
    hash,
    edgesOf,
    memo: null,
    contents: (recall) => blamingPayload(() => contents(recall)),
  };
}

/** Other members are dropped. */
const KNOWN_KEYS: ReadonlySet<string> = new Set((REPLACE_CATALOG.table as WireTable).fields.map(({ name }) => name));

/** Throws CommandFailure (`invalid`) for what the wire table cannot say, JsonError when nested too deeply. */
function decodeCatalog(payload: JsonObject, received: number): CatalogCommand {
  const header = catalogHeader(payload);
  boundDropped(payload, KNOWN_KEYS, 1);
  const list = readResources(payload['resources'] as readonly JsonValue[]);
  const { resources, edges } = readValues(list, payload['edges'] as JsonValue);
  const { certname } = header;
  return catalogCommand(header, received, hashOf(certname, edges, resources), (recall) =>
    contentsOf(resources, edges, certname, recall),
  );
}

/**
 * The same from the bytes of the two lists. Elements that are known from other nodes or runs, or stored, are not parsed again; edges are read by
 * the names of resources, and not at all when the whole layout is known. Null when a part is not a JSON list: the whole payload says what is wrong.
 */
function decodeCatalogParts(
  payload: JsonObject,
  received: number,
  parts: readonly Part[],
  _filter: FactsFilter,
  stored: Recollection,
  last: Memo | null,
): CatalogCommand | null {
  const resourcesPart = partOf(parts, 'resources');
  const edgesPart = partOf(parts, 'edges');
  if (resourcesPart === null || edgesPart === null) return null;
  const header = catalogHeader(payload);
  const { certname } = header;
  const sent = sentEdges(edgesPart, certname);
  if (sent === null) return null;
  const list = resourcesOfList(resourcesPart.bytes, certname, stored.resources(certname));
  const read = list === null ? null : (laidOut(sent, list, certname) ?? readLists(list, sent, certname));
  if (read === null) return null;
  const { resources, edges } = read;
  const contents = (recall: (ref: BodyRef) => ItemId) => contentsOf(resources, edges, certname, recall);
  const edgesOf = last !== null && isAsThen(edgesPart, last) ? last.hash : null;
  return catalogCommand(header, received, hashOf(certname, edges, resources), contents, edgesOf);
}

export const CATALOG_READER: CommandReader<CatalogCommand> = {
  format: REPLACE_CATALOG,
  limits: UNBOUNDED_DEPTH,
  read: decodeCatalog,
  readBytes: null,
  parts: {
    memo: 'catalog',
    kinds: { resources: 'list', edges: 'list' },
    contextOf: (payload) => canonicalS(payload['certname'] ?? null),
    known: (payload, received, hash, whole) =>
      catalogCommand(catalogHeader(payload), received, hash, (recall) => whole().contents(recall)),
    read: decodeCatalogParts,
  },
};

/** Null when the edges are not a JSON list. */
function readLists(list: readonly PlacedResource[], sent: SentEdges, certname: string): CatalogLists | null {
  const read = readNamed(list, sent.bytes) ?? readUnusual(list, sent.bytes);
  if (read !== null) rememberLayout(sent, list, read, certname);
  return read;
}

/** The same by way of values, for names and edges that are unusual, or wrong. */
function readUnusual(list: readonly PlacedResource[], sent: Buffer): OrderedLists | null {
  const edges = parseElement(textOf(sent));
  return Array.isArray(edges) ? readValues(list, edges) : null;
}

function readValues(list: readonly PlacedResource[], edges: JsonValue): OrderedLists {
  const order = orderOf(list);
  const resources = ordered(list, order);
  return { resources, order, edges: readEdges(edges, resources) };
}

const hashOf = (certname: string, edges: ReadEdges, resources: ReadResources): string =>
  measured('catalog-hash', () =>
    catalogHash(certname, edges.texts, resources.texts, resources.isAscii && edges.isPlain),
  );

function contentsOf(
  { list }: ReadResources,
  edges: ReadEdges,
  certname: string,
  recall: (ref: BodyRef) => ItemId,
): CatalogContents {
  const columns = new Columns();
  const resources: DecodedResource[] = [];
  for (let index = 0; index < list.length; index++) {
    const placed = list[index] as PlacedResource;
    columns.about(placed.resource, describeResource);
    resources.push(decodedResource(placed, certname, recall, columns));
  }
  columns.aboutAll();
  checkDistinct(list, resources, columns);
  return {
    resources,
    edges: () => blamingPayload(() => edgeGroups(edges, list, resources, certname)),
    refusal: columns.refusal,
  };
}

const describeResource = ({ type, title }: PlacedResource['resource']): string =>
  `Resource ${describeSpec(type ?? null, title ?? null)}`;

function decodedResource(
  placed: PlacedResource,
  certname: string,
  recall: (ref: BodyRef) => ItemId,
  columns: Columns,
): DecodedResource {
  const { ref, type, title, given } = placed.resource;
  const item = recall(ref);
  const body = item === 0 ? storedResource(placed, certname, columns) : null;
  return {
    type: nameColumn(type, 'type', columns),
    title: nameColumn(title, 'title', columns),
    ref,
    item,
    body,
    known: knownBy(placed, body),
    fileGiven: (given & GIVEN.file) !== 0,
    lineGiven: (given & GIVEN.line) !== 0,
  };
}

/** By what the resource is known when it comes again: by the digest of its text, if the body says all that the text does. */
function knownBy({ digest, resource }: PlacedResource, body: ResourceBody | null): DecodedResource['known'] {
  if (digest === null || (body !== null && !isTextOf(resource, body))) return null;
  return { digest, flags: resource.given };
}

function storedResource(placed: PlacedResource, certname: string, columns: Columns): ResourceBody {
  const { own } = placed;
  const { type, title, text, parametersStart, parametersEnd } = placed.resource;
  const tags = tagsOf(placed.resource);
  const ownTag = own || hasOwnTag(tags, certname);
  const shared = ownTag && !own ? tags.filter((tag) => tag !== certname) : tags;
  const parameters = parametersStart === parametersEnd ? 'null' : text.slice(parametersStart, parametersEnd);
  const sent = sentOf(placed, certname);
  const { exported, file, line, parameters: stored } = sent instanceof PlainParts ? sent : columnsOf(sent, columns);
  return {
    type: nameColumn(type, 'type', columns),
    title: nameColumn(title, 'title', columns),
    hash: resourceHash(identityText(type), identityText(title), parameters),
    tags: shared,
    ownTag,
    exported,
    file,
    line: columns.integer(line, 'line'),
    parameters: stored,
  };
}

function columnsOf(
  { exported, file, line, parameters = null }: JsonObject,
  columns: Columns,
): Pick<ResourceBody, 'exported' | 'file' | 'parameters'> & { readonly line: JsonValue } {
  if (typeof exported !== 'boolean') columns.refuse('exported is missing, or no Boolean.');
  if (!isObject(parameters) && !isEmpty(parameters)) columns.refuse('parameters are no map.');
  return {
    exported: exported === true,
    file: file === undefined || file === null ? null : columnText(file, 'file', columns),
    line: line ?? null,
    parameters: isObject(parameters) ? parametersText(parameters, columns) : '{}',
  };
}

function parametersText(parameters: JsonObject, columns: Columns): string {
  for (const key in parameters) {
    if (key.includes('\u0000')) columns.refuse(nulIn(`parameter name ${excerpt(key)}`));
  }
  return storedText(parameters, PARAMETERS_DEPTH);
}

const identityText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? quote(value) : canonicalK(value ?? null);

/** A column with a name of the resource: false is none. */
function nameColumn(value: JsonValue | undefined, name: string, columns: Columns): string {
  if (value === false) columns.refuse(`${name} is no text.`);
  return columnText(value, name, columns);
}

/** Numbers and Booleans are taken as types, titles and files, and stored as their text. */
function columnText(value: JsonValue | undefined, name: string, columns: Columns): string {
  if (typeof value === 'string') return columns.text(value, name);
  if (value === undefined || value === null || (typeof value === 'object' && !(value instanceof Float))) {
    columns.refuse(`${name} is ${value === null || value === undefined ? 'missing' : 'no text'}.`);
    return '';
  }
  const text = canonicalK(value);
  // Infinity, of which JSON has no number.
  return text.startsWith('"') ? text.slice(1, -1) : text;
}

/** Notes names that only become the same when they are stored: as texts 5 and "5" are one title. */
function checkDistinct(list: readonly PlacedResource[], resources: readonly DecodedResource[], columns: Columns): void {
  if (list.every(({ resource: { title, type } }) => typeof title === 'string' && typeof type === 'string')) return;
  const seen = new Set<string>();
  for (const { type, title } of resources) {
    const key = `${type}\u0000${title}`;
    if (seen.has(key)) columns.refuse(`Duplicate resource: ${describeSpec(type, title)}`);
    seen.add(key);
  }
}
