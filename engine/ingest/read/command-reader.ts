// How commands are read: a reader for each name, in the module that knows its payloads; decode.ts has the table of them. Payloads are of the
// latest version, and conform to the wire table where there is one: then they are objects.

import type { CommandFormat } from '../../../schemas/commands/format.ts';
import type { Fingerprints } from '../../fingerprint.ts';
import { canonicalK } from '../../json/canonical.ts';
import { JSON_LIMITS, type JsonLimits } from '../../json/parse.ts';
import type { JsonObject, JsonValue } from '../../json/value.ts';
import type { MemoKind } from '../../store/records/tables.ts';
import type { FactsFilter } from '../command/blocklist.ts';
import type { CatalogCommand, DecodedCommand, FactsCommand } from '../command/commands.ts';
import type { IngestSettings } from '../command/types.ts';
import type { ResourceMemory } from '../known/sent-resources.ts';
import type { Memo, Part, PartKinds } from '../known/spans.ts';

export type DecodeSettings = Pick<
  IngestSettings,
  'factsBlocklist' | 'factsBlocklistType' | 'decompressedMax' | 'inflater' | 'fingerprints'
>;

/** What is stored of nodes and helps to know again what they send. It says nothing that the payloads do not. */
export interface Recollection {
  /** Text of the memo (spans.ts) of that kind that the certname has. */
  memo(kind: MemoKind, certname: string): string | undefined;
  /** Resources of the certname's catalog; null where none is known. */
  resources(certname: string): ResourceMemory | null;
}

/** Nesting is bounded by those who walk the values: a scan of its own would cost as much as a third of the parse. */
export const UNBOUNDED_DEPTH: JsonLimits = { ...JSON_LIMITS, depth: Number.POSITIVE_INFINITY };

/**
 * Walks the members that are dropped, which nobody else does: nesting is bounded in them, too. `depth`: how many containers enclose each of
 * them. Throws JsonError.
 */
export function boundDropped(sent: JsonObject, known: ReadonlySet<string>, depth: number): void {
  for (const key in sent) if (!known.has(key)) canonicalK(sent[key] as JsonValue, depth);
}

export interface CommandReader<C extends DecodedCommand = DecodedCommand> {
  readonly format: CommandFormat;
  /** Of the parse of whole payloads. */
  readonly limits: JsonLimits;
  /** `received`: epoch ms. Throws CommandFailure, and JsonError when a value is nested too deeply, or would be too long. */
  read(payload: JsonValue, received: number, filter: FactsFilter): C;
  /** The same from the bytes of a payload, of which not all becomes values; null when that is not possible. */
  readonly readBytes: ((payload: Buffer, received: number, fingerprints: Fingerprints) => C | null) | null;
  /** Of payloads with large parts whose bytes are remembered. */
  readonly parts: PartsReader<Extract<C, RememberedCommand>> | null;
}

export type RememberedCommand = CatalogCommand | FactsCommand;

export interface PartsReader<C extends RememberedCommand = RememberedCommand> {
  /** Where a node's memo of them is. */
  readonly memo: MemoKind;
  readonly kinds: PartKinds;
  /** What besides the parts decides the hash. `payload` is upgraded: its keys may have been named otherwise when it was sent. */
  contextOf(payload: JsonObject, settings: DecodeSettings): string;
  /** The parts, which are empty here, led to the hash the last time. `whole` makes the command of all of the payload. */
  known(payload: JsonObject, received: number, hash: string, whole: () => C): C;
  /**
   * The command from the parts, which are read element by element (elements.ts). Null when that is not possible. Where something seems to be
   * wrong it gives null or throws: the whole payload tells what it is. `last`: what is remembered of the certname's last payload.
   */
  read(
    payload: JsonObject,
    received: number,
    parts: readonly Part[],
    filter: FactsFilter,
    stored: Recollection,
    last: Memo | null,
  ): C | null;
}
