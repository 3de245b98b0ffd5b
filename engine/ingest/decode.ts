// From the bytes of a submission to a typed command:
//
//   bytes -> gunzip -> text -> JSON -> upgraded to the latest version -> validated -> hashed
//
// Pure: what a command says depends on the command and the settings. What is stored of its node (Recollection) only shortens
// the way to it. Every way to fail is a CommandFailure. What differs between commands is in their readers (command-reader.ts).

import type { CommandFormat } from '../../schemas/commands/format.ts';
import { type CommandName, isCommandName } from '../../schemas/commands/formats.ts';
import { textOf } from '../bytes.ts';
import { Fingerprints, newKey } from '../fingerprint.ts';
import type { Envelope } from '../inbox/envelope.ts';
import { JsonError, parseJson } from '../json/parse.ts';
import type { JsonObject, JsonValue } from '../json/value.ts';
import { formatTime } from '../time.ts';
import { type FactsFilter, factsFilter } from './command/blocklist.ts';
import { payloadBytes } from './command/body.ts';
import type { DecodedCommand } from './command/commands.ts';
import { blamingPayload, CommandFailure } from './command/errors.ts';
import type { QueuedCommand } from './command/types.ts';
import { conforms, problems } from './command/validate.ts';
import {
  fingerprintOf,
  type Memo,
  memoOf,
  memoText,
  type Part,
  restOf,
  splitPayload,
  withoutParts,
  withParts,
} from './known/spans.ts';
import { CATALOG_READER } from './read/catalog/catalog.ts';
import {
  type CommandReader,
  type DecodeSettings,
  type PartsReader,
  type Recollection,
  type RememberedCommand,
  UNBOUNDED_DEPTH,
} from './read/command-reader.ts';
import { FACTS_READER } from './read/facts.ts';
import { DEACTIVATE_READER, EXPIRATION_READER, INPUTS_READER } from './read/node-commands.ts';
import { REPORT_READER } from './read/report/report.ts';

const READERS: Readonly<Record<CommandName, CommandReader>> = {
  'replace catalog': CATALOG_READER,
  'replace facts': FACTS_READER,
  'store report': REPORT_READER,
  'deactivate node': DEACTIVATE_READER,
  'configure expiration': EXPIRATION_READER,
  'replace catalog inputs': INPUTS_READER,
};

/** Under a key that only this thread knows, where there is no other. */
const ownFingerprints = new Fingerprints(newKey());

/** A command on its way, apart from its payload. */
interface Source {
  readonly envelope: Envelope;
  readonly reader: CommandReader;
  readonly settings: DecodeSettings;
  readonly filter: FactsFilter;
  readonly fingerprints: Fingerprints;
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
  const { factsBlocklist, factsBlocklistType, decompressedMax, inflater, fingerprints = ownFingerprints } = settings;
  const filter = factsFilter(factsBlocklist, factsBlocklistType);
  const source: Source = { envelope, reader: READERS[name], settings, filter, fingerprints };
  return blamingPayload(() =>
    decodePayload(payloadBytes(body, envelope.gzip, decompressedMax, inflater), source, stored),
  );
}

function decodePayload(payload: Buffer, source: Source, stored: Recollection | null): DecodedCommand {
  const { envelope, reader, fingerprints } = source;
  const { format, readBytes, parts } = reader;
  if (stored !== null && parts !== null && isKnownVersion(format, envelope.version)) {
    const decoded = decodeSplit(payload, source, parts, stored);
    if (decoded !== null) return decoded;
  }
  if (readBytes !== null && envelope.version === format.latest) {
    const decoded = readBytes(payload, envelope.received, fingerprints);
    if (decoded !== null) return decoded;
  }
  return decodeValue(parseJson(payload.length === 0 ? 'null' : textOf(payload), reader.limits), source);
}

