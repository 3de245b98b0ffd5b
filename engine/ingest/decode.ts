// From the bytes of a submission to a typed command:
//
//   bytes -> gunzip -> text -> JSON -> upgraded to the latest version -> validated -> hashed
//
// Pure: what a command says depends on the command and the settings. What is stored of its node (Recollection) only shortens
// the way to it. Every way to fail is a CommandFailure.

import { isUtf8 } from 'node:buffer';
import type { CommandFormat, WireTable } from '../../schemas/commands/format.ts';
import { COMMAND_FORMATS, type CommandName, isCommandName } from '../../schemas/commands/formats.ts';
import { textOf } from '../bytes.ts';
import { Fingerprints, newKey } from '../fingerprint.ts';
import type { Envelope } from '../inbox/envelope.ts';
import { canonicalS } from '../json/canonical.ts';
import { JSON_LIMITS, JsonError, type JsonLimits, parseJson, parseJsonDocument } from '../json/parse.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/value.ts';
import type { ReportListName, ReportLists } from '../store/report-lists.ts';
import { formatTime } from '../time.ts';
import { type FactsFilter, factsFilter } from './blocklist.ts';
import { payloadBytes } from './body.ts';
import { catalogCommand, catalogHeader, decodeCatalog, decodeCatalogParts } from './catalog.ts';
import type { CatalogCommand, DecodedCommand, FactsCommand, ReportCommand } from './commands.ts';
import { blamingPayload, CommandFailure } from './errors.ts';
import { decodeFacts, decodeFactsParts, factsCommand, factsHeader } from './facts.ts';
import { decodeDeactivate, decodeExpiration, decodeInputs } from './node-commands.ts';
import { decodeReport, LIST_READERS } from './report.ts';
import type { ResourceMemory } from './sent-resources.ts';
import {
  fingerprintOf,
  type Memo,
  memoOf,
  memoText,
  type Part,
  type PartKind,
  type PartKinds,
  type Split,
  splitPayload,
} from './spans.ts';
import { ListSource } from './stored-list.ts';
import type { IngestSettings, QueuedCommand } from './types.ts';
import { conforms, problems } from './validate.ts';

/** Nesting is bounded by those who walk the values: a scan of its own would cost as much as a third of the parse. */
const UNBOUNDED_DEPTH: JsonLimits = { ...JSON_LIMITS, depth: Number.POSITIVE_INFINITY };

const NOTHING = Buffer.alloc(0);

/** The large parts of a payload, whose bytes are remembered. */
const PARTS: Partial<Record<CommandName, PartKinds>> = {
  'replace catalog': { resources: 'list', edges: 'list' },
  'replace facts': { values: 'map', package_inventory: 'list' },
};

const REPORT_PARTS: PartKinds & Readonly<Record<ReportListName, PartKind>> = {
  logs: 'list',
  metrics: 'list',
  resources: 'list',
};

type DecodeSettings = Pick<
  IngestSettings,
  'factsBlocklist' | 'factsBlocklistType' | 'decompressedMax' | 'inflater' | 'fingerprints'
>;

/** Under a key that only this thread knows, where there is no other. */
const ownFingerprints = new Fingerprints(newKey());

/** What is stored of nodes that helps to know again what they send. Says nothing that the payloads would not. */
export interface Recollection {
  /** Text of the memo (spans.ts) that the certname has of a command of that name. */
  memo(command: string, certname: string): string | undefined;
  /** Resources of the certname's catalog; null where none is known. */
  resources(certname: string): ResourceMemory | null;
}

/**
 * Decodes a command. With `stored`, a catalog or factset whose large parts are byte for byte the last ones of its certname
 * is not parsed again, nor are resources that it had then. Throws CommandFailure.
 */
export function decodeCommand(
  { envelope, body }: QueuedCommand,
  settings: DecodeSettings,
  stored: Recollection | null,
): DecodedCommand {
  const { command: name } = envelope;
  if (!isCommandName(name)) throw new CommandFailure('unsupported-version', `Unknown command ${name}`);
  const format = COMMAND_FORMATS[name];
  const filter = factsFilter(settings.factsBlocklist, settings.factsBlocklistType);
  return blamingPayload(() => {
    const payload = payloadBytes(body, envelope.gzip, settings.decompressedMax, settings.inflater);
    const kinds = PARTS[name];
    const { fingerprints = ownFingerprints } = settings;
    if (stored !== null && kinds !== undefined && isKnownVersion(format, envelope.version)) {
      const text = stored.memo(name, envelope.certname);
      const last = text === undefined ? null : memoOf(text);
      const split = splitPayload(payload, kinds, fingerprints, { last });
      const decoded =
        split === null ? null : decodeSplit(envelope, format, payload, split, settings, filter, stored, last);
      if (decoded !== null) return decoded;
    }
    if (name === 'store report' && envelope.version === format.latest) {
      const decoded = decodeReportParts(envelope, format, payload, fingerprints);
      if (decoded !== null) return decoded;
    }
    const value = parseJson(payload.length === 0 ? 'null' : textOf(payload), limitsOf(name));
    return decodeValue(value, envelope, format, filter);
  });
}

