// The identity hashes (spec/commands.md 4): SHA-1 over canonical texts, lower-case hex. Callers that have
// parts of a text already (a resource's parameters, a fact's value) pass the text, so that nothing is written twice.

import { createHash, type Hash, hash } from 'node:crypto';
import { compareUnits, quote } from '../../json/canonical.ts';
import type { PackageBody } from '../../store/records/records.ts';
import { tagRank } from '../../store/records/tag-rank.ts';

/** SHA-1 of the UTF-8 bytes of a text (or of bytes): 40 lower-case hex digits. */
export function sha1(data: string | Uint8Array): string {
  return hash('sha1', data);
}

/** Longer texts are hashed in parts of this size. */
const SCRATCH_SIZE = 512 * 1024;
/** Pieces are put together up to this length before they are encoded: each call of the encoder has its price. */
const CHUNK_LENGTH = 16 * 1024;
/** What a UTF-16 code unit takes in UTF-8 at most. */
const UNIT_BYTES_MAX = 3;

/**
 * Hashes a long canonical text as it is put together. Joining all pieces into one string first would copy them several times, at
 * sizes that the garbage collector treats as large.
 */
class TextHash {
  readonly #bytes = Buffer.allocUnsafeSlow(SCRATCH_SIZE);
  #size = 0;
  #pending = '';
  #encoding: 'latin1' | 'utf8' = 'utf8';
  /** Of the parts that were hashed; null while all of the text fits: one call that hashes all of it costs less. */
  #hash: Hash | null = null;

  /** Begins a text, whatever became of the one before; `isAscii`: all that will be added is in ASCII. */
  begin(isAscii: boolean): void {
    this.#pending = '';
    this.#size = 0;
    this.#hash = null;
    this.#encoding = isAscii ? 'latin1' : 'utf8';
  }

  add(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= CHUNK_LENGTH) this.#encode();
  }

  /** `[`, the texts with commas between them, `]`. */
  addList(texts: readonly string[]): void {
    for (let index = 0; index < texts.length; index++) this.add((index === 0 ? '[' : ',') + texts[index]);
    this.add(texts.length === 0 ? '[]' : ']');
  }

  addBytes(bytes: Uint8Array): void {
    this.#encode();
    if (!this.#makeRoom(bytes.length)) {
      this.#part().update(bytes);
      return;
    }
    this.#bytes.set(bytes, this.#size);
    this.#size += bytes.length;
  }

  /** SHA-1 of what was added. */
  finish(): string {
    this.#encode();
    return this.#hash === null ? sha1(this.#bytes.subarray(0, this.#size)) : this.#part().digest('hex');
  }

  /** Makes room for so many bytes; what is there is hashed first if it must be. False: there is no room for so many at all. */
  #makeRoom(count: number): boolean {
    if (this.#size + count > SCRATCH_SIZE) this.#part();
    return count <= SCRATCH_SIZE;
  }

  /** What is there is hashed and makes room. */
  #part(): Hash {
    this.#hash ??= createHash('sha1');
    this.#hash.update(this.#bytes.subarray(0, this.#size));
    this.#size = 0;
    return this.#hash;
  }

  #encode(): void {
    const text = this.#pending;
    this.#pending = '';
    if (!this.#makeRoom(text.length * (this.#encoding === 'latin1' ? 1 : UNIT_BYTES_MAX))) {
      this.#part().update(text, this.#encoding);
      return;
    }
    this.#size += this.#bytes.write(text, this.#size, this.#encoding);
  }
}

const scratch = new TextHash();

/** Whether the text has ASCII characters only: then its bytes are its characters. */
export const isAscii = (text: string): boolean => !BEYOND_ASCII.test(text);
const BEYOND_ASCII = /[^\u0000-\u007f]/;

/** 4.3. `type` and `title` are JSON texts (normally string literals), `parameters` is canonical text in order K. */
export function resourceHash(type: string, title: string, parameters: string): string {
  return sha1(`[${type},${title},${parameters}]`);
}

/** Takes a canonical text as it is put together. */
export interface TextSink {
  text(text: string): void;
  /** As UTF-8; what it is called with may be used for other bytes afterwards. */
  bytes(bytes: Uint8Array): void;
  /** The literal of the certname. */
  name(): void;
}

/** The canonical text of a list, with its brackets. */
export interface ListText {
  writeTo(to: TextSink): void;
}

/** As UTF-8, cut wherever the literal of the certname stands in it. */
export class Pieces implements ListText {
  readonly pieces: readonly Uint8Array[];

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }

  writeTo(to: TextSink): void {
    this.pieces.forEach((piece, index) => {
      if (index > 0) to.name();
      to.bytes(piece);
    });
  }
}

/**
 * 4.4. `edges` and `resources` are the canonical texts of the elements, already distinct and in their orders; `edges` may be
 * the text of the whole list. `ascii`: none of the texts has a character beyond ASCII.
 */
