// Columns that hold a whole document of a node: its facts, its packages, its catalog's resources and edges. They are put
// together from the records of the items; what an item contributes is kept from its second use on, because most items are
// shared by many nodes.

import { type ByteWriter, type Piece, pieceOf } from '../../../bytes.ts';
import { CLOSE_LIST, CLOSE_MAP, COLON, COMMA, OPEN_LIST, OPEN_MAP } from '../../../json/ascii.ts';
import { Scratch } from '../../../store/file/lmdb.ts';
import type { DictionaryView, RecordReader } from '../../../store/items/dictionary-view.ts';
import { Ids } from '../../../store/items/ids.ts';
import {
  EDGE,
  FACT,
  PACKAGE,
  RESOURCE,
  type StoredEdge,
  type StoredFact,
  type StoredResource,
  TARGET,
} from '../../../store/records/bodies.ts';
import { COPY_MAX, Copies } from '../../../store/records/copies.ts';
import type { Fields } from '../../../store/records/fields.ts';
import { NODE_TEXT, type StoredNode } from '../../../store/records/node-record.ts';
import { placeOf } from '../../../store/records/own-tag.ts';
import type { ItemId, NodeId } from '../../../store/records/records.ts';
import type { View } from '../../../store/view.ts';
import { type FactForm, type FactLease, leaseKernel } from './fact-kernel.ts';
import { KeptItems } from './item-states.ts';

/** Bytes of kept texts per document and partition. */
const KEPT_MAX = 4 << 20;

/** The texts of all items of a list. */
interface ListTexts {
  /** Appends them, each entry's last number is the item: `open` stands instead of the first one's comma. The list is not empty. */
  writeAll(list: Ids, open: number, copies: Copies, out: ByteWriter): void;
}

/** What each item contributes to a kind of document. */
class ItemTexts<R extends Fields> implements ListTexts {
  readonly #reader: RecordReader<R>;
  readonly #stride: number;
  /** The text begins with a comma. */
  readonly #render: (record: R, out: ByteWriter) => void;
  readonly #kept: KeptItems<Uint8Array>;
  #room = KEPT_MAX;

  constructor(items: DictionaryView<unknown, R>, render: (record: R, out: ByteWriter) => void) {
    this.#reader = items.reader();
    this.#stride = items.stride;
    this.#render = render;
    this.#kept = new KeptItems(items.end);
  }

  writeAll({ length, values }: Ids, open: number, copies: Copies, out: ByteWriter): void {
    const start = out.length;
    const stride = this.#stride;
    const hasCopies = copies.size > 0;
    for (let i = stride - 1; i < length; i += stride) {
      const item = values[i]!;
      const copy = copies.find(item);
      if (copy === 0) this.#write(item, hasCopies, out);
      else this.#render(this.#reader.at(copies.bytes, copy), out);
    }
    out.bytes[start] = open;
  }

  /** The item's text. `hasCopies`: short ones that only this node has would be among them. */
  #write(item: ItemId, hasCopies: boolean, out: ByteWriter): void {
    const kept = this.#kept.get(item);
    if (kept !== undefined) {
      out.put(kept);
      return;
    }
    const start = out.length;
    this.#render(this.#reader.glance(item), out);
    const isShared = hasCopies && out.length - start <= COPY_MAX;
    if (this.#room <= 0 || !(isShared || this.#kept.meets(item))) return;
    const text = out.copyFrom(start);
    this.#room -= text.length;
    this.#kept.keep(item, text);
  }
}

/** Of lists beside which there are none. */
const NO_COPIES = new Copies();

export const DATA = pieceOf('{"data":');
export const NULL = pieceOf('null');
const NEXT_LIST = pieceOf(',[');
const NOTHING = new Uint8Array(0);
/** A fact in the object of all, and in the list. */
const MEMBER: FactForm = { before: pieceOf(','), after: pieceOf(''), isRow: false };
const ELEMENT: FactForm = { before: pieceOf(',{"name":'), after: pieceOf('}'), isRow: true };
/** For so many nodes of a partition no kernel is worth its while. */
const FEW_NODES = 32;
const HREF = pieceOf(',"href":"/pdb/query/v4/');
const TRUE_TEXT = pieceOf('true');
const FALSE_TEXT = pieceOf('false');

export const writeBoolean = (value: boolean, out: ByteWriter): void => out.piece(value ? TRUE_TEXT : FALSE_TEXT);

/** Fields of an object in the order of an expanded document: the text before each, and its place in the record. */
type Members = readonly { readonly before: Piece; readonly place: number }[];
/** Behind `open`. */
const members = (open: ',{' | ',', record: Readonly<Record<string, number>>): Members =>
  Object.entries(record).map(([key, place], i) => ({ before: pieceOf(`${i === 0 ? open : ','}"${key}":`), place }));

