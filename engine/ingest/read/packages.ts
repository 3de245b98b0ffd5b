// The package list of a factset: packages, and whole lists of them, that were seen before are not parsed again.

import type { JsonObject, JsonValue } from '../../json/value.ts';
import { BodyRef, ListRef } from '../../store/items/refs.ts';
import type { PackageBody } from '../../store/records/records.ts';
import type { Columns } from '../command/columns.ts';
import type { DecodedPackage } from '../command/commands.ts';
import { distinctPackages, packageText } from '../command/hashes.ts';
import { excerpt } from '../command/validate.ts';
import type { ElementKernel } from '../known/element-kernel.ts';
import { ElementMemo, inOnePiece, parseElement, type ReadElement } from '../known/elements.ts';
import { Sighted } from '../known/sighted.ts';
import type { Part } from '../known/spans.ts';
import { TextMemo } from '../known/text-memo.ts';

/** What the packages, and the lists of them, that a thread remembers may take, in bytes. */
const PACKAGE_MEMO_BYTES = 8 * 1024 * 1024;
const LIST_MEMO_BYTES = 2 * 1024 * 1024;
/** What one of them takes: a fixed part, and a multiple of its text. */
const PACKAGE_BYTES = 350;
const PACKAGE_TEXTS = 2;
const LIST_BYTES = 300;
const LIST_TEXTS = 1.5;
/** About as many lists as are remembered. */
const SIGHTED_LISTS = 64;

type KnownPackage = Required<DecodedPackage>;
const knownPackages = new ElementMemo<KnownPackage>(PACKAGE_MEMO_BYTES);

/** The packages of a node. */
interface PackageList {
  /** Distinct, in the order they were sent. */
  readonly packages: readonly KnownPackage[];
  /** Canonical text of the list as UTF-8; empty when it has none. */
  readonly text: Buffer;
  readonly ref: ListRef;
}
export const NO_PACKAGES: PackageList = { packages: [], text: Buffer.alloc(0), ref: new ListRef() };

/** By the fingerprint of their bytes: nodes of one image have the same. */
const knownLists = new TextMemo<PackageList>(LIST_MEMO_BYTES);
const sightedLists = new Sighted(SIGHTED_LISTS);

/** Of the bytes of the list; null when it is none of packages that can be stored. */
export function packageListOf(part: Part): PackageList | null {
  const known = knownLists.get(part.fingerprint);
  if (known !== undefined) return known;
  const packages = knownPackages.values(part.bytes, readPackage);
  if (packages === null) return null;
  const distinct = distinctPackages(packages);
  const list = {
    packages: withoutRepeats(packages, distinct.length),
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

const describePackage = (sent: readonly string[]): string => `Package ${excerpt(sent)}`;

/** As they were sent, of a payload that conforms to the wire table; `columns` is told of texts that cannot be stored. */
export function packagesOf(payload: JsonObject, columns: Columns): PackageBody[] {
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

/** In the order they were sent, which is the order factsets show them in. `count`: how many of them are distinct. */
export function withoutRepeats<P extends PackageBody>(packages: readonly P[], count: number): readonly P[] {
  if (count === packages.length) return packages;
  const seen = new Set<string>();
  return packages.filter(({ name, version, provider }) => {
    // Stored texts have no NUL.
    const key = `${name}\u0000${version}\u0000${provider}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
