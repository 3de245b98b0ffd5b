// The dictionaries of a partition (dictionary.ts): what identifies a body, how it is stored, and what it is indexed by.

import {
  decodeEdge,
  decodeFact,
  decodePackage,
  decodeResource,
  encodeEdge,
  encodeFact,
  encodePackage,
  encodeResource,
  FACT,
  PACKAGE,
  RESOURCE,
  StoredEdge,
  StoredFact,
  StoredPackage,
  StoredResource,
  textOfEdge,
  textOfFact,
  textOfPackage,
  textOfResource,
} from '../records/bodies.ts';
import type { Fields } from '../records/fields.ts';
import type { DictionaryName, EdgeBody, FactBody, PackageBody, ResourceBody } from '../records/records.ts';
import type { Mark } from './item-signatures.ts';
import { signParameters } from './parameter-marks.ts';

/** B: the whole body, R: the same as a record whose fields are read one at a time. */
export interface DictionarySpec<B, R extends Fields = Fields> {
  readonly name: DictionaryName;
  /** The text that determines the body: its identity. */
  text(body: B): string;
  encode(body: B): Buffer;
  decode(bytes: Buffer): B;
  record(): R;
  /** Secondary index entries: tag and texts. */
  indexes(body: B): readonly IndexEntry[];
  /** Places of fields that take few values over many items. */
  readonly shared: readonly number[];
  /** Adds the bits of all that stands in an item's signature; null: nothing does. */
  readonly sign: ((record: Fields, mark: Mark) => void) | null;
  /** Numbers per entry of a node's list; the item id is the last of them. */
  readonly stride: 1 | 2;
  /** Bodies that come with a node are copied beside its list (copies.ts): many and small ones. */
  readonly copies: boolean;
}
type IndexEntry = readonly [tag: number, texts: readonly string[]];

/** Index tags. */
export const RESOURCE_BY_TYPE_TITLE = 1;
export const RESOURCE_BY_TITLE = 2;
export const RESOURCE_BY_TAG = 3;
export const RESOURCE_EXPORTED = 4;
export const RESOURCE_BY_TYPE = 5;
export const FACT_BY_NAME = 1;
export const PACKAGE_BY_NAME = 1;

export const RESOURCES: DictionarySpec<ResourceBody, StoredResource> = {
  name: 'resource',
  text: textOfResource,
  encode: encodeResource,
  decode: decodeResource,
  record: () => new StoredResource(),
  indexes(body) {
    const entries: IndexEntry[] = [
      [RESOURCE_BY_TYPE_TITLE, [body.type, body.title]],
      [RESOURCE_BY_TITLE, [body.title]],
      [RESOURCE_BY_TYPE, [body.type]],
    ];
    for (const tag of body.tags) entries.push([RESOURCE_BY_TAG, [tag]]);
    if (body.exported) entries.push([RESOURCE_EXPORTED, []]);
    return entries;
  },
  shared: [RESOURCE.type, RESOURCE.exported, RESOURCE.file, RESOURCE.line],
  sign: signParameters,
  stride: 1,
  copies: false,
};
export const FACTS: DictionarySpec<FactBody, StoredFact> = {
  name: 'fact',
  text: textOfFact,
  encode: encodeFact,
  decode: decodeFact,
  record: () => new StoredFact(),
  indexes: (body) => [[FACT_BY_NAME, [body.name]]],
  shared: [FACT.name],
  sign: null,
  stride: 2,
  copies: true,
};
export const EDGES: DictionarySpec<EdgeBody, StoredEdge> = {
  name: 'edge',
  text: textOfEdge,
  encode: encodeEdge,
  decode: decodeEdge,
  record: () => new StoredEdge(),
  indexes: () => [],
  shared: [],
  sign: null,
  stride: 1,
  copies: false,
};
export const PACKAGES: DictionarySpec<PackageBody, StoredPackage> = {
  name: 'package',
  text: textOfPackage,
  encode: encodePackage,
  decode: decodePackage,
  record: () => new StoredPackage(),
  indexes: (body) => [[PACKAGE_BY_NAME, [body.name]]],
  shared: [PACKAGE.name, PACKAGE.version, PACKAGE.provider],
  sign: null,
  stride: 1,
  copies: false,
};
