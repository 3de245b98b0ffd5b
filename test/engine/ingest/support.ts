// Commands and payloads for the tests of ingest and retention. Payloads are JSON texts where the spelling matters.

import { gzipSync } from 'node:zlib';
import type { DecodedCommand } from '../../../engine/ingest/command/commands.ts';
import type { IngestSettings, QueuedCommand } from '../../../engine/ingest/command/types.ts';
import { decodeCommand } from '../../../engine/ingest/decode.ts';
import type { Recollection } from '../../../engine/ingest/read/command-reader.ts';
import { queuedOf } from '../../support/apply.ts';

export const RECEIVED = Date.parse('2036-06-01T00:00:00.000Z');

export const SETTINGS: IngestSettings = {
  now: RECEIVED,
  resourceEventsTtl: 14 * 86_400_000,
  factsBlocklist: [],
  factsBlocklistType: 'literal',
  decompressedMax: 64_000_000,
};

/** Of a node that is new, for the ways that need a store. */
export const NOTHING_STORED: Recollection = { memo: () => undefined, resources: () => null };

/** Decodes one command after the other as a partition that stores each of them: what they leave to be remembered is known to the next. */
export class Memory {
  readonly #memos = new Map<string, string>();

  decode(command: QueuedCommand, settings = SETTINGS): DecodedCommand {
    const nameOf = (certname: string): string => `${command.envelope.command} ${certname}`;
    const decoded = decodeCommand(command, settings, {
      ...NOTHING_STORED,
      memo: (_, certname) => this.#memos.get(nameOf(certname)),
    });
    if ('memo' in decoded && decoded.memo !== null) this.#memos.set(nameOf(decoded.certname), decoded.memo);
    return decoded;
  }
}

/** Minute `n` of a day in 2036 as ISO text. */
export const at = (minute: number): string =>
  new Date(Date.parse('2036-05-30T12:00:00.000Z') + minute * 60_000).toISOString();

let seq = 0;

export interface Submitted {
  readonly version?: number;
  readonly certname?: string;
  readonly gzip?: boolean;
  readonly queryTime?: string;
  readonly received?: number;
}

/** A queued command with the payload: a value, or a JSON text as it is. */
export function submit(command: string, payload: object | string | Uint8Array, options: Submitted = {}): QueuedCommand {
  const bytes =
    payload instanceof Uint8Array
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const certname = (payload as { certname?: string }).certname ?? 'c';
  return queuedOf(++seq, options.gzip === true && !(payload instanceof Uint8Array) ? gzipSync(bytes) : bytes, {
    command,
    version: options.version ?? LATEST[command] ?? 1,
    certname: options.certname ?? certname,
    received: options.received ?? RECEIVED,
    producerTimestamp: options.queryTime === undefined ? null : Date.parse(options.queryTime),
    gzip: options.gzip ?? false,
  });
}

const LATEST: Readonly<Record<string, number>> = {
  'replace catalog': 9,
  'replace facts': 5,
  'store report': 8,
  'deactivate node': 3,
};

export type Fields = Record<string, unknown>;

export const factsPayload = (fields: Fields = {}): Fields => ({
  certname: 'c',
  environment: 'production',
  producer: null,
  producer_timestamp: at(0),
  values: {},
  ...fields,
});

export const catalogPayload = (fields: Fields = {}): Fields => ({
  certname: 'c',
  version: '1',
  environment: 'production',
  catalog_uuid: null,
  code_id: null,
  producer: null,
  producer_timestamp: at(0),
  resources: [resource()],
  edges: [],
  ...fields,
});

export const resource = (fields: Fields = {}): Fields => ({
  type: 'Class',
  title: 'Main',
  exported: false,
  tags: ['class'],
  parameters: {},
  ...fields,
});

export const reportPayload = (fields: Fields = {}): Fields => ({
  certname: 'c',
  puppet_version: '8.0.0',
  report_format: 12,
  configuration_version: '1',
  start_time: at(0),
  end_time: at(1),
  producer_timestamp: at(2),
  producer: null,
  environment: 'production',
  status: null,
  noop: null,
  noop_pending: null,
  corrective_change: null,
  transaction_uuid: null,
  catalog_uuid: null,
  code_id: null,
  cached_catalog_status: null,
  resources: [],
  metrics: [],
  logs: [],
  ...fields,
});

export const reportResource = (fields: Fields = {}): Fields => ({
  skipped: false,
  timestamp: at(1),
  resource_type: 'File',
  resource_title: '/a',
  file: null,
  line: null,
  containment_path: ['Stage[main]', 'Foo', 'File[/a]'],
  corrective_change: null,
  events: [],
  ...fields,
});

export const event = (fields: Fields = {}): Fields => ({
  status: 'success',
  timestamp: at(1),
  property: 'ensure',
  new_value: 'present',
  old_value: 'absent',
  message: null,
  corrective_change: null,
  ...fields,
});
