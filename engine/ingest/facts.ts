// replace facts: from a payload that conforms to the wire table to a FactsCommand.

import { canonicalS, compareUnits, quote, sortedKeysS, tooDeep } from '../json/canonical.ts';
import { JSON_LIMITS, parseJson } from '../json/parse.ts';
import { storedKeys, storedText } from '../json/stored.ts';
import { Float, isObject, type JsonObject, type JsonScalar, type JsonValue } from '../json/value.ts';
import type { PackageBody } from '../store/records.ts';
import { BodyRef, ListRef } from '../store/refs.ts';
import { parseLenient } from '../time.ts';
import { type FactsFilter, keepAll } from './blocklist.ts';
import { Columns } from './columns.ts';
import type { DecodedFact, DecodedPackage, FactsCommand, FactsContents } from './commands.ts';
import type { ElementKernel } from './element-kernel.ts';
import { ElementMemo, inOnePiece, parseElement, type ReadElement } from './elements.ts';
import { blamingPayload } from './errors.ts';
import { distinctPackages, factsetHash, isAscii, packageText } from './hashes.ts';
import { Sighted } from './sighted.ts';
import type { Part } from './spans.ts';
import { TextMemo } from './text-memo.ts';
import { excerpt } from './validate.ts';

/** How many containers of the payload enclose a fact's value: payload and values. */
const VALUE_DEPTH = 2;

export interface FactsHeader {
  readonly certname: string;
  readonly producerTimestamp: number;
  readonly environment: string | null;
  readonly producer: string | null;
  /** Reason not to store, from the header's own texts. */
  readonly refusal: string | null;
}

/** The fields that are not part of `values` or `package_inventory`. */
export function factsHeader(payload: JsonObject): FactsHeader {
  const columns = new Columns();
  return {
    certname: columns.text(payload['certname'] as string, 'certname'),
    producerTimestamp: parseLenient(payload['producer_timestamp'] as JsonValue) as number,
    environment: columns.textOrNull(payload['environment'] as string | null, 'environment'),
    producer: columns.textOrNull(payload['producer'] as string | null, 'producer'),
    refusal: columns.refusal,
  };
}

/** The command of that header; `refusal`: the header's reason not to store, or another one. */
export function factsCommand(
  header: FactsHeader,
  received: number,
  refusal: string | null,
  hash: string,
  contents: () => FactsContents,
): FactsCommand {
  return { kind: 'facts', ...header, received, refusal, hash, memo: null, contents: () => blamingPayload(contents) };
}

/** Throws JsonError when a value is nested too deeply, or would be too long. */
export function decodeFacts(payload: JsonObject, received: number, filter: FactsFilter): FactsCommand {
  const header = factsHeader(payload);
  const columns = new Columns();
  if (header.refusal !== null) columns.refuse(header.refusal);
  const sent = payload['values'] as JsonObject;
  checkKeys(sent, columns, VALUE_DEPTH - 1);
  const values = filter(sent);
  const packages = packagesOf(payload, columns);
  const distinct = distinctPackages(packages);
  const hash = factsetHash(header.certname, header.environment, distinct, canonicalValues(values));
  return factsCommand(header, received, columns.refusal, hash, () =>
    contentsOf(values, distinct.length === packages.length ? packages : withoutRepeats(packages)),
  );
}

/**
 * The same from the bytes of the values and the package list: facts and packages seen before are not parsed again. Null
 * when a part is not what it should be; then the whole payload says why.
 */
