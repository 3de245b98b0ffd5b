// The small commands: deactivate node, configure expiration, replace catalog inputs.

import { isEmpty } from '../../../schemas/commands/format.ts';
import { CONFIGURE_EXPIRATION, DEACTIVATE_NODE, REPLACE_CATALOG_INPUTS } from '../../../schemas/commands/node.ts';
import { compareUnits, quote } from '../../json/canonical.ts';
import { JSON_LIMITS } from '../../json/parse.ts';
import { isObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { parseLenient } from '../../time.ts';
import { Columns, nulIn } from '../command/columns.ts';
import type { DeactivateCommand, ExpirationCommand, InputsCommand } from '../command/commands.ts';
import { CommandFailure } from '../command/errors.ts';
import { inputsHash } from '../command/hashes.ts';
import { excerpt } from '../command/validate.ts';
import { type CommandReader, UNBOUNDED_DEPTH } from './command-reader.ts';

/** Of a payload that conforms to the wire table. Without a producer timestamp it is the time of receipt. */
function decodeDeactivate(payload: JsonObject, received: number): DeactivateCommand {
  const certname = payload['certname'] as string;
  if (certname.includes('\u0000')) throw notStorable(nulIn('certname'));
  return { kind: 'deactivate', certname, producerTimestamp: timeOr(payload, received) };
}

function decodeExpiration(payload: JsonObject, received: number): ExpirationCommand {
  const columns = new Columns();
  return {
    kind: 'expiration',
    certname: columns.text(payload['certname'] as string, 'certname'),
    producerTimestamp: timeOr(payload, received),
    refusal: columns.refusal,
    expire: (payload['expire'] as JsonObject)['facts'] as boolean,
  };
}

const timeOr = (payload: JsonObject, received: number): number =>
  parseLenient((payload['producer_timestamp'] ?? null) as JsonValue) ?? received;

/**
 * Catalog inputs are not validated up front: whatever is wrong with them fails the execution and may be retried. With no
 * inputs (or no payload) nothing else is even looked at, and of older inputs not what a column would not take.
 */
function decodeInputs(sentPayload: JsonValue, received: number): InputsCommand {
  const payload = sentPayload ?? {};
  if (!isObject(payload)) throw new CommandFailure('invalid', `(not (map? ${excerpt(payload)}))`);
  const sent = payload['inputs'] ?? null;
  const certname = payload['certname'];
  if (isEmpty(sent)) {
    const name = typeof certname === 'string' ? certname : '';
    return { kind: 'inputs', certname: name, producerTimestamp: received, refusal: null, inputs: null };
  }
  if (!Array.isArray(sent)) throw notStorable(`The inputs are no list: ${excerpt(sent)}`);
  if (typeof certname !== 'string') throw notStorable(`The certname is no text: ${excerpt(certname ?? null)}`);
  const sentTime = payload['producer_timestamp'] ?? null;
  const producerTimestamp = sentTime === null ? received : parseLenient(sentTime);
  if (producerTimestamp === null) throw notStorable(`The producer_timestamp is no time: ${excerpt(sentTime)}`);
  const columns = new Columns();
  columns.text(certname, 'certname');
  const uuid = payload['catalog_uuid'] ?? null;
  if (typeof uuid !== 'string') throw notStorable(`The catalog_uuid is no UUID: ${excerpt(uuid)}`);
  const catalogUuid = columns.uuid(uuid, 'catalog_uuid') ?? '';
  const inputs = distinctInputs(sent, columns);
  const text = `[${inputs.map(([type, name]) => `[${quote(type)},${quote(name)}]`).join(',')}]`;
  const hash = inputsHash(certname, inputs);
  const { refusal } = columns;
  return { kind: 'inputs', certname, producerTimestamp, refusal, inputs: { catalogUuid, hash, text } };
}

const describeInput = (pair: JsonValue): string => `Input ${excerpt(pair)}`;

/** Distinct pairs sorted by type, then name. */
function distinctInputs(sent: readonly JsonValue[], columns: Columns): [string, string][] {
  const pairs: [string, string][] = [];
  for (const pair of sent) {
    if (!Array.isArray(pair) || !pair.every((text) => typeof text === 'string')) {
      throw notStorable(`An input is not a pair of texts: ${excerpt(pair)}`);
    }
    const [type = '', name = ''] = pair as readonly string[];
    columns.about(pair, describeInput);
    if (pair.length !== 2) columns.refuse('it is no pair.');
    pairs.push([columns.text(type, 'type'), columns.text(name, 'name')]);
  }
  columns.aboutAll();
  pairs.sort((a, b) => compareUnits(a[0], b[0]) || compareUnits(a[1], b[1]));
  return pairs.filter(([type, name], index) => {
    const before = pairs[index - 1];
    return before === undefined || before[0] !== type || before[1] !== name;
  });
}

const notStorable = (text: string): CommandFailure => new CommandFailure('not-storable', text);

export const DEACTIVATE_READER: CommandReader<DeactivateCommand> = {
  format: DEACTIVATE_NODE,
  limits: UNBOUNDED_DEPTH,
  read: decodeDeactivate,
  readBytes: null,
  parts: null,
};

export const EXPIRATION_READER: CommandReader<ExpirationCommand> = {
  format: CONFIGURE_EXPIRATION,
  limits: UNBOUNDED_DEPTH,
  read: decodeExpiration,
  readBytes: null,
  parts: null,
};

/** Nobody else bounds the nesting of inputs. */
export const INPUTS_READER: CommandReader<InputsCommand> = {
  format: REPLACE_CATALOG_INPUTS,
  limits: JSON_LIMITS,
  read: decodeInputs,
  readBytes: null,
  parts: null,
};