const limitsOf = (name: CommandName): JsonLimits => (name === 'replace catalog inputs' ? JSON_LIMITS : UNBOUNDED_DEPTH);

/** Decodes with the parts apart; null when the payload does not fall into these parts. */
function decodeSplit(
  envelope: Envelope,
  format: CommandFormat,
  payload: Buffer,
  split: Split,
  settings: DecodeSettings,
  filter: FactsFilter,
  stored: Recollection,
  last: Memo | null,
): CatalogCommand | FactsCommand | null {
  const rest = tryParse(split.rest, JSON_LIMITS);
  if (rest === undefined || !isObject(rest)) return null;
  for (const { key, placeholder } of split.parts) if (rest[key] !== placeholder) return null;
  const others = Object.keys(PARTS[envelope.command as CommandName] as PartKinds).filter(
    (key) => !split.parts.some((part) => part.key === key),
  );
  // A part that was not cut out is not covered by the memo, unless it is not there at all.
  const isCovered = others.every((key) => rest[key] === undefined);
  const header: Record<string, JsonValue> = { ...rest };
  for (const { key, empty } of split.parts) header[key] = empty;
  const upgraded = upgrade(header, envelope, format) as JsonObject;
  const fingerprint = isCovered ? fingerprintOf(contextOf(envelope, upgraded, settings), split.parts) : null;
  if (fingerprint !== null && fingerprint === last?.fingerprint) {
    const whole = (): CatalogCommand | FactsCommand =>
      decodeValue(parseJson(textOf(payload), UNBOUNDED_DEPTH), envelope, format, filter) as
        | CatalogCommand
        | FactsCommand;
    return decodeKnown(upgraded, envelope, format, last.hash, whole);
  }
  const decoded =
    decodeParts(upgraded, envelope, format, split.parts, filter, stored) ??
    decodeJoined(rest, envelope, format, split.parts, filter);
  if (decoded === null) return null;
  if (fingerprint !== null && decoded.refusal === null) decoded.memo = memoText(fingerprint, decoded.hash, split.parts);
  return decoded;
}

/** What besides the parts decides the hash. `payload`: of the latest version, in which keys have the names that they have here. */
function contextOf(envelope: Envelope, payload: JsonObject, settings: DecodeSettings): string {
  const certname = canonicalS(payload['certname'] ?? null);
  if (envelope.command === 'replace catalog') return certname;
  const { factsBlocklist, factsBlocklistType } = settings;
  const environment = canonicalS(payload['environment'] ?? null);
  return [certname, environment, factsBlocklistType, JSON.stringify(factsBlocklist)].join('\n');
}

/** The parts, which are empty here, stand for what was valid the last time: only the others are checked. */
function decodeKnown(
  payload: JsonObject,
  envelope: Envelope,
  format: CommandFormat,
  hash: string,
  whole: () => CatalogCommand | FactsCommand,
): CatalogCommand | FactsCommand {
  if (format.table !== null && !conforms(format.table, payload)) throw refuse(format, problems(format.table, payload));
  const { received } = envelope;
  if (envelope.command === 'replace catalog') {
    const header = catalogHeader(payload);
    return catalogCommand(header, received, hash, (recall) => (whole() as CatalogCommand).contents(recall));
  }
  const header = factsHeader(payload);
  return factsCommand(header, received, header.refusal, hash, () => (whole() as FactsCommand).contents());
}

function decodeJoined(
  rest: JsonObject,
  envelope: Envelope,
  format: CommandFormat,
  parts: readonly Part[],
  filter: FactsFilter,
): CatalogCommand | FactsCommand | null {
  const joined = join(rest, parts);
  return joined === null ? null : (decodeValue(joined, envelope, format, filter) as CatalogCommand | FactsCommand);
}