export function decodeFactsParts(
  payload: JsonObject,
  received: number,
  filter: FactsFilter,
  valuesPart: Part,
  packagesPart: Part | null,
): FactsCommand | null {
  if (filter !== keepAll) return null;
  const header = factsHeader(payload);
  const facts = factsOfMap(valuesPart.bytes);
  const list = packagesPart === null ? NO_PACKAGES : packageListOf(packagesPart);
  if (facts === null || list === null) return null;
  const columns = new Columns();
  if (header.refusal !== null) columns.refuse(header.refusal);
  let values = '';
  let isAllAscii = true;
  for (let index = 0; index < facts.length; index++) {
    const fact = facts[index] as KnownFact;
    if (fact.refusal !== null) columns.refuse(fact.refusal);
    values += (index === 0 ? '{' : ',') + fact.canonical;
    isAllAscii &&= fact.isAscii;
  }
  values += facts.length === 0 ? '{}' : '}';
  const hash = factsetHash(header.certname, header.environment, list.text, values, isAllAscii);
  return factsCommand(header, received, columns.refusal, hash, () => ({
    facts: facts.map((fact) => fact.stored),
    packages: list.packages,
    packagesRef: list.ref,
  }));
}

/** What the elements remembered in a thread may take, in bytes; a longer fact is not remembered. */
const FACT_MEMO_BYTES = 12 * 1024 * 1024;
const PACKAGE_MEMO_BYTES = 8 * 1024 * 1024;
const LIST_MEMO_BYTES = 2 * 1024 * 1024;
const REMEMBERED_MAX = 16 * 1024;
/** What a remembered element takes: a fixed part, and a multiple of its text. */
const FACT_BYTES = 400;
const FACT_TEXTS = 4;
const PACKAGE_BYTES = 350;
const PACKAGE_TEXTS = 2;
const LIST_BYTES = 300;
const LIST_TEXTS = 1.5;
/** About as many lists of packages as are remembered. */
const SIGHTED_LISTS = 64;

interface KnownFact {
  readonly name: string;
  /** `"name":value` in the canonical text of `values`. */
  readonly canonical: string;
  readonly isAscii: boolean;
  readonly stored: DecodedFact;
  readonly refusal: string | null;
}
type KnownPackage = Required<DecodedPackage>;
const knownFacts = new ElementMemo<KnownFact>(FACT_MEMO_BYTES);
const knownPackages = new ElementMemo<KnownPackage>(PACKAGE_MEMO_BYTES);

/** Sorted by name. Null also when a name occurs twice: the last one counts, which only the whole payload tells. */
function factsOfMap(sent: Buffer): KnownFact[] | null {
  if (sent[0] !== OPEN_BRACE) return null;
  const facts = knownFacts.values(sent, readFact);
  if (facts === null) return null;
  facts.sort((a, b) => compareUnits(a.name, b.name));
  for (let index = 1; index < facts.length; index++) {
    if ((facts[index] as KnownFact).name === (facts[index - 1] as KnownFact).name) return null;
  }
  return facts;
}
const OPEN_BRACE = 0x7b;

function readFact(kernel: ElementKernel, isKept: boolean): ReadElement<KnownFact> | null {
  const fact = readPlain(kernel) ?? readParsed(kernel.text(), isKept);
  if (fact === null) return null;
  const { size } = kernel;
  return { value: fact, bytes: size > REMEMBERED_MAX ? 0 : FACT_BYTES + size * FACT_TEXTS };
}

/** The kernel's present element as a fact; null when something in it is unusual, or it is no JSON. */
function readPlain(kernel: ElementKernel): KnownFact | null {
  const canonical = kernel.fact();
  if (canonical === null) return null;
  const { factName: name, factValue: value } = kernel;
  return { name, canonical, isAscii: true, stored: { name, value, ref: new BodyRef() }, refusal: null };
}

function readParsed(element: string, isKept: boolean): KnownFact | null {
  const parsed = parseElement(`{${element}}`);
  if (parsed === undefined || !isObject(parsed)) return null;
  const names = Object.keys(parsed);
  const name = names[0];
  if (name === undefined || names.length > 1) return null;
  const columns = new Columns();
  checkKeys(parsed, columns, VALUE_DEPTH - 1);
  const json = parsed[name] as JsonValue;
  const value = storedText(json, VALUE_DEPTH);
  const canonical = `${quote(name)}:${canonicalS(json, VALUE_DEPTH)}`;
  return {
    name,
    canonical,
    isAscii: isAscii(canonical),
    stored: { name, value: isKept ? inOnePiece(value) : value, json, ref: new BodyRef() },
    refusal: columns.refusal,
  };
}

