// The envelope of a submitted command: which command, which version, for whom. Two forms: query parameters with the
// payload as the body, or one JSON body with everything (old clients). Pure functions over parameters and text; the
// payload of the first form is never looked at here. Texts and their order are PuppetDB's (spec/commands.md 1.2-1.6).

import { ownText } from '../../engine/bytes.ts';
import { isBlank, printClojure, printRead, textOf } from '../../engine/clojure.ts';
import type { FormValue } from '../../engine/form.ts';
import type { Envelope } from '../../engine/inbox/envelope.ts';
import { isRecordable } from '../../engine/inbox/record.ts';
import { javaInteger } from '../../engine/java-integer.ts';
import { JsonError, type MemberVisitor, parseJsonPrefix, passValue, walkMembers } from '../../engine/json/parse.ts';
import type { JsonValue } from '../../engine/json/value.ts';
import { parseStrict } from '../../engine/time.ts';
import { COMMAND_FORMATS, isCommandName } from '../../schemas/commands/formats.ts';
import { TIMER_MAX } from '../../workers/system/clock.ts';

/** What a client says of a command. */
export interface SentEnvelope extends Pick<Envelope, 'command' | 'version' | 'certname' | 'producerTimestamp'> {
  /** As sent, not verified; null when it was not given. */
  readonly checksum: string | null;
  /** How long the client waits for the outcome; 0: not at all. */
  readonly waitMs: number;
}

/** A command that is refused at the door: 400 with this text. */
export class EnvelopeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EnvelopeError';
  }
}

const NAMES = Object.keys(COMMAND_FORMATS).sort().join(', ');
const KEYS = new Set([
  'command',
  'version',
  'certname',
  'producer-timestamp',
  'checksum',
  'secondsToWaitForCompletion',
]);
const QUOTE = 0x22;
const INTEGER_MAX = 2 ** 31 - 1;
const INTEGER_MIN = -(2 ** 31);

/** Whether the query parameters announce the form with the payload as the body. */
export function isParameterForm(parameters: ReadonlyMap<string, FormValue>): boolean {
  return parameters.has('command');
}

/** The envelope of the parameter form. Throws EnvelopeError. */
export function envelopeOfParameters(parameters: ReadonlyMap<string, FormValue>): SentEnvelope {
  const given = new Map<string, JsonValue>(parameters);
  const command = given.get('command');
  // Several become the text of their list.
  const name = Array.isArray(command) ? printClojure(command) : command;
  if (typeof name === 'string') given.set('command', name.replaceAll('_', ' '));
  // A missing version is an invalid one here.
  const version = given.get('version');
  given.set('version', typeof version === 'string' ? javaInteger(version) : (version ?? ''));
  return validate(given);
}

const OLD_FORM = 'Command was submitted without query parameters (old format).';

/**
 * The envelope of the one-body form, and the text of its payload as it was sent (numbers keep their spelling). Throws
 * EnvelopeError. The payload is checked and nothing is made of it; yields now and then, as this runs where all connections
 * are served.
 */
export function* envelopeOfBody(text: string): Generator<void, { envelope: SentEnvelope; payload: string }> {
  const body = yield* readBody(text);
  const value = (name: string): JsonValue => body?.values.get(name) ?? null;
  const payload = body?.payload ?? null;
  const command = value('command');
  const certname = body?.certname ?? null;
  if (!isTruthy(command) || !isTruthy(value('version')) || payload === null || /^(?:null|false)$/.test(payload)) {
    const required = 'The request body must be a JSON map with required keys: command, version, payload.';
    throw refusal(command, certname, `${OLD_FORM} ${required}`);
  }
  if (!payload.startsWith('{')) throw refusal(command, null, `${OLD_FORM} The payload value must be a JSON map.`);
  const given = new Map<string, JsonValue>();
  for (const [name, member] of body?.values ?? []) {
    if (name !== 'certname' && member !== null) given.set(name, member);
  }
  if (certname !== null) given.set('certname', certname);
  return { envelope: validate(given), payload };
}

interface Body {
  /** Members but the payload. Of what no envelope has only that it is there. */
  readonly values: ReadonlyMap<string, JsonValue>;
  /** Its text; null: not there. */
  readonly payload: string | null;
  /** Of the payload; null when that is no object or has none. */
  readonly certname: JsonValue;
}

/** Members that are remembered, of those that no envelope has: for the message that refuses them. */
const MEMBERS_MAX = 100;
/** Characters of a text that a message shows, and of a list or map of which more is made than that it is one. */
const SHOWN_MAX = 1 << 16;