function writeMembers(list: Members, { record }: Fields, out: ByteWriter): void {
  for (let i = 0; i < list.length; i++) {
    const { before, place } = list[i]!;
    out.piece(before);
    record.write(place, out);
  }
}

const RESOURCE_HEAD = members(',{', { resource: RESOURCE.hash, type: RESOURCE.type, title: RESOURCE.title });
const TAGS = pieceOf(',"tags":');
const EXPORTED = pieceOf(',"exported":');
const RESOURCE_TAIL = members(',', { file: RESOURCE.file, line: RESOURCE.line, parameters: RESOURCE.parameters });

const EDGE_SOURCE = members(',{', { source_type: EDGE.sourceType, source_title: EDGE.sourceTitle });
const EDGE_TARGET = [
  { before: pieceOf(',"target_type":'), place: TARGET.type },
  { before: pieceOf(',"target_title":'), place: TARGET.title },
  { before: pieceOf(',"relationship":'), place: TARGET.relationship },
] as const;

const renderFact =
  ({ before, after, isRow }: FactForm) =>
  ({ record }: StoredFact, out: ByteWriter): void => {
    out.piece(before);
    if (isRow) record.writeSpan(FACT.name, FACT.value, out);
    else {
      record.write(FACT.name, out);
      out.byte(COLON);
      record.write(FACT.value, out);
    }
    out.piece(after);
  };

function renderPackage({ record }: Fields, out: ByteWriter): void {
  out.piece(NEXT_LIST);
  record.write(PACKAGE.name, out);
  out.byte(COMMA);
  record.write(PACKAGE.version, out);
  out.byte(COMMA);
  record.write(PACKAGE.provider, out);
  out.byte(CLOSE_LIST);
}

function renderResourceHead(resource: StoredResource, out: ByteWriter): void {
  writeMembers(RESOURCE_HEAD, resource, out);
  out.piece(TAGS);
}

function renderResourceTail(resource: StoredResource, out: ByteWriter): void {
  const { record } = resource;
  out.piece(EXPORTED);
  record.write(RESOURCE.exported, out);
  writeMembers(RESOURCE_TAIL, resource, out);
  out.byte(CLOSE_MAP);
}

function renderEdges(edge: StoredEdge, out: ByteWriter): void {
  const { targets } = edge;
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i]!;
    writeMembers(EDGE_SOURCE, edge, out);
    for (let t = 0; t < EDGE_TARGET.length; t++) {
      const { before, place } = EDGE_TARGET[t]!;
      out.piece(before);
      target.write(place, out);
    }
    out.byte(CLOSE_MAP);
  }
}

/** The facts of a partition's nodes: by a kernel where many are asked for, else one by one. */
class FactTexts implements ListTexts {
  readonly #items: DictionaryView<unknown, StoredFact>;
  readonly #form: FactForm;
  readonly #texts: ItemTexts<StoredFact>;
  readonly #bodyOf: (item: ItemId) => Buffer;
  #nodes = 0;
  #lease: FactLease | null = null;

  constructor(items: DictionaryView<unknown, StoredFact>, form: FactForm) {
    this.#items = items;
    this.#form = form;
    this.#texts = new ItemTexts(items, renderFact(form));
    const reader = items.reader();
    this.#bodyOf = (item) => reader.bytes(item);
  }

