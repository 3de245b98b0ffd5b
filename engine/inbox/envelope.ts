// The envelope of a command: what travels with its body from the submission to the partition, and is stored with it.

/** What is known of a command without looking into its body. */
export interface Envelope {
  readonly uuid: string;
  /** Command name with spaces: `replace facts`. */
  readonly command: string;
  readonly version: number;
  /** Decides the partition; the payload's certname decides where data goes. */
  readonly certname: string;
  /** Server clock when the body was complete, epoch ms; becomes factset/catalog timestamp and report receive_time. */
  readonly received: number;
  /** The `producer-timestamp` parameter, epoch ms, when it was valid, else null: only commands that have one coalesce. */
  readonly producerTimestamp: number | null;
  readonly gzip: boolean;
  /** Declared uncompressed size in bytes (X-Uncompressed-Length), null when the client did not say; for metrics. */
  readonly size: number | null;
}

/** Fields of an envelope as they are stored. */
export const ENVELOPE_FIELDS = 8;

/** The fields in the order in which they are stored. `gzip`: as the format at hand writes it. */
export const fieldsOf = (envelope: Envelope, gzip: boolean | number): readonly unknown[] => [
  envelope.uuid,
  envelope.command,
  envelope.version,
  envelope.certname,
  envelope.received,
  envelope.producerTimestamp,
  gzip,
  envelope.size,
];

/** The envelope of these fields; null when they are not those of one. */
export function envelopeOf(fields: readonly unknown[]): Envelope | null {
  if (fields.length !== ENVELOPE_FIELDS) return null;
  const [uuid, command, version, certname, received, producerTimestamp, gzip, size] = fields;
  if (typeof uuid !== 'string' || typeof command !== 'string' || typeof certname !== 'string') return null;
  if (typeof version !== 'number' || typeof received !== 'number') return null;
  if (producerTimestamp !== null && typeof producerTimestamp !== 'number') return null;
  if (size !== null && typeof size !== 'number') return null;
  return { uuid, command, version, certname, received, producerTimestamp, gzip: gzip === 1 || gzip === true, size };
}
