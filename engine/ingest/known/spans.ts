// Large parts of a payload by their bytes. A node's catalog and facts are mostly the same from run to run, so the bytes of
// `resources` and `edges` (or `values` and `package_inventory`) are cut out, and when they are the bytes of last time, the
// hash that was computed then still holds and they are not even parsed.
//
//   {"certname":"a", ... "resources":[ part 0 ],"edges":[ part 1 ],"job_id":null}
//   rest:  {"certname":"a", ... "resources":"@0","edges":"@1","job_id":null}
//
// Where a part ends is guessed, unless it is read on the way. Whether the guess was right is checked: the rest parses as one
// document whose top-level keys hold exactly the place-holders, and each part parses as one document. Then putting the parts
// back gives the original's value, whatever the guess was based on.

import { textOf } from '../../bytes.ts';
import type { Fingerprints } from '../../fingerprint.ts';
import { JSON_LIMITS, JsonError, type JsonLimits, parseJsonDocument } from '../../json/parse.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { sha1 } from '../command/hashes.ts';

export type PartKind = 'list' | 'map';
/** The parts of a command's payloads by their keys, in the order that most clients send. */
export type PartKinds = Readonly<Record<string, PartKind>>;

export class Part {
  readonly key: string;
  readonly kind: PartKind;
  /** Bytes of the part: valid as long as the payload's buffer. */
  readonly bytes: Buffer;
  /** What stands for the part in the rest. */
  readonly placeholder: string;
  readonly #fingerprints: Fingerprints;
  #fingerprint: string | null = null;

  constructor(key: string, kind: PartKind, bytes: Buffer, placeholder: string, fingerprints: Fingerprints) {
    this.key = key;
    this.kind = kind;
    this.bytes = bytes;
    this.placeholder = placeholder;
    this.#fingerprints = fingerprints;
  }

  /** What may stand in its place where only the other fields are looked at. */
  get empty(): JsonValue {
    return this.kind === 'list' ? [] : {};
  }

  /** Of the bytes. */
  get fingerprint(): string {
    this.#fingerprint ??= this.#fingerprints.of(this.bytes);
    return this.#fingerprint;
  }

  /** Of the bytes with a mark wherever a literal stands; null when the mark is among the bytes. */
  fingerprintWithout(literal: Buffer, mark: Buffer): string | null {
    const { bytes } = this;
    if (bytes.includes(mark)) return null;
    const pieces: Uint8Array[] = [];
    let from = 0;
    for (let at = bytes.indexOf(literal); at >= 0; at = bytes.indexOf(literal, from)) {
      pieces.push(bytes.subarray(from, at), mark);
      from = at + literal.length;
    }
    pieces.push(bytes.subarray(from));
    return this.#fingerprints.ofPieces(pieces);
  }
}

interface Split {
  readonly rest: string;
  /** In the order of the text. */
  readonly parts: readonly Part[];
}

const OPENING: Readonly<Record<PartKind, number>> = { list: 0x5b, map: 0x7b };

/** In which order the parts came last time: clients keep to one. */
const orders = new WeakMap<PartKinds, readonly string[]>();
/**
 * A part may have shrunk since the last time, by a share of its size (this power of two) and by so many bytes: behind that the next one is
 * looked for.
 */
const SHRINKS = 4;
const SLACK = 1024;

/** Where a text stands, preferably behind `from`; -1 when it is not there. */
function placeOf(token: string, payload: Buffer, from: number): number {
  const at = payload.indexOf(token, Math.max(0, from), 'latin1');
  return at >= 0 || from <= 0 ? at : payload.indexOf(token, 0, 'latin1');
}

/** What helps to cut. */
interface CutHelp {
  /** What is remembered of the certname's last payload, whose sizes tell where to look first. */
  readonly last?: Memo | null;
  /** Where the part of that key ends that begins at `start`, -1 for none: for those that are read as they are found. */
  readonly endOf?: (key: string, start: number) => number;
}

/** A part in a payload. */
interface Found {
  readonly key: string;
  /** Where its key begins, and its value. */
  readonly at: number;
  readonly start: number;
  /** Where the value ends; -1: that is not known yet. */
  readonly end: number;
}

/** Cuts the parts out of a payload; null when it is not laid out so that it can be, or one is of another kind. */
export function splitPayload(
  payload: Buffer,
  kinds: PartKinds,
  fingerprints: Fingerprints,
  help: CutHelp = {},
): Split | null {
  const found = findParts(payload, kinds, help);
  if (found === null || found.length === 0) return null;
  const parts: Part[] = [];
  let rest = '';
  let from = 0;
  for (let index = 0; index < found.length; index++) {
    const { key, at, start, end: known } = found[index] as Found;
    const kind = kinds[key] as PartKind;
    const open = OPENING[kind];
    if (payload[start] !== open || at < from) return null;
    // Closing brackets are two above the opening ones. The last brace belongs to the payload itself.
    const bound = found[index + 1]?.at ?? payload.lastIndexOf(0x7d);
    const end = known >= 0 ? known : payload.lastIndexOf(open + 2, bound - 1) + 1;
    if (end <= start) return null;
    const placeholder = `@${index}`;
    rest += `${payload.toString('utf8', from, start)}"${placeholder}"`;
    parts.push(new Part(key, kind, payload.subarray(start, end), placeholder, fingerprints));
    from = end;
  }
  rest += payload.toString('utf8', from);
  return haveOwnPlaces(parts, rest) ? { rest, parts } : null;
}