/** null when the text's first value is no object. The last of equal keys counts. */
function* readBody(text: string): Generator<void, Body | null> {
  const values = new Map<string, JsonValue>();
  let payload: string | null = null;
  let certname: JsonValue = null;
  function* valueAt(start: number, take: (value: JsonValue) => void): Generator<void, number> {
    const end = yield* passValue(text, start);
    const isLong = text.charCodeAt(start) !== QUOTE && end - start > SHOWN_MAX;
    take(isLong ? [] : ownValue(parseJsonPrefix(text, start).value));
    return end;
  }
  const takeCertname = (value: JsonValue): void => {
    certname = value;
  };
  function* payloadAt(start: number): Generator<void, number> {
    certname = null;
    let end = yield* walkMembers(text, start, (name, at) => (name === 'certname' ? valueAt(at, takeCertname) : 0));
    if (end < 0) end = yield* passValue(text, start);
    payload = text.slice(start, end);
    return end;
  }
  const member: MemberVisitor = (name, start) => {
    if (name === 'payload') return payloadAt(start);
    if (!KEYS.has(name)) {
      if (values.size < MEMBERS_MAX) values.set(name, text.startsWith('null', start) ? null : true);
      return 0;
    }
    return valueAt(start, (value) => values.set(name, value));
  };
  try {
    return (yield* walkMembers(text, 0, member)) < 0 ? null : { values, payload, certname };
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

/** A value for an envelope, which lives until its command is applied, and must not keep the body as long. */
const ownValue = (value: JsonValue): JsonValue => (typeof value === 'string' ? ownText(value) : value);

const isTruthy = (value: JsonValue): boolean => value !== null && value !== false;

/** The checks both forms share, in PuppetDB's order. */
function validate(given: ReadonlyMap<string, JsonValue>): SentEnvelope {
  const command = given.get('command') ?? null;
  const certname = given.get('certname') ?? null;
  const version = given.get('version') ?? null;
  const refuse = (text: string): never => {
    throw refusal(command, certname, text);
  };
  const missing = ['certname', 'version', 'command'].filter((key) => !given.has(key));
  if (missing.length > 0) refuse(`Command is missing required parameters: ${missing.join(', ')}.`);
  const unknown = [...given.keys()].filter((key) => !KEYS.has(key));
  if (unknown.length > 0) refuse(`Command has invalid parameters: ${unknown.map(shown).join(', ')}.`);
  if (typeof certname !== 'string' || isBlank(certname)) return refuse('Certname must be a non-empty string.');
  // PuppetDB checks no length.
  if (!isRecordable(certname))
    throw refusal(command, null, `The certname of ${certname.length} characters is too long.`);
  if (typeof command !== 'string' || !isCommandName(command)) return refuse(`Command must be one of: ${NAMES}.`);
  if (typeof version !== 'number' || !Number.isInteger(version) || version > INTEGER_MAX || version < INTEGER_MIN) {
    return refuse('Version must be a valid integer.');
  }
  const { versionMin } = COMMAND_FORMATS[command];
  if (version < versionMin) {
    refuse(
      `Version ${version} of command ${printClojure(command)} is retired. The minimum supported version is ${versionMin}.`,
    );
  }
  const timestamp = given.get('producer-timestamp') ?? false;
  if (timestamp !== false && typeof timestamp !== 'string') return refuse('producer-timestamp must be a text.');
  const checksum = given.get('checksum');
  const waitMs = waitOf(given.get('secondsToWaitForCompletion') ?? null);
  if (waitMs === null) return refuse('secondsToWaitForCompletion must be a number in text form.');
  return {
    command,
    version,
    certname,
    producerTimestamp: timestamp === false ? null : parseStrict(timestamp),
    checksum: checksum === undefined || checksum === null ? null : textOf(checksum),
    waitMs,
  };
}

const refusal = (command: JsonValue, certname: JsonValue, text: string): EnvelopeError =>
  new EnvelopeError(
    `Command ${printRead(shown(command))} for certname ${printRead(shown(certname))} is invalid. ${text}`,
  );

/** What a message shows of a value: clients choose how long it is. */
const shown = <T extends JsonValue>(value: T): T | string =>
  typeof value === 'string' ? value.slice(0, SHOWN_MAX) : value;

/** Written so that no text is read twice: clients choose it. */
const SECONDS = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?$/;

/** Milliseconds; 0 when there is nothing to wait for; null when the value is no floating-point text. */
function waitOf(value: JsonValue): number | null {
  if (value === null) return 0;
  if (typeof value !== 'string') return null;
  const text = value.trim();
  if (!SECONDS.test(text)) return null;
  const seconds = Number(text.replace(/[dDfF]$/, ''));
  return seconds <= 0 ? 0 : Math.min(Math.max(1, Math.round(seconds * 1000)), TIMER_MAX);
}