/** Decodes with the parts apart; null when the payload does not fall into these parts. */
function decodeSplit(
  payload: Buffer,
  source: Source,
  partsReader: PartsReader,
  stored: Recollection,
): RememberedCommand | null {
  const { envelope, settings, fingerprints } = source;
  const { format } = source.reader;
  const text = stored.memo(partsReader.memo, envelope.certname);
  const last = text === undefined ? null : memoOf(text);
  const split = splitPayload(payload, partsReader.kinds, fingerprints, { last });
  const rest = split === null ? null : restOf(split);
  if (split === null || rest === null) return null;
  const { parts } = split;
  const others = Object.keys(partsReader.kinds).filter((key) => !parts.some((part) => part.key === key));
  // A part that was not cut out is not covered by the memo, unless it is not there at all.
  const isCovered = others.every((key) => rest[key] === undefined);
  const upgraded = upgrade(withoutParts(rest, parts), envelope, format) as JsonObject;
  const fingerprint = isCovered ? fingerprintOf(partsReader.contextOf(upgraded, settings), parts) : null;
  if (fingerprint !== null && fingerprint === last?.fingerprint) {
    // The parts stand for what was valid the last time: only the others are checked.
    assertConforms(upgraded, format);
    const whole = (): RememberedCommand => decodeRemembered(parseJson(textOf(payload), UNBOUNDED_DEPTH), source);
    return partsReader.known(upgraded, envelope.received, last.hash, whole);
  }
  const decoded = decodeParts(upgraded, source, partsReader, parts, stored, last) ?? decodeJoined(rest, source, parts);
  if (decoded === null) return null;
  if (fingerprint !== null) decoded.memo = memoText(fingerprint, decoded.hash, parts);
  return decoded;
}

function decodeParts(
  payload: JsonObject,
  { envelope, reader: { format }, filter }: Source,
  partsReader: PartsReader,
  parts: readonly Part[],
  stored: Recollection,
  last: Memo | null,
): RememberedCommand | null {
  if (format.table === null || !conforms(format.table, payload)) return null;
  try {
    return partsReader.read(payload, envelope.received, parts, filter, stored, last);
  } catch (error) {
    // Where the parts end was guessed: the whole payload tells whether this is what is wrong with it.
    if (error instanceof CommandFailure || error instanceof JsonError) return null;
    throw error;
  }
}

function decodeJoined(rest: JsonObject, source: Source, parts: readonly Part[]): RememberedCommand | null {
  const joined = withParts(rest, parts, UNBOUNDED_DEPTH);
  return joined === null ? null : decodeRemembered(joined, source);
}

/** Of a source whose reader reads parts. */
const decodeRemembered = (value: JsonValue, source: Source): RememberedCommand =>
  decodeValue(value, source) as RememberedCommand;

function decodeValue(value: JsonValue, { envelope, reader, filter }: Source): DecodedCommand {
  const { format } = reader;
  const { version, received } = envelope;
  const payload = upgrade(value, envelope, format);
  assertConforms(payload, format);
  if (version > format.latest) throw unsupported(format, version);
  try {
    return reader.read(payload, received, filter);
  } catch (error) {
    throw inWordsOf(format, error);
  }
}

/** Brings a payload to the latest version. A version beyond that is taken for the latest until it has been validated. */
function upgrade(value: JsonValue, { version, received }: Envelope, format: CommandFormat): JsonValue {
  const isKnown = isKnownVersion(format, version);
  if (!isKnown && format.command === 'replace catalog') throw refuse(format, `Unknown catalog version '${version}'`);
  if (!isKnown && version < format.latest) throw unsupported(format, version);
  const context = { received: formatTime(received) };
  let payload: unknown = value;
  for (let from = version; from < format.latest; from++) {
    const step = format.upgrades[from];
    if (step !== undefined) payload = step(payload, context);
  }
  return payload as JsonValue;
}

const isKnownVersion = (format: CommandFormat, version: number): boolean =>
  version === format.latest || format.upgrades[version] !== undefined;

const unsupported = ({ command }: CommandFormat, version: number): CommandFailure =>
  new CommandFailure('unsupported-version', `Unsupported command ${command} version ${version}`);

function assertConforms(payload: JsonValue, format: CommandFormat): void {
  const { table } = format;
  if (table !== null && !conforms(table, payload)) throw refuse(format, problems(table, payload));
}

/** What a reader threw, as the command's own refusal if it refuses the payload. */
const inWordsOf = (format: CommandFormat, error: unknown): unknown =>
  error instanceof CommandFailure && error.kind === 'invalid' ? refuse(format, error.message) : error;

const refuse = (format: CommandFormat, text: string): CommandFailure =>
  new CommandFailure('invalid', format.refusal + text);