/** The parts that are there, in the order of the text; null when one that is read on the way is none. */
function findParts(payload: Buffer, kinds: PartKinds, { last = null, endOf }: CutHelp): Found[] | null {
  const found: Found[] = [];
  let expected = -1;
  let behind = 0;
  const order = orders.get(kinds) ?? Object.keys(kinds);
  for (const key of order) {
    const token = `"${key}":`;
    const isExpected = expected >= 0 && payload.toString('latin1', expected, expected + token.length) === token;
    const at = isExpected ? expected : placeOf(token, payload, behind);
    if (at < 0) continue;
    const start = at + token.length;
    behind = start;
    if (endOf !== undefined) {
      const end = endOf(key, start);
      if (end < 0) return null;
      found.push({ key, at, start, end });
      behind = end;
      expected = end + 1;
      continue;
    }
    found.push({ key, at, start, end: -1 });
    const size = last?.parts.get(key)?.size;
    // Behind the part and a comma.
    expected = size === undefined ? -1 : start + size + 1;
    // A part that changed is still about as long as before.
    if (size !== undefined) behind += size - (size >>> SHRINKS) - SLACK;
  }
  if (found.some(({ at }, index) => index > 0 && at < (found[index - 1] as Found).at)) {
    found.sort((a, b) => a.at - b.at);
    orders.set(kinds, [
      ...found.map(({ key }) => key),
      ...order.filter((key) => !found.some((one) => one.key === key)),
    ]);
  }
  return found;
}

/** Whether each place-holder means its place: no other text may read the same, written plainly or with escapes. */
function haveOwnPlaces(parts: readonly Part[], rest: string): boolean {
  if (rest.includes('\\u')) return false;
  return parts.every(({ placeholder }) => {
    const token = `"${placeholder}"`;
    return rest.indexOf(token) === rest.lastIndexOf(token);
  });
}

/** The rest as a value, with the place-holders; null when it is no object that has them where the parts were. */
export function restOf({ rest, parts }: Split): JsonObject | null {
  const value = tryParse(rest, JSON_LIMITS);
  if (value === undefined || !isObject(value)) return null;
  for (const { key, placeholder } of parts) if (value[key] !== placeholder) return null;
  return value;
}

/** The rest with parts that are empty. */
export function withoutParts(rest: JsonObject, parts: readonly Part[]): JsonObject {
  const header: Record<string, JsonValue> = { ...rest };
  for (const { key, empty } of parts) header[key] = empty;
  return header;
}

/** The rest with the values of the parts; null when one is no JSON within the limits. */
export function withParts(rest: JsonObject, parts: readonly Part[], limits: JsonLimits): JsonObject | null {
  const joined: Record<string, JsonValue> = { ...rest };
  for (const { key, bytes } of parts) {
    const value = tryParse(textOf(bytes), limits);
    if (value === undefined) return null;
    joined[key] = value;
  }
  return joined;
}

function tryParse(text: string, limits: JsonLimits): JsonValue | undefined {
  try {
    return parseJsonDocument(text, limits);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** The part of that key; null: it is none of them. */
export const partOf = (parts: readonly Part[], key: string): Part | null =>
  parts.find((part) => part.key === key) ?? null;

/** What is remembered of a command whose parts led to a hash. Holds whatever becomes of the node. */
export interface Memo {
  /** By their keys, in the order of the text. */
  readonly parts: ReadonlyMap<string, RememberedPart>;
  /** See `fingerprintOf`. */
  readonly fingerprint: string;
  readonly hash: string;
}
interface RememberedPart {
  readonly size: number;
  /** Null: the memo is older than these. */
  readonly fingerprint: string | null;
}

/** Whether the part has the bytes that it had then. */
export function isAsThen({ key, bytes, fingerprint }: Part, memo: Memo): boolean {
  const then = memo.parts.get(key);
  return then !== undefined && then.size === bytes.length && then.fingerprint === fingerprint;
}

/** Of everything that decides a command's hash: the parts and, as JSON text, what else. 40 hex digits. */
export const fingerprintOf = (context: string, parts: readonly Part[]): string =>
  sha1([context, ...parts.map(({ key, bytes, fingerprint }) => `${key} ${bytes.length} ${fingerprint}`)].join('\n'));

/** `fingerprint hash key size:fingerprint key size:fingerprint ...`, as it is stored. */
export const memoText = (fingerprint: string, hash: string, parts: readonly Part[]): string =>
  [fingerprint, hash, ...parts.map(({ key, bytes, fingerprint }) => `${key} ${bytes.length}:${fingerprint}`)].join(' ');

export function memoOf(text: string): Memo {
  const [fingerprint, hash, ...rest] = text.split(' ') as [string, string, ...string[]];
  const parts = new Map<string, RememberedPart>();
  for (let at = 0; at < rest.length; at += 2) {
    const [size, ofPart = null] = rest[at + 1]!.split(':') as [string, string?];
    parts.set(rest[at]!, { size: Number(size), fingerprint: ofPart });
  }
  return { parts, fingerprint, hash };
}
