// replace facts: from a payload that conforms to the wire table to a FactsCommand.

import { REPLACE_FACTS } from '../../../schemas/commands/facts.ts';
import { OPEN_MAP } from '../../json/ascii.ts';
import { canonicalS, compareUnits, quote, sortedKeysS } from '../../json/canonical.ts';
import { JSON_LIMITS, tooDeep } from '../../json/parse.ts';
import { compareStored, storedKeys, storedText } from '../../json/stored.ts';
import { Float, isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { BodyRef, ListRef } from '../../store/items/refs.ts';
import type { PackageBody } from '../../store/records/records.ts';
import { parseLenient } from '../../time.ts';
import { type FactsFilter, keepAll } from '../command/blocklist.ts';
import { Columns, nulIn } from '../command/columns.ts';
import type { DecodedFact, FactsCommand, FactsContents } from '../command/commands.ts';
import { blamingPayload } from '../command/errors.ts';
import { distinctPackages, factsetHash, isAscii } from '../command/hashes.ts';
import { excerpt } from '../command/validate.ts';
import type { ElementKernel } from '../known/element-kernel.ts';
import { ElementMemo, inOnePiece, parseElement, type ReadElement } from '../known/elements.ts';
import { type Part, partOf } from '../known/spans.ts';
import { type CommandReader, type DecodeSettings, UNBOUNDED_DEPTH } from './command-reader.ts';
import { NO_PACKAGES, packageListOf, packagesOf, withoutRepeats } from './packages.ts';

/** How many containers of the payload enclose a fact's value: payload and values. */
const VALUE_DEPTH = 2;

interface FactsHeader {
  readonly certname: string;
  readonly producerTimestamp: number;
  readonly environment: string | null;
  readonly producer: string | null;
  /** Reason not to store, from the header's own texts. */
  readonly refusal: string | null;
}

/** The fields that are not part of `values` or `package_inventory`. */
function factsHeader(payload: JsonObject): FactsHeader {
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
function factsCommand(
  header: FactsHeader,
  received: number,
  refusal: string | null,
  hash: string,
  contents: () => FactsContents,
): FactsCommand {
  return { kind: 'facts', ...header, received, refusal, hash, memo: null, contents: () => blamingPayload(contents) };
}

/** Throws JsonError when a value is nested too deeply, or would be too long. */
function decodeFacts(payload: JsonObject, received: number, filter: FactsFilter): FactsCommand {
  const header = factsHeader(payload);
  const columns = new Columns();
  if (header.refusal !== null) columns.refuse(header.refusal);
  // It is dropped; walking its value once keeps it within the nesting limit.
  canonicalS(payload['timestamp'] ?? null, VALUE_DEPTH - 1);
  const sent = payload['values'] as JsonObject;
  checkKeys(sent, columns, VALUE_DEPTH - 1);
  const values = filter(sent);
  const packages = packagesOf(payload, columns);
  const distinct = distinctPackages(packages);
  const hash = factsetHash(header.certname, header.environment, distinct, canonicalValues(values));
  return factsCommand(header, received, columns.refusal, hash, () =>
    contentsOf(values, withoutRepeats(packages, distinct.length)),
  );
}

/**
 * The same from the bytes of the values and the package list: facts and packages seen before are not parsed again. Null
 * when a part is not what it should be; then the whole payload says why.
 */
function decodeFactsParts(
  payload: JsonObject,
  received: number,
  parts: readonly Part[],
  filter: FactsFilter,
): FactsCommand | null {
  const valuesPart = partOf(parts, 'values');
  const packagesPart = partOf(parts, 'package_inventory');
  if (valuesPart === null || filter !== keepAll) return null;
  // Packages that are there and were not cut out (of a key with blanks before its colon) are read with the rest.
  if (packagesPart === null && (payload['package_inventory'] ?? null) !== null) return null;
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
    facts: inStoredOrder(facts, isAllAscii),
    packages: list.packages,
    packagesRef: list.ref,
  }));
}

/** `facts`: sorted by name; `isAllAscii`: nothing in them is beyond ASCII. */
function inStoredOrder(facts: readonly KnownFact[], isAllAscii: boolean): DecodedFact[] {
  const stored = facts.map((fact) => fact.stored);
  // Names of one length are in order already, unless they have characters that UTF-16 and UTF-8 put in different orders.
  return isAllAscii || stored.every(({ name }) => isAscii(name))
    ? stored.sort((a, b) => a.name.length - b.name.length)
    : stored.sort((a, b) => compareStored(a.name, b.name));
}

/** What besides the parts decides a factset's hash. */
function contextOf(payload: JsonObject, { factsBlocklist, factsBlocklistType }: DecodeSettings): string {
  const certname = canonicalS(payload['certname'] ?? null);
  const environment = canonicalS(payload['environment'] ?? null);
  return [certname, environment, factsBlocklistType, JSON.stringify(factsBlocklist)].join('\n');
}

export const FACTS_READER: CommandReader<FactsCommand> = {
  format: REPLACE_FACTS,
  limits: UNBOUNDED_DEPTH,
  read: decodeFacts,
  readBytes: null,
  parts: {
    memo: 'factset',
    kinds: { values: 'map', package_inventory: 'list' },
    contextOf,
    known(payload, received, hash, whole) {
      const header = factsHeader(payload);
      return factsCommand(header, received, header.refusal, hash, () => whole().contents());
    },
    read: decodeFactsParts,
  },
};

/** What the facts remembered in a thread may take, in bytes; a longer one is not remembered. */
const FACT_MEMO_BYTES = 12 * 1024 * 1024;
const REMEMBERED_MAX = 16 * 1024;
/** What a remembered fact takes: a fixed part, and a multiple of its text. */
const FACT_BYTES = 400;
const FACT_TEXTS = 4;

interface KnownFact {
  readonly name: string;
  /** `"name":value` in the canonical text of `values`. */
  readonly canonical: string;
  readonly isAscii: boolean;
  readonly stored: DecodedFact;
  readonly refusal: string | null;
}
const knownFacts = new ElementMemo<KnownFact>(FACT_MEMO_BYTES);

/** Sorted by name. Null also when a name occurs twice: the last one counts, which only the whole payload tells. */
function factsOfMap(sent: Buffer): KnownFact[] | null {
  if (sent[0] !== OPEN_MAP) return null;
  const facts = knownFacts.values(sent, readFact);
  if (facts === null) return null;
  facts.sort((a, b) => compareUnits(a.name, b.name));
  for (let index = 1; index < facts.length; index++) {
    if ((facts[index] as KnownFact).name === (facts[index - 1] as KnownFact).name) return null;
  }
  return facts;
}

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
    if (key.includes('\u0000')) columns.refuse(nulIn(`fact name ${excerpt(key)}`));
    checkKeys(object[key] as JsonValue, columns, depth + 1);
  }
}
