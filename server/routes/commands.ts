// Submission of commands below `/pdb/cmd`: checks the request in PuppetDB's order (spec/commands.md 1.1), gives the command
// to the ring and answers once it is durable, or, when the client asked to wait, once it has been processed. The payload of
// the preferred form passes through untouched and unparsed.

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { sentText } from '../../engine/bytes.ts';
import { type FormValue, parseForm } from '../../engine/form.ts';
import type { Envelope } from '../../engine/inbox/envelope.ts';
import type { CommandOutcome } from '../../engine/ingest/command/types.ts';
import type { JsonValue } from '../../engine/json/value.ts';
import { inTurns } from '../../workers/system/turns.ts';
import { type CommandRing, SubmissionRefused } from '../../workers/types.ts';
import { BodyTooLarge, type Exchange, type Handler, type Reply } from '../http/exchange.ts';
import {
  errorReply,
  NOT_FOUND,
  prettyReply,
  refuseAccept,
  refuseContentType,
  retryHeaders,
  textReply,
} from '../http/replies.ts';
import { EnvelopeError, envelopeOfBody, envelopeOfParameters, isParameterForm, type SentEnvelope } from './envelope.ts';

export interface CommandSettings {
  /** Whether commands above `sizeMax` are refused. */
  readonly rejectLarge: boolean;
  /** `max-command-size`, bytes. */
  readonly sizeMax: number;
  /** Bound of every body, whatever `rejectLarge` says: bytes as sent. */
  readonly bodyMax: number;
  /**
   * Whether a `checksum` that is sent must be the SHA-1 of the uncompressed payload. PuppetDB ignores it; so does the
   * default, because clients are known to send others.
   */
  readonly verifyChecksum: boolean;
  /** Bytes that a payload may unpack to: of a larger one no checksum is taken but a refusal given, as it will not be applied either. */
  readonly decompressedMax: number;
}

interface CommandRouteDeps {
  readonly ring: CommandRing;
  readonly settings: CommandSettings;
  /** Epoch ms. */
  readonly now: () => number;
  readonly uuid: () => string;
}

export function createCommandHandler(deps: CommandRouteDeps): Handler {
  return async (exchange) => {
    try {
      await submit(exchange, deps);
    } catch (error) {
      const reply = replyOf(error);
      if (reply === null) throw error;
      exchange.reply(reply);
    }
  };
}

async function submit(exchange: Exchange, deps: CommandRouteDeps): Promise<void> {
  const { settings } = deps;
  const refused = refuseHead(exchange, settings);
  if (refused !== null) {
    exchange.reply(refused);
    return;
  }
  const parameters = parseForm(exchange.queryString);
  const isGzip = exchange.header('content-encoding').toLowerCase() === 'gzip';
  const read = isParameterForm(parameters)
    ? await readParameterForm(exchange, parameters, settings, isGzip)
    : await readBodyForm(exchange, settings);
  if (read === null) {
    exchange.reply(NOT_FOUND);
    return;
  }
  const { sent, body, isGzip: gzip } = read;
  if (settings.verifyChecksum && sent.checksum !== null) await verifyChecksum(sent.checksum, read, settings);
  const uuid = deps.uuid();
  const isWaiting = sent.waitMs > 0;
  const { command, version, certname, producerTimestamp } = sent;
  const received = deps.now();
  const size = uncompressedLength(exchange);
  const envelope: Envelope = { uuid, command, version, certname, received, producerTimestamp, gzip, size };
  const accepted = await deps.ring.submit({ envelope, body }, isWaiting);
  if (!isWaiting || accepted.outcome === null) {
    exchange.reply(prettyReply(200, { uuid }));
    return;
  }
  exchange.reply(outcomeReply(uuid, await within(accepted.outcome, sent.waitMs, exchange)));
}

interface ReadCommand {
  readonly sent: SentEnvelope;
  readonly body: Uint8Array;
  readonly isGzip: boolean;
}

/** Checks 1 to 4 of the order: size as declared, coding, type, accepted types. */
function refuseHead(exchange: Exchange, settings: CommandSettings): Reply | null {
  const isPost = exchange.method === 'POST';
  if (isPost) {
    const declared = uncompressedLength(exchange) ?? wholeNumber(exchange.header('content-length')) ?? 0;
    if (settings.rejectLarge && declared > settings.sizeMax) {
      return textReply(413, 'Command rejected due to size exceeding max-command-size');
    }
    const coding = exchange.header('content-encoding');
    if (coding !== '' && coding !== 'identity' && coding.toLowerCase() !== 'gzip') {
      return textReply(415, `content encoding ${coding} not supported`);
    }
  }
  if (isPost || exchange.method === 'PUT') {
    const refused = refuseContentType(exchange);
    if (refused !== null) return refused;
  }
  return refuseAccept(exchange);
}