/** The packages of a node. */
interface PackageList {
  /** Distinct, in the order they were sent. */
  readonly packages: readonly KnownPackage[];
  /** Canonical text of the list as UTF-8; empty when it has none. */
  readonly text: Buffer;
  readonly ref: ListRef;
}
const NO_PACKAGES: PackageList = { packages: [], text: Buffer.alloc(0), ref: new ListRef() };

/** By the fingerprint of their bytes: nodes of one image have the same. */
const knownLists = new TextMemo<PackageList>(LIST_MEMO_BYTES);
const sightedLists = new Sighted(SIGHTED_LISTS);

function packageListOf(part: Part): PackageList | null {
  const known = knownLists.get(part.fingerprint);
  if (known !== undefined) return known;
  const packages = knownPackages.values(part.bytes, readPackage);
  if (packages === null) return null;
  const distinct = distinctPackages(packages);
  const list = {
    packages: distinct.length === packages.length ? packages : withoutRepeats(packages),
    text: distinct.length === 0 ? NO_PACKAGES.text : Buffer.from(`[${distinct.map(packageText).join(',')}]`, 'utf8'),
    ref: new ListRef(),
  };
  if (sightedLists.again(part.fingerprint))
    knownLists.set(part.fingerprint, list, LIST_BYTES + part.bytes.length * LIST_TEXTS);
  return list;
}

function readPackage(kernel: ElementKernel, isKept: boolean): ReadElement<KnownPackage> | null {
  const element = kernel.text();
  const sent = parseElement(element);
  if (!Array.isArray(sent) || sent.length !== 3) return null;
  const [name, version, provider] = sent as readonly JsonValue[];
  if (typeof name !== 'string' || typeof version !== 'string' || typeof provider !== 'string') return null;
  if ((name + version + provider).includes('\u0000')) return null;
  const canonical = packageText({ name, version, provider });
  const value = { name, version, provider, canonical: isKept ? inOnePiece(canonical) : canonical, ref: new BodyRef() };
  return { value, bytes: PACKAGE_BYTES + element.length * PACKAGE_TEXTS };
}

// The canonical text of `values`, one level unrolled: depth counts from the payload.
function canonicalValues(values: JsonObject): string {
  const names = sortedKeysS(values);
  let text = '{';
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    if (index > 0) text += ',';
    text += `${quote(name)}:${canonicalS(values[name] as JsonValue, VALUE_DEPTH)}`;
  }
  return `${text}}`;
}

function contentsOf(values: JsonObject, packages: readonly PackageBody[]): FactsContents {
  const facts: DecodedFact[] = [];
  for (const name of storedKeys(values)) {
    const json = values[name] as JsonValue;
    facts.push({ name, value: storedText(json, VALUE_DEPTH), json });
  }
  return { facts, packages, packagesRef: new ListRef() };
}

const describePackage = (sent: readonly string[]): string => `Package ${excerpt(sent)}`;

function packagesOf(payload: JsonObject, columns: Columns): PackageBody[] {
  const list = (payload['package_inventory'] ?? []) as readonly (readonly [string, string, string])[];
  const packages: PackageBody[] = [];
  for (const sent of list) {
    const [name, version, provider] = sent;
    columns.about(sent, describePackage);
    columns.text(name, 'name');
    columns.text(version, 'version');
    columns.text(provider, 'provider');
    packages.push({ name, version, provider });
  }
  columns.aboutAll();
  return packages;
}

