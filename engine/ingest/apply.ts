// Carries out commands on a partition: decode, compare with what is stored, write what changed. All commands of a batch go
// into one transaction; each of them either fails before its first write or is applied whole. What throws here is a defect
// or a failing store, and takes the transaction with it.

import type { Batch } from '../store/batch.ts';
import type { MemoKind } from '../store/records/tables.ts';
import { applyCatalog } from './apply/apply-catalog.ts';
import { applyFacts } from './apply/apply-facts.ts';
import { applyDeactivate, applyExpiration, applyInputs } from './apply/apply-node.ts';
import { applyReport } from './apply/apply-report.ts';
import { payloadSize } from './command/body.ts';
import type { DecodedCommand } from './command/commands.ts';
import { CommandFailure, failedOutcome } from './command/errors.ts';
import type { Applied, ApplyOutcome, FailedOutcome, IngestSettings, QueuedCommand } from './command/types.ts';
import { decodeCommand } from './decode.ts';
import { type ResourceMemory, SentResources } from './known/sent-resources.ts';
import type { Recollection } from './read/command-reader.ts';

/** What a batch finds stored of nodes. */
class Stored implements Recollection {
  readonly #batch: Batch;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  memo(kind: MemoKind, certname: string): string | undefined {
    return this.#batch.memo(kind, certname);
  }

  resources(certname: string): ResourceMemory | null {
    const known = this.#batch.knownResources(certname);
    return known === null ? null : new SentResources(this.#batch, known);
  }
}

/**
 * About how many bytes of content a batch brings, for `Partition.write`. What gzip says of sizes is believed up to the size of the largest
 * command. One command alone is decoded before this is asked (workers/actor/engine-host.ts): a damaged one must not hold back a partition.
 */
export function batchSize(commands: readonly QueuedCommand[], { decompressedMax }: IngestSettings): number {
  let size = 0;
  for (const { envelope, body } of commands) size += payloadSize(body, envelope.gzip);
  return Math.min(size, decompressedMax);
}

/** A command that has been decoded, or that has its outcome already. */
type Prepared =
  | { readonly kind: 'decoded'; readonly seq: number; readonly command: DecodedCommand }
  | { readonly kind: 'settled'; readonly outcome: ApplyOutcome };

/**
 * Decodes a command for the batch that it is to be applied to. The result is good until the next command is decoded: parts of it lie in memory
 * that is used again.
 */
export function prepare(batch: Batch, command: QueuedCommand, settings: IngestSettings): Prepared {
  const { seq } = command;
  try {
    const decoded = decodeCommand(command, settings, new Stored(batch));
    const isForeign = settings.owns !== undefined && !settings.owns(decoded.certname);
    // Inputs that change nothing name no node: any slot can pass them.
    if (isForeign && !(decoded.kind === 'inputs' && decoded.inputs === null)) {
      return { kind: 'settled', outcome: { kind: 'reroute', seq, certname: decoded.certname } };
    }
    return { kind: 'decoded', seq, command: decoded };
  } catch (error) {
    if (error instanceof CommandFailure) return { kind: 'settled', outcome: failed(seq, error) };
    throw error;
  }
}

/** Applies a prepared command to an open batch. Does not touch the stream position. */
export function applyPrepared(batch: Batch, prepared: Prepared, settings: IngestSettings): ApplyOutcome {
  if (prepared.kind === 'settled') return prepared.outcome;
  const { seq, command } = prepared;
  try {
    const { detail, hash, unchanged, isFirst = false, agentVersion } = applyCommand(batch, command, settings);
    return { kind: 'processed', seq, detail, certname: command.certname, hash, unchanged, isFirst, agentVersion };
  } catch (error) {
    if (error instanceof CommandFailure) return failed(seq, error);
    throw error;
  }
}

function applyCommand(batch: Batch, command: DecodedCommand, settings: IngestSettings): Applied {
  switch (command.kind) {
    case 'facts':
      return applyFacts(batch, command);
    case 'catalog':
      return applyCatalog(batch, command);
    case 'report':
      return applyReport(batch, command, settings);
    case 'deactivate':
      return applyDeactivate(batch, command);
    case 'expiration':
      return applyExpiration(batch, command);
    case 'inputs':
      return applyInputs(batch, command);
  }
}

const failed = (seq: number, { retryable, validation, message, exception }: CommandFailure): FailedOutcome =>
  failedOutcome(seq, { retryable, validation, error: message, exception });