  writeAll(list: Ids, open: number, copies: Copies, out: ByteWriter): void {
    if (++this.#nodes === FEW_NODES) this.#lease = leaseKernel(this.#items.identity, this.#items.end, this.#form);
    const start = out.length;
    if (this.#lease?.write(list, copies, this.#bodyOf, out) === true) out.bytes[start] = open;
    else this.#texts.writeAll(list, open, copies, out);
  }
}

/** A resource of the catalog document: its text is kept in two halves, because a node's own tag stands between them. */
interface ResourceText {
  readonly record: StoredResource;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** The node that a document is made of, as a row shows it. */
interface DocumentNode {
  readonly nodeId: NodeId;
  readonly node: StoredNode;
  /** Name and item of each fact. */
  readonly factList: Ids;
  /** Where its certname stands among tags. */
  readonly ownRank: number;
  /** Appends the JSON text of its certname. */
  writeName(out: ByteWriter): void;
}

export class Documents {
  readonly #view: View;
  #facts: FactTexts | null = null;
  #factRows: FactTexts | null = null;
  #packages: ItemTexts<Fields> | null = null;
  #edges: ItemTexts<StoredEdge> | null = null;
  #resources: KeptItems<ResourceText> | null = null;
  #resourceReader: RecordReader<StoredResource> | null = null;
  #room = KEPT_MAX;
  /** Of the document at hand. */
  readonly #list = new Ids();
  readonly #copies = new Copies();
  readonly #copiesScratch = new Scratch();

  constructor(view: View) {
    this.#view = view;
  }

  /** The object of all facts. */
  facts(row: DocumentNode, out: ByteWriter): void {
    this.#facts ??= new FactTexts(this.#view.facts, MEMBER);
    const { factList } = row;
    if (factList.length === 0) out.byte(OPEN_MAP);
    else this.#facts.writeAll(factList, OPEN_MAP, this.#copiesOf(row), out);
    out.byte(CLOSE_MAP);
  }

  /** The expanded facts of a factset. */
  factset(row: DocumentNode, out: ByteWriter): void {
    this.#factRows ??= new FactTexts(this.#view.facts, ELEMENT);
    out.piece(DATA);
    writeList(out, this.#factRows, row.factList, this.#copiesOf(row));
    href(out, row.node, NODE_TEXT.certname, 'factsets/', '/facts');
  }

  /** Copies of the node's own facts, beside a list that was read before. */
  #copiesOf(row: DocumentNode): Copies {
    this.#view.facts.readCopies(row.nodeId, this.#copies, this.#copiesScratch);
    return this.#copies;
  }

  /** Whether the node has sent any. */
  hasPackages(row: DocumentNode): boolean {
    this.#view.packages.readList(row.nodeId, this.#list);
    return this.#list.length > 0;
  }

  /** [name, version, provider] of each package. */
  packages(row: DocumentNode, out: ByteWriter): void {
    this.#packages ??= new ItemTexts(this.#view.packages, renderPackage);
    this.#view.packages.readList(row.nodeId, this.#list);
    if (this.#list.length > 0) writeList(out, this.#packages, this.#list);
    else out.text('[]');
  }

  /** The expanded resources of a catalog. */
  resources(row: DocumentNode, out: ByteWriter): void {
    this.#view.resources.readList(row.nodeId, this.#list);
    const { length, values } = this.#list;
    out.piece(DATA);
    if (length === 0) out.piece(NULL);
    else {
      const start = out.length;
      for (let i = 0; i < length; i++) this.#resource(values[i]!, row, out);
      out.bytes[start] = OPEN_LIST;
      out.byte(CLOSE_LIST);
    }
    href(out, row.node, NODE_TEXT.certname, 'catalogs/', '/resources');
  }

  #resource(item: ItemId, row: DocumentNode, out: ByteWriter): void {
    this.#resources ??= new KeptItems(this.#view.resources.end);
    const kept = this.#resources.get(item);
    if (kept !== undefined) {
      out.put(kept.head);
      writeTags(kept.record, row, out);
      out.put(kept.tail);
      return;
    }
    const isShared = this.#resources.meets(item) && this.#room > 0;
    this.#resourceReader ??= this.#view.resources.reader();
    const record = isShared ? this.#view.resources.record(item) : this.#resourceReader.read(item);
    const start = out.length;
    renderResourceHead(record, out);
    const head = isShared ? out.copyFrom(start) : NOTHING;
    writeTags(record, row, out);
    const middle = out.length;
    renderResourceTail(record, out);
    if (!isShared) return;
    const tail = out.copyFrom(middle);
    this.#room -= head.length + tail.length;
    this.#resources.keep(item, { record, head, tail });
  }

  /** The expanded edges of a catalog. */
  edges(row: DocumentNode, out: ByteWriter): void {
    this.#edges ??= new ItemTexts(this.#view.edges, renderEdges);
    this.#view.edges.readList(row.nodeId, this.#list);
    out.piece(DATA);
    writeList(out, this.#edges, this.#list);
    href(out, row.node, NODE_TEXT.certname, 'catalogs/', '/edges');
  }
}

/** The items' texts as a list; null without items. */
function writeList(out: ByteWriter, texts: ListTexts, list: Ids, copies = NO_COPIES): void {
  if (list.length === 0) {
    out.piece(NULL);
    return;
  }
  texts.writeAll(list, OPEN_LIST, copies, out);
  out.byte(CLOSE_LIST);
}

/** The link that ends an expanded document: `owner` has its identity as JSON text. */
export function href(
  out: ByteWriter,
  { record: owner }: Fields,
  identity: number,
  before: string,
  after: string,
): void {
  out.piece(HREF);
  out.text(before);
  out.part(owner.bytes, owner.startOf(identity) + 1, owner.endOf(identity) - 1);
  out.text(after);
  out.text('"}');
}

/** A resource's tags on the row's node. */
export function writeTags(resource: StoredResource, row: DocumentNode, out: ByteWriter): void {
  if (!resource.ownTag) {
    resource.write(RESOURCE.tags, out);
    return;
  }
  const { places } = resource;
  const place = placeOf(places, row.ownRank);
  out.put(places.before[place]!);
  row.writeName(out);
  out.put(places.after[place]!);
}
