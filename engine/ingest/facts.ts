// replace facts: from a payload that conforms to the wire table to a FactsCommand.

import { canonicalS, quote, sortedKeysS, tooDeep } from '../json/canonical.ts';
import { JSON_LIMITS } from '../json/parse.ts';
import { storedKeys, storedText } from '../json/stored.ts';
import { Float, isObject, type JsonObject, type JsonScalar, type JsonValue } from '../json/value.ts';
import type { PackageBody } from '../store/records.ts';
import { parseLenient } from '../time.ts';
import type { FactsFilter } from './blocklist.ts';
import { Columns } from './columns.ts';
import type { DecodedFact, FactsCommand, FactsContents } from './commands.ts';
import { distinctPackages, factsetHash } from './hashes.ts';

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

/** Throws JsonError when a value is nested too deeply. */
export function decodeFacts(payload: JsonObject, received: number, filter: FactsFilter): FactsCommand {
  const { refusal, ...header } = factsHeader(payload);
  const columns = new Columns();
  if (refusal !== null) columns.refuse(refusal);
  const sent = payload['values'] as JsonObject;
  checkKeys(sent, columns, VALUE_DEPTH - 1);
  const values = filter(sent);
  const packages = packagesOf(payload, columns);
  const distinct = distinctPackages(packages);
  return {
    kind: 'facts',
    ...header,
    received,
    refusal: columns.refusal,
    hash: factsetHash(header.certname, header.environment, distinct, canonicalValues(values)),
    contents: () => contentsOf(values, distinct.length === packages.length ? packages : withoutRepeats(packages)),
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
  return { facts, packages };
}

function packagesOf(payload: JsonObject, columns: Columns): PackageBody[] {
  const list = (payload['package_inventory'] ?? []) as readonly (readonly [string, string, string])[];
  const packages: PackageBody[] = [];
  for (const [name, version, provider] of list) {
    columns.text(name, 'package name');
    columns.text(version, 'package version');
    columns.text(provider, 'package provider');
    packages.push({ name, version, provider });
  }
  return packages;
}

/** In the order they were sent, which is the order factsets show them in. */
function withoutRepeats(packages: readonly PackageBody[]): PackageBody[] {
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
    if (key.includes('\u0000')) columns.refuse('A fact name contains a NUL character, which cannot be stored.');
    checkKeys(object[key] as JsonValue, columns, depth + 1);
  }
}

/**
 * Calls `visit` for every leaf of a fact, with the type name that the fact paths show. Empty lists and maps have no leaf.
 * The path is reused: copy what is kept.
 */
export function factPaths(
  name: string,
  value: JsonValue,
  visit: (type: string, path: readonly (string | number)[]) => void,
): void {
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
