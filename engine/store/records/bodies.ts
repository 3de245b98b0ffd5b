// The bodies of the dictionaries as they are stored and as queries read them: `fields.ts` records in which every field is
// the JSON text that answers show. `text…` gives the text that determines a body, its identity; `encode…` and `decode…` are
// for whoever wants the whole body; the Stored… classes read one field at a time. A field is added at the end, never moved.

import type { ByteWriter } from '../../bytes.ts';
import { type Compared, compareStoredValue } from '../../json/compare-stored.ts';
import { parseJson } from '../../json/parse.ts';
import { endOfString } from '../../json/scan.ts';
import type { JsonValue } from '../../json/value.ts';
import { encodeFields, Fields, fieldsShape, isTextAt, quoted, type WantedText } from './fields.ts';
import { type TagList, type TagPlaces, tagListAt } from './own-tag.ts';
import type { EdgeBody, FactBody, PackageBody, ResourceBody } from './records.ts';

// ------------------------------------------------------------------ resources

/** Places of a resource's texts. */
export const RESOURCE = {
  tags: 0,
  file: 1,
  type: 2,
  title: 3,
  line: 4,
  hash: 5,
  parameters: 6,
  exported: 7,
} as const;
export const RESOURCE_SHAPE = fieldsShape(0, ['', '', 'type', 'title', 'line', 'resource', '', 'exported']);
const OWN_TAG = 1;

export const textOfResource = (body: ResourceBody): string =>
  `${JSON.stringify([body.type, body.title, body.hash, body.tags, body.exported, body.file, body.line, ...(body.ownTag ? [1] : [])])}\n${body.parameters}`;

export function encodeResource(body: ResourceBody): Buffer {
  return encodeFields(
    RESOURCE_SHAPE,
    body.ownTag ? OWN_TAG : 0,
    [],
    [
      JSON.stringify(body.tags),
      quoted(body.file),
      JSON.stringify(body.type),
      JSON.stringify(body.title),
      String(body.line),
      JSON.stringify(body.hash),
      body.parameters,
      String(body.exported),
    ],
  );
}

export class StoredResource extends Fields {
  #parameters: JsonValue | undefined = undefined;
  #tags: TagList | null = null;

  constructor() {
    super(RESOURCE_SHAPE);
  }

  override load(bytes: Buffer, start = 0): void {
    super.load(bytes, start);
    this.#parameters = undefined;
    this.#tags = null;
  }

  get ownTag(): boolean {
    return (this.flags & OWN_TAG) !== 0;
  }

  /** Without the node's own. */
  get tags(): readonly string[] {
    return this.#tagList.tags;
  }

  /** Where the node's own tag can stand among the others. */
  get places(): TagPlaces {
    return this.#tagList.places;
  }

  get #tagList(): TagList {
    const { record } = this;
    this.#tags ??= tagListAt(record.bytes, record.startOf(RESOURCE.tags), record.endOf(RESOURCE.tags));
    return this.#tags;
  }

  get parameters(): JsonValue {
    if (this.#parameters === undefined) this.#parameters = parseJson(this.text(RESOURCE.parameters));
    return this.#parameters;
  }
}

export function decodeResource(bytes: Buffer): ResourceBody {
  const stored = new StoredResource();
  stored.load(bytes);
  return {
    type: stored.string(RESOURCE.type) as string,
    title: stored.string(RESOURCE.title) as string,
    hash: stored.string(RESOURCE.hash) as string,
    tags: stored.tags,
    ownTag: stored.ownTag,
    exported: stored.boolean(RESOURCE.exported) as boolean,
    file: stored.string(RESOURCE.file),
    line: JSON.parse(stored.text(RESOURCE.line)) as number | null,
    parameters: stored.text(RESOURCE.parameters),
  };
}

// ------------------------------------------------------------------ facts

export const FACT = { name: 0, value: 1 } as const;
export const FACT_SHAPE = fieldsShape(0, ['', 'value']);

export const textOfFact = (body: FactBody): string => `${JSON.stringify(body.name)}\n${body.value}`;
export const encodeFact = (body: FactBody): Buffer =>
  encodeFields(FACT_SHAPE, 0, [], [JSON.stringify(body.name), body.value]);

export class StoredFact extends Fields {
  #value: JsonValue | undefined = undefined;

  constructor() {
    super(FACT_SHAPE);
  }

  override load(bytes: Buffer, start = 0): void {
    super.load(bytes, start);
    this.#value = undefined;
  }

  get name(): string {
    return this.string(FACT.name) as string;
  }

