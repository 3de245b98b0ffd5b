// The real partition behind an actor: commands through engine/ingest, sweeps through engine/retention. A command is decoded
// and applied before the next one is looked at: of a whole batch decoded at once, most would outlive the young generation.

import type { Fingerprints } from '../../engine/fingerprint.ts';
import { applyPrepared, batchSize, prepare } from '../../engine/ingest/apply.ts';
import { type BodyInflater, Inflater } from '../../engine/ingest/command/inflater.ts';
import { type Meter, measureWith } from '../../engine/ingest/command/meter.ts';
import type { ApplyOutcome, IngestSettings, QueuedCommand } from '../../engine/ingest/command/types.ts';
import { deleteNode, expireNodes, purgeNodes } from '../../engine/retention/nodes.ts';
import { oldestEventDay, oldestReportDay, purgeEventDay, purgeReportDay } from '../../engine/retention/reports.ts';
import { firstKeptDay, type Sweep } from '../../engine/retention/sweep.ts';
import { gcCatalogs, gcFactPaths, gcPackages } from '../../engine/retention/unused.ts';
import type { Batch } from '../../engine/store/batch.ts';
import { partitionDir } from '../../engine/store/file/layout.ts';
import { slotOf } from '../../engine/store/file/store-info.ts';
import { openPartition, type Partition } from '../../engine/store/partition.ts';
import { stopwatch } from '../system/clock.ts';
import { libdeflate } from '../system/libdeflate.ts';
import type { SweepKind, Timing } from './messages.ts';
import type { Applied, ApplyContext, Guard, HeldChange, PartitionHost } from './partition-host.ts';

/** What actors need to know, given to `startRing` as `engine`. */
export interface EngineSettings extends Omit<IngestSettings, 'now' | 'owns' | 'inflater' | 'fingerprints'> {
  /** Milliseconds; what 0 means is in spec/commands.md 8.2, the scheduler of sweeps skips those that are switched off. */
  readonly nodeTtl: number;
  readonly nodePurgeTtl: number;
  readonly reportTtl: number;
}

/** Of this thread: its commands are decoded and applied one by one. Made for the first of them, as it takes some milliseconds. */
let inflater: BodyInflater | null = null;

interface EngineHostOptions {
  readonly dir: string;
  readonly slot: number;
  /** Partitions of the store. */
  readonly partitions: number;
  /** Of the store. */
  readonly fingerprints: Fingerprints;
  readonly settings: EngineSettings;
  readonly guard: Guard;
}

export class EngineHost implements PartitionHost {
  readonly #partition: Partition;
  readonly #guard: Guard;
  readonly #settings: EngineSettings;
  readonly #fingerprints: Fingerprints;
  readonly #owns: (certname: string) => boolean;

  constructor({ dir, slot, partitions, fingerprints, settings, guard }: EngineHostOptions) {
    this.#partition = openPartition(partitionDir(dir, slot));
    this.#guard = guard;
    this.#settings = settings;
    this.#fingerprints = fingerprints;
    this.#owns = (certname) => slotOf(certname, partitions) === slot;
  }

  get position(): number {
    return this.#partition.position;
  }

  apply(commands: readonly QueuedCommand[], context: ApplyContext): Applied {
    return this.#guard(() => this.#apply(commands, context));
  }

  #apply(commands: readonly QueuedCommand[], { now, position, held }: ApplyContext): Applied {
    const fingerprints = this.#fingerprints;
    inflater ??= libdeflate() ?? new Inflater();
    const settings: IngestSettings = { ...this.#settings, now, owns: this.#owns, inflater, fingerprints };
    const durations = new Float64Array(commands.length);
    const parses = new Float64Array(commands.length);
    const timings: Timing[] = [];
    measureWith(meterInto(timings));
    let written = 0;
    const size = batchSize(commands, settings);
    // A batch that has no room is divided. Of one command what it turns out to be tells how much it needs: to be applied, or to be kept.
    const isLone = commands.length === 1;
    const outcomes = this.#partition.write(
      (batch) => {
        const all: ApplyOutcome[] = [];
        for (let i = 0; i < commands.length; i++) {
          // Superseded commands were left out when the batch was formed.
          const start = stopwatch();
          const prepared = prepare(batch, commands[i]!, settings);
          parses[i] = stopwatch() - start;
          if (isLone && prepared.kind === 'decoded') this.#partition.requireRoom(size);
          all.push(applyPrepared(batch, prepared, settings));
          durations[i] = stopwatch() - start;
        }
        const changes = held(all);
        if (isLone) this.#partition.requireRoom(sizeOf(changes));
        writeHeld(batch, changes);
        if (position > batch.position) batch.position = position;
        written = stopwatch();
        return all;
      },
      isLone ? 0 : size,
    );
    timings.push({ name: 'commit', value: stopwatch() - written });
    return { outcomes, durations: [...durations], parses: [...parses], timings };
  }

  writeHeld(changes: readonly HeldChange[], position: number): void {
    this.#partition.write((batch) => {
      writeHeld(batch, changes);
      if (position > batch.position) batch.position = position;
    }, sizeOf(changes));
  }

  heldSeqs(): number[] {
    return this.#partition.retrySeqs();
  }

  readHeld(seq: number): Uint8Array | null {
    return this.#partition.retry(seq);
  }

  flush(): Promise<void> {
    return this.#partition.flush();
  }

  sweep(kind: SweepKind, now: number): Sweep {
    const partition = this.#partition;
    const { nodeTtl, nodePurgeTtl, reportTtl, resourceEventsTtl } = this.#settings;
    switch (kind.kind) {
      case 'expire_nodes':
        return expireNodes(partition, { now, ttl: nodeTtl });
      case 'purge_nodes':
        return purgeNodes(partition, { now, ttl: nodePurgeTtl, limit: kind.batchLimit });
      case 'delete':
        return deleteNode(partition, kind.certname);
      case 'gc_packages':
        return gcPackages();
      case 'gc_catalogs':
        return gcCatalogs(partition);
      case 'gc_fact_paths':
        return gcFactPaths(partition);
      case 'find_report_day':
        return oldestReportDay(partition, firstKeptDay(now, reportTtl));
      case 'find_event_day':
        return oldestEventDay(partition, firstKeptDay(now, resourceEventsTtl));
      case 'purge_report_day':
        return purgeReportDay(partition, kind.day);
      case 'purge_event_day':
        return purgeEventDay(partition, kind.day);
    }
  }

  close(): Promise<void> {
    return this.#partition.close();
  }
}

/** It lasts until the next batch, so it is not made where the commands of this one are: it would keep them. */
const meterInto = (timings: Timing[]): Meter => ({
  now: stopwatch,
  took: (name, value) => timings.push({ name, value }),
});

/** Bytes that are kept. */
const sizeOf = (changes: readonly HeldChange[]): number =>
  changes.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);

function writeHeld(batch: Batch, changes: readonly HeldChange[]): void {
  for (const { seq, bytes } of changes) {
    if (bytes === null) batch.removeRetry(seq);
    else batch.putRetry(seq, bytes);
  }
}
