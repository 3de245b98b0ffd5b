// What travels from the inbox to the code that applies commands, and back.

import type { Fingerprints } from '../../fingerprint.ts';
import type { Envelope } from '../../inbox/envelope.ts';
import type { BodyInflater } from './inflater.ts';

/** A command as the inbox delivers it. */
export interface QueuedCommand {
  /** Position in the stream: strictly increasing over all commands of this store. */
  readonly seq: number;
  readonly envelope: Envelope;
  /** Exactly as received. */
  readonly body: Uint8Array;
}

export interface ProcessedOutcome {
  readonly kind: 'processed';
  readonly seq: number;
  readonly detail: 'stored' | 'stale' | 'duplicate' | 'obsolete';
  /** Payload certname. */
  readonly certname: string;
  /** Identity of what was stored, where there is one (first 8 digits are logged). */
  readonly hash: string | null;
  /** A catalog, factset or input list whose content was already there: only its metadata was written. */
  readonly unchanged?: boolean;
  /** A catalog or factset of a node that had none. */
  readonly isFirst?: boolean;
  /** Of a report: version of the agent that made it. */
  readonly agentVersion?: string | undefined;
}

export interface FailedOutcome {
  readonly kind: 'failed';
  readonly seq: number;
  /** true: may pass later (retry schedule); false: dead letter office at once. */
  readonly retryable: boolean;
  /** true: refused by decoding or validation; false: failed while being carried out. */
  readonly validation: boolean;
  /** One line for people, the text of the dead letter's cause file. */
  readonly error: string;
  /** Name of the failure's class, and a stack trace for unexpected ones (else empty). */
  readonly exception: string;
  readonly stack: readonly string[];
}

export type CommandOutcome = ProcessedOutcome | FailedOutcome;

/**
 * The payload names a certname that belongs to another slot (the envelope's certname chose this one). Nothing was changed:
 * the command has to go to that certname's slot, with its envelope as it is except for the certname that routes it.
 */
interface Reroute {
  readonly kind: 'reroute';
  readonly seq: number;
  /** Payload certname. */
  readonly certname: string;
}

export type ApplyOutcome = CommandOutcome | Reroute;

/** How one command went: `detail` and whether content was written. */
export interface Applied {
  readonly detail: 'stored' | 'stale' | 'duplicate';
  readonly hash: string | null;
  readonly unchanged: boolean;
  /** The node had no catalog (factset) before. */
  readonly isFirst?: boolean;
  /** Of a report: version of the agent that made it. */
  readonly agentVersion?: string;
}

export interface IngestSettings {
  /** Epoch ms; passed in, never read from the clock here. */
  readonly now: number;
  /** Milliseconds; 0 stores no events. */
  readonly resourceEventsTtl: number;
  readonly factsBlocklist: readonly string[];
  readonly factsBlocklistType: 'literal' | 'regex';
  /** Largest decompressed body, bytes. */
  readonly decompressedMax: number;
  /** Decompresses bodies; then what is prepared must be applied before the next command is. Absent: each body gets memory of its own. */
  readonly inflater?: BodyInflater;
  /** By which payloads are known again. Absent: nothing that is remembered is of use to another thread, or a later run. */
  readonly fingerprints?: Fingerprints;
  /** Whether data of the certname belongs to the partition at hand; absent: all of it does. */
  readonly owns?: (certname: string) => boolean;
}