/** Element by element (see elements.ts); null when that is not possible, or when something is wrong with the payload. */
function decodeParts(
  payload: JsonObject,
  envelope: Envelope,
  format: CommandFormat,
  parts: readonly Part[],
  filter: FactsFilter,
  stored: Recollection,
): CatalogCommand | FactsCommand | null {
  const part = (name: string): Part | null => parts.find(({ key }) => key === name) ?? null;
  if (format.table === null || !conforms(format.table, payload)) return null;
  const { received } = envelope;
  if (envelope.command === 'replace facts') {
    const values = part('values');
    const packages = part('package_inventory');
    // Packages that are there and were not cut out (of a key with blanks before its colon) are read with the rest.
    const isWhole = packages !== null || (payload['package_inventory'] ?? null) === null;
    return values === null || !isWhole ? null : decodeFactsParts(payload, received, filter, values, packages);
  }
  const resources = part('resources');
  const edges = part('edges');
  if (resources === null || edges === null) return null;
  return refusing(format, () => decodeCatalogParts(payload, received, resources, edges, stored));
}

/** With the lists of a report apart, of which `resources` is parsed where its events need it; null when that is not possible. */
function decodeReportParts(
  envelope: Envelope,
  format: CommandFormat,
  payload: Buffer,
  fingerprints: Fingerprints,
): ReportCommand | null {
  if (!isUtf8(payload)) return null;
  const source = new ListSource(payload);
  const endOf = (key: string, start: number): number => source.read(LIST_READERS[key as ReportListName], start);
  const split = splitPayload(payload, REPORT_PARTS, fingerprints, { endOf });
  if (split === null || split.parts.length < Object.keys(REPORT_PARTS).length) return null;
  const rest = tryParse(split.rest, JSON_LIMITS);
  if (rest === undefined || !isObject(rest)) return null;
  const header: Record<string, JsonValue> = { ...rest };
  const lists: { -readonly [K in keyof ReportLists]: ReportLists[K] } = { logs: null, metrics: null, resources: null };
  let resources: Buffer = NOTHING;
  for (const { key, bytes, placeholder } of split.parts) {
    if (rest[key] !== placeholder) return null;
    header[key] = [];
    lists[key as ReportListName] = { form: 'packed', bytes: LIST_READERS[key as ReportListName].packed };
    if (key === 'resources') resources = bytes;
  }
  if (!conforms(format.table as WireTable, header)) return null;
  const values = (): JsonValue[] => parseJsonDocument(textOf(resources), UNBOUNDED_DEPTH) as JsonValue[];
  return decodeReport(header, envelope.received, { lists, events: LIST_READERS.resources.events, resources: values });
}

function join(rest: JsonObject, parts: readonly Part[]): JsonObject | null {
  const joined: Record<string, JsonValue> = { ...rest };
  for (const { key, bytes } of parts) {
    const value = tryParse(textOf(bytes), UNBOUNDED_DEPTH);
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

function decodeValue(value: JsonValue, envelope: Envelope, format: CommandFormat, filter: FactsFilter): DecodedCommand {
  const payload = upgrade(value, envelope, format);
  const { received } = envelope;
  if (format.table !== null && !conforms(format.table, payload)) throw refuse(format, problems(format.table, payload));
  if (envelope.version > format.latest) {
    throw new CommandFailure(
      'unsupported-version',
      `Unsupported command ${format.command} version ${envelope.version}`,
    );
  }
  const object = payload as JsonObject;
  switch (format.command as CommandName) {
    case 'replace catalog':
      return refusing(format, () => decodeCatalog(object, received));
    case 'replace facts':
      return decodeFacts(object, received, filter);
    case 'store report':
      return decodeReport(object, received);
    case 'deactivate node':
      return decodeDeactivate(object, received);
    case 'configure expiration':
      return decodeExpiration(object, received);
    case 'replace catalog inputs':
      return refusing(format, () => decodeInputs(payload, received));
  }
}

/** Brings a payload to the latest version. A version beyond that is taken for the latest until it has been validated. */
function upgrade(value: JsonValue, envelope: Envelope, format: CommandFormat): JsonValue {
  const { version } = envelope;
  const isKnown = isKnownVersion(format, version);
  if (!isKnown && format.command === 'replace catalog') {
    throw new CommandFailure('invalid', `${format.refusal}Unknown catalog version '${version}'`);
  }
  if (!isKnown && version < format.latest) {
    throw new CommandFailure('unsupported-version', `Unsupported command ${format.command} version ${version}`);
  }
  const context = { received: formatTime(envelope.received) };
  let payload: unknown = value;
  for (let from = version; from < format.latest; from++) {
    const step = format.upgrades[from];
    if (step !== undefined) payload = step(payload, context);
  }
  return payload as JsonValue;
}

const isKnownVersion = (format: CommandFormat, version: number): boolean =>
  version === format.latest || format.upgrades[version] !== undefined;

function refusing<T>(format: CommandFormat, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof CommandFailure && error.kind === 'invalid') throw refuse(format, error.message);
    throw error;
  }
}

const refuse = (format: CommandFormat, text: string): CommandFailure =>
  new CommandFailure('invalid', format.refusal + text);