export function catalogHash(
  certname: string,
  edges: readonly string[] | ListText,
  resources: readonly string[],
  ascii: boolean,
): string {
  const name = quote(certname);
  scratch.begin(ascii && isAscii(certname));
  scratch.add(`{"certname":${name},"edges":`);
  if ('writeTo' in edges) {
    edges.writeTo({
      text: (text) => scratch.add(text),
      bytes: (bytes) => scratch.addBytes(bytes),
      name: () => scratch.add(name),
    });
  } else scratch.addList(edges);
  scratch.add(',"resources":');
  scratch.addList(resources);
  scratch.add('}');
  return scratch.finish();
}

/**
 * 4.5. `values` is the canonical text in order S; packages are distinct and sorted, or the canonical text of that list as
 * UTF-8, and left out when there are none. `ascii`: `values` has no character beyond ASCII.
 */
export function factsetHash(
  certname: string,
  environment: string | null,
  packages: readonly PackageBody[] | Uint8Array,
  values: string,
  ascii = false,
): string {
  const head = `{"certname":${quote(certname)},"environment":${environment === null ? 'null' : quote(environment)}`;
  scratch.begin(ascii && packages instanceof Uint8Array && isAscii(head));
  scratch.add(head);
  if (packages.length > 0) {
    scratch.add(',"package_inventory":');
    if (packages instanceof Uint8Array) scratch.addBytes(packages);
    else scratch.addList(packages.map(packageText));
  }
  scratch.add(`,"values":${values}}`);
  return scratch.finish();
}

interface ReportIdentity {
  readonly certname: string;
  readonly configurationVersion: string;
  /** Times as normalised texts (`YYYY-MM-DDTHH:mm:ss.SSSZ`). */
  readonly endTime: string;
  readonly producerTimestamp: string;
  readonly puppetVersion: string;
  /** Decimal text of the integer. */
  readonly reportFormat: string;
  readonly startTime: string;
  /** As it was sent, not in canonical form. */
  readonly transactionUuid: string | null;
}

/** 4.6. */
export function reportHash(report: ReportIdentity): string {
  const uuid = report.transactionUuid === null ? 'null' : quote(report.transactionUuid);
  return sha1(
    `{"certname":${quote(report.certname)},"configuration_version":${quote(report.configurationVersion)}` +
      `,"end_time":${quote(report.endTime)},"producer_timestamp":${quote(report.producerTimestamp)}` +
      `,"puppet_version":${quote(report.puppetVersion)},"report_format":${report.reportFormat}` +
      `,"start_time":${quote(report.startTime)},"transaction_uuid":${uuid}}`,
  );
}

/** 4.7: canonical text of a package. */
export const packageText = (body: PackageBody & { readonly canonical?: string }): string =>
  body.canonical ?? `[${quote(body.name)},${quote(body.version)},${quote(body.provider)}]`;

/** Distinct packages in the order of 4.5: by name, version, provider. The same list when it is that already. */
export function distinctPackages(packages: readonly PackageBody[]): readonly PackageBody[] {
  if (isAscending(packages)) return packages;
  const sorted = [...packages].sort(comparePackages);
  return sorted.filter((body, index) => index === 0 || comparePackages(sorted[index - 1] as PackageBody, body) !== 0);
}

function isAscending(packages: readonly PackageBody[]): boolean {
  for (let index = 1; index < packages.length; index++) {
    if (comparePackages(packages[index - 1] as PackageBody, packages[index] as PackageBody) >= 0) return false;
  }
  return true;
}

const comparePackages = (a: PackageBody, b: PackageBody): number =>
  compareUnits(a.name, b.name) || compareUnits(a.version, b.version) || compareUnits(a.provider, b.provider);

/** 4.8. Inputs are distinct `[type, name]` pairs sorted by type, then name. */
export function inputsHash(certname: string, inputs: readonly (readonly [string, string])[]): string {
  let text = `${certname}\u0000`;
  for (const [type, name] of inputs) text += `${type}\u0000${name}\u0000`;
  return sha1(text);
}

/** Up to so many tags are put in order faster by insertion than by a sort. */
const FEW_TAGS = 64;

function sortedTags(tags: readonly string[]): string[] {
  const ranked = [...new Set(tags)].map((tag) => ({ tag, rank: tagRank(tag) }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ tag }) => tag);
}

/**
 * 4.2: distinct tags in the iteration order of the original's hash set, which is also the order in which they are stored
 * and shown. Full collisions keep the order of first appearance.
 */
export function tagOrder(tags: readonly string[]): string[] {
  const count = tags.length;
  if (count < 2) return count === 0 ? [] : [tags[0] as string];
  if (count > FEW_TAGS) return sortedTags(tags);
  const distinct: string[] = [];
  const ranks: number[] = [];
  for (let index = 0; index < count; index++) {
    const tag = tags[index] as string;
    const rank = tagRank(tag);
    let at = ranks.length;
    while (at > 0 && (ranks[at - 1] as number) > rank) at--;
    // Equal ranks sit just before the place for a new one.
    let same = at;
    while (same > 0 && ranks[same - 1] === rank && distinct[same - 1] !== tag) same--;
    if (same > 0 && ranks[same - 1] === rank) continue;
    distinct.splice(at, 0, tag);
    ranks.splice(at, 0, rank);
  }
  return distinct;
}