/** In the order they were sent, which is the order factsets show them in. */
function withoutRepeats<P extends PackageBody>(packages: readonly P[]): P[] {
  const seen = new Set<string>();
  return packages.filter(({ name, version, provider }) => {
    // Stored texts have no NUL.
    const key = `${name}\u0000${version}\u0000${provider}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** Names of facts and of anything inside them are text columns; values are not. Bounds the depth for all later walks. */
function checkKeys(value: JsonValue, columns: Columns, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= JSON_LIMITS.depth) throw tooDeep();
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) checkKeys(value[index] as JsonValue, columns, depth + 1);
    return;
  }
  if (value instanceof Float) return;
  const object = value as JsonObject;
  for (const key in object) {
    if (key.includes('\u0000'))
      columns.refuse(`fact name ${excerpt(key)} contains a NUL character, which cannot be stored.`);
    checkKeys(object[key] as JsonValue, columns, depth + 1);
  }
}

/** What the paths of a factset may take, in bytes as `sizeOfPaths` counts them: about half a minute of the partition's time. */
const PATHS_SIZE_MAX = 256 << 20;

/**
 * Why the paths of these facts cannot be stored, or null. Each leaf has its path, so leaves that are very many, or nested very deeply, would take
 * hundreds or thousands of times the bytes that came.
 */
export function pathsRefusal(facts: readonly DecodedFact[]): string | null {
  let atMost = 0;
  for (const { name, value } of facts) atMost += sizeOfPathsAtMost(name.length + value.length);
  if (atMost <= PATHS_SIZE_MAX) return null;
  let size = 0;
  for (const fact of facts) {
    const { name, value } = fact;
    size += isNested(value) ? sizeOfPaths(fact.json ?? parseJson(value), PATH_SIZE + name.length) : 0;
    if (size > PATHS_SIZE_MAX) {
      return `fact ${excerpt(name)}: the paths of its leaves take too many bytes: they are too many, or nested too deeply.`;
    }
  }
  return null;
}

/** Of a fact whose name and value have that length: at worst one half opens and closes the lists in which the other half, leaves of one character, lies. */
const sizeOfPathsAtMost = (length: number): number => (PATH_SIZE * length) / 2 + (ELEMENT_SIZE * length * length) / 16;

/** What a path takes beside its elements, and an element beside its text. */
const PATH_SIZE = 100;
const ELEMENT_SIZE = 4;

const isNested = (value: string): boolean => value.startsWith('{') || value.startsWith('[');

/** Bytes of the paths of all leaves of a value; `before`: of the path that leads to it. */
function sizeOfPaths(value: JsonValue, before: number): number {
  let size = 0;
  if (Array.isArray(value)) {
    const inner = before + ELEMENT_SIZE;
    for (let index = 0; index < value.length; index++) size += sizeOfPaths(value[index] as JsonValue, inner);
    return size;
  }
  if (!isObject(value)) return before;
  for (const key in value) size += sizeOfPaths(value[key] as JsonValue, before + ELEMENT_SIZE + key.length);
  return size;
}

/**
 * Calls `visit` for every leaf of a fact, with the type name that the fact paths show, and for a structure that is not empty
 * with type `json` and its name alone (it makes the name known, and is not shown). Empty lists and maps have no leaf.
 * The path is reused: copy what is kept.
 */
export function factPaths(
  name: string,
  value: JsonValue,
  visit: (type: string, path: readonly (string | number)[]) => void,
): void {
  const isStructure = typeof value === 'object' && value !== null && !(value instanceof Float);
  if (isStructure && Object.keys(value).length > 0) visit('json', [name]);
  walkPaths(value, [name], visit);
}

function walkPaths(
  value: JsonValue,
  path: (string | number)[],
  visit: (type: string, path: readonly (string | number)[]) => void,
): void {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      path.push(index);
      walkPaths(value[index] as JsonValue, path, visit);
      path.pop();
    }
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) {
      path.push(key);
      walkPaths(value[key] as JsonValue, path, visit);
      path.pop();
    }
  } else {
    visit(leafType(value as JsonScalar), path);
  }
}

function leafType(value: JsonScalar): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'bigint':
      return 'integer';
    default:
      return Number.isInteger(value) ? 'integer' : 'float';
  }
}