  get value(): JsonValue {
    if (this.#value === undefined) this.#value = parseJson(this.text(FACT.value));
    return this.#value;
  }
}

export function decodeFact(bytes: Buffer): FactBody {
  const stored = new StoredFact();
  stored.load(bytes);
  return { name: stored.name, value: stored.text(FACT.value) };
}

// ------------------------------------------------------------------ edges

export const EDGE = { sourceType: 0, sourceTitle: 1, targets: 2 } as const;
export const EDGE_SHAPE = fieldsShape(0, ['', '', '']);
type TargetTuple = [relationship: string, type: string, title: string];

const tuples = (body: EdgeBody): TargetTuple[] =>
  body.targets.map((t) => [t.relationship, t.targetType, t.targetTitle]);

export const textOfEdge = (body: EdgeBody): string => JSON.stringify([body.sourceType, body.sourceTitle, tuples(body)]);

export const encodeEdge = (body: EdgeBody): Buffer =>
  encodeFields(
    EDGE_SHAPE,
    0,
    [],
    [JSON.stringify(body.sourceType), JSON.stringify(body.sourceTitle), JSON.stringify(tuples(body))],
  );

export const TARGET = { relationship: 0, type: 1, title: 2 } as const;
const TARGET_TEXTS = Object.keys(TARGET).length;

/** Where an edge leads: JSON texts within the edge's record, as long as that is in its place. */
export class StoredTarget {
  readonly #bytes: Buffer;
  /** Start and end of each text. */
  readonly #places: readonly number[];

  constructor(bytes: Buffer, places: readonly number[]) {
    this.#bytes = bytes;
    this.#places = places;
  }

  string(place: number): string {
    return JSON.parse(this.#bytes.toString('utf8', this.#places[place * 2], this.#places[place * 2 + 1])) as string;
  }

  /** Whether the text at that place is the one that is wanted. */
  equals(place: number, wanted: WantedText): boolean | null {
    return isTextAt(this.#bytes, this.#places[place * 2]!, this.#places[place * 2 + 1]!, wanted);
  }

  /** How it compares with that value, as far as its JSON text tells. */
  compare(place: number, wanted: Compared): number {
    return compareStoredValue(this.#bytes, this.#places[place * 2]!, this.#places[place * 2 + 1]!, wanted);
  }

  write(place: number, out: ByteWriter): void {
    out.part(this.#bytes, this.#places[place * 2]!, this.#places[place * 2 + 1]!);
  }
}

export class StoredEdge extends Fields {
  #targets: readonly StoredTarget[] | null = null;

  constructor() {
    super(EDGE_SHAPE);
  }

  override load(bytes: Buffer, start = 0): void {
    super.load(bytes, start);
    this.#targets = null;
  }

  get targets(): readonly StoredTarget[] {
    this.#targets ??= this.#findTargets();
    return this.#targets;
  }

  /** They are lists of strings in a list. */
  #findTargets(): StoredTarget[] {
    const { record } = this;
    const { bytes } = record;
    const found: StoredTarget[] = [];
    const end = record.endOf(EDGE.targets) - 1;
    let at = record.startOf(EDGE.targets) + 1;
    while (at < end) {
      const places: number[] = [];
      at++;
      for (let i = 0; i < TARGET_TEXTS; i++) {
        const next = endOfString(bytes, at, end);
        places.push(at, next);
        at = next + 1; // behind the comma or the bracket
      }
      found.push(new StoredTarget(bytes, places));
      at++; // behind the comma
    }
    return found;
  }
}

export function decodeEdge(bytes: Buffer): EdgeBody {
  const stored = new StoredEdge();
  stored.load(bytes);
  return {
    sourceType: stored.string(EDGE.sourceType) as string,
    sourceTitle: stored.string(EDGE.sourceTitle) as string,
    targets: stored.targets.map((target) => ({
      relationship: target.string(TARGET.relationship),
      targetType: target.string(TARGET.type),
      targetTitle: target.string(TARGET.title),
    })),
  };
}

// ------------------------------------------------------------------ packages

export const PACKAGE = { name: 0, version: 1, provider: 2 } as const;
export const PACKAGE_SHAPE = fieldsShape(0, ['', 'version', 'provider']);

export const textOfPackage = (body: PackageBody): string => JSON.stringify([body.name, body.version, body.provider]);
export const encodePackage = (body: PackageBody): Buffer =>
  encodeFields(
    PACKAGE_SHAPE,
    0,
    [],
    [JSON.stringify(body.name), JSON.stringify(body.version), JSON.stringify(body.provider)],
  );

export class StoredPackage extends Fields {
  constructor() {
    super(PACKAGE_SHAPE);
  }
}

export function decodePackage(bytes: Buffer): PackageBody {
  const stored = new StoredPackage();
  stored.load(bytes);
  return {
    name: stored.string(PACKAGE.name) as string,
    version: stored.string(PACKAGE.version) as string,
    provider: stored.string(PACKAGE.provider) as string,
  };
}
