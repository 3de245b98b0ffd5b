// The command stream: where an acknowledged command is until it has been applied. This is the seam between one machine and
// many: the embedded log (log.ts) implements it on local disk; an existing replicated log can implement it too.
// What every implementation promises:
//   append    resolves only when the command survives power loss; a rejected one was not stored (or at worst is delivered
//             later although its sender was told no, never half)
//   delivery  in seq order, each record once per subscription, own and foreign appends alike
//   position  belongs to the consumer, who stores it with the data; after a restart it skips what it has applied

import type { Envelope } from './envelope.ts';

/** A stored command. `place` is the stream's own and opaque to everybody else. */
export interface StreamRecord {
  /** Strictly increasing over the life of the data directory; gaps are normal. */
  readonly seq: number;
  readonly envelope: Envelope;
  /** Length of the body as stored, bytes. */
  readonly bytes: number;
  readonly place: unknown;
}

/** Called for every record. */
export type Deliver = (record: StreamRecord) => void;

/** A file of records, open as long as one of them is not released. */
export interface StoredIn {
  readonly path: string;
  /** Of this process. */
  readonly fd: number;
  readonly salt: number;
}

/** Where a stored command is: its record, and how much of that is the body. */
export interface StoredBody {
  readonly file: StoredIn;
  readonly seq: number;
  /** Where the record begins, and bytes of it before the body. */
  readonly offset: number;
  readonly headSize: number;
  readonly bytes: number;
}

export interface CommandStream {
  /** Resolves with the seq once durable; rejects with StreamUnavailable. The body must not change before it settles. */
  append(envelope: Envelope, body: Uint8Array): Promise<number>;
  /** Delivers everything stored, then every append. One subscription per stream, for its whole life. */
  subscribe(deliver: Deliver): void;
  /** Where any thread of the process can read the body of a delivered record, until that is released (BodyReader). */
  locate(record: StreamRecord): StoredBody;
  /** The record is applied and that is durable: the stream may forget it. Each record once. */
  release(record: StreamRecord): void;
  /** null while appends can succeed, else why they cannot. */
  readonly trouble: Error | null;
  /** Tries to get out of trouble; resolves with true when appends can succeed again. */
  recover(): Promise<boolean>;
  /** Waits for running appends and closes. Later appends are rejected. */
  close(): Promise<void>;
}

/** The stream cannot take commands now (disk full, write or sync failed, closed). What was refused was not acknowledged. */
export class StreamUnavailable extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = 'StreamUnavailable';
  }
}

/** Stored bytes are not what was written. Names file and offset; needs a person. */
export class StreamCorrupt extends Error {
  readonly file: string;
  readonly offset: number;
  readonly what: string;
  constructor(file: string, offset: number, what: string) {
    super(`${file}: offset ${offset}: ${what}`);
    this.name = 'StreamCorrupt';
    this.file = file;
    this.offset = offset;
    this.what = what;
  }
}