const COMMAND_PATH = '/pdb/cmd/v1';

async function readParameterForm(
  exchange: Exchange,
  parameters: ReadonlyMap<string, FormValue>,
  settings: CommandSettings,
  isGzip: boolean,
): Promise<ReadCommand | null> {
  const sent = envelopeOfParameters(parameters);
  // Only now: a bad envelope under a wrong path is told as a bad envelope.
  if (exchange.path !== COMMAND_PATH) return null;
  const { rejectLarge, sizeMax, bodyMax } = settings;
  if (!rejectLarge || sizeMax > bodyMax) return { sent, body: await exchange.body(bodyMax), isGzip };
  try {
    return { sent, body: await exchange.body(sizeMax), isGzip };
  } catch (error) {
    throw error instanceof BodyTooLarge ? new CommandTooLarge() : error;
  }
}

/** Larger than `max-command-size` where that counts; larger than any body may be is a BodyTooLarge. */
class CommandTooLarge extends Error {}

async function readBodyForm(exchange: Exchange, settings: CommandSettings): Promise<ReadCommand | null> {
  const text = sentText(await exchange.body(settings.bodyMax));
  const { envelope: sent, payload } = await inTurns(envelopeOfBody(text));
  if (exchange.path !== COMMAND_PATH) return null;
  // The payload's size is taken as that of a text of two-byte characters.
  if (settings.rejectLarge && payload.length * 2 > settings.sizeMax) throw new CommandTooLarge();
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(payload));
  bytes.write(payload);
  return { sent, body: bytes, isGzip: false };
}

const wholeNumber = (text: string): number | null => (/^\d{1,18}$/.test(text) ? Number(text) : null);

const uncompressedLength = (exchange: Exchange): number | null => wholeNumber(exchange.header('x-uncompressed-length'));

/** SHA-1 of the unpacked payload, chunk by chunk, so that little of it is in memory; null when it is damaged. Throws EnvelopeError beyond `max` bytes. */
async function payloadSha1(body: Uint8Array, max: number): Promise<string | null> {
  const hash = createHash('sha1');
  let size = 0;
  const bounded = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > max) throw new EnvelopeError(`The payload unpacks to more than ${max} bytes.`);
      yield chunk;
    }
  };
  try {
    await pipeline(Readable.from([body]), createGunzip(), bounded, hash);
  } catch (error) {
    if (error instanceof EnvelopeError) throw error;
    return null;
  }
  return hash.digest('hex');
}

async function verifyChecksum(
  checksum: string,
  { body, isGzip }: ReadCommand,
  { decompressedMax }: CommandSettings,
): Promise<void> {
  const actual = isGzip ? await payloadSha1(body, decompressedMax) : createHash('sha1').update(body).digest('hex');
  if (actual !== checksum.toLowerCase()) {
    throw new EnvelopeError(
      `Checksum ${checksum} does not match the payload (SHA-1 ${actual ?? 'unknown: not gzip'}).`,
    );
  }
}

/** The outcome, or null when the time is up or the client is gone first. */
function within(outcome: Promise<CommandOutcome>, waitMs: number, exchange: Exchange): Promise<CommandOutcome | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, waitMs, null);
    exchange.onAbort(() => {
      clearTimeout(timer);
      resolve(null);
    });
    outcome.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * The answer to a client that waited. A refused command is told at once, with its cause: `exception` is the documented
 * key, `stack_trace` the one PuppetDB sends, and clients of both exist.
 */
function outcomeReply(uuid: string, outcome: CommandOutcome | null): Reply {
  if (outcome === null) return prettyReply(503, { uuid, processed: false, timed_out: true });
  const done: Record<string, JsonValue> = { uuid, processed: true, timed_out: false };
  if (outcome.kind === 'processed') return prettyReply(200, done);
  done['error'] = outcome.error;
  done['exception'] = outcome.exception;
  done['stack_trace'] = outcome.stack;
  return prettyReply(503, done);
}

/** The answer to an expected failure, null for any other. */
function replyOf(error: unknown): Reply | null {
  if (error instanceof EnvelopeError) return errorReply(400, error.message);
  if (error instanceof CommandTooLarge) return textReply(413, 'Command size exceeds max-command-size');
  if (error instanceof SubmissionRefused) return { ...errorReply(503, error.message), headers: retryHeaders(error) };
  return null;
}
