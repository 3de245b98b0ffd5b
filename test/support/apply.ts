// Commands applied to a partition without threads around it.

import type { Envelope } from '../../engine/inbox/envelope.ts';
import { applyPrepared, prepare } from '../../engine/ingest/apply.ts';
import type { ApplyOutcome, IngestSettings, QueuedCommand } from '../../engine/ingest/command/types.ts';
import type { Partition } from '../../engine/store/partition.ts';

/** A command as the inbox delivers it. */
export const queuedOf = (
  seq: number,
  body: Uint8Array,
  envelope: Pick<Envelope, 'command' | 'version' | 'certname' | 'received'> & Partial<Envelope>,
): QueuedCommand => ({
  seq,
  envelope: { uuid: `command-${seq}`, producerTimestamp: null, gzip: false, size: null, ...envelope },
  body,
});

/** Applies the commands as one batch, with the stream position of the last one. Outcomes are in their order. */
export function applyBatch(
  partition: Partition,
  commands: readonly QueuedCommand[],
  settings: IngestSettings,
): ApplyOutcome[] {
  return partition.write((batch) => {
    const outcomes = commands.map((command) => applyPrepared(batch, prepare(batch, command, settings), settings));
    const last = commands.at(-1)?.seq ?? 0;
    if (last > batch.position) batch.position = last;
    return outcomes;
  });
}
