// Maintenance over all partitions: one after the other, since it is never in a hurry, each in bounded steps at its actor. A
// sweep whose actor dies begins again with the next one, up to a limit. What fails in one partition is done in the others all the same.

import type { Activity } from '../actor/activity.ts';
import type { FromActor, SweepKind } from '../actor/messages.ts';
import { type Maintenance, MaintenanceStopped, MaintenanceUnavailable } from '../types.ts';
import { CRASHES_MAX, type Slot } from './slot.ts';

interface Swept {
  readonly changed: number;
  readonly day: number | null;
}

interface Request {
  readonly slot: Slot;
  readonly sweep: SweepKind;
  crashes: number;
  readonly resolve: (swept: Swept) => void;
  readonly reject: (error: Error) => void;
}

export class Sweeps {
  readonly #slots: readonly Slot[];
  readonly #slotOf: (certname: string) => Slot;
  readonly #requests = new Map<number, Request>();
  #nextId = 1;
  #closed = false;

  constructor(slots: readonly Slot[], slotOf: (certname: string) => Slot) {
    this.#slots = slots;
    this.#slotOf = slotOf;
  }

  /** Resolves with the number of things changed. Rejects when a partition cannot do it. */
  async run(step: Maintenance): Promise<number> {
    switch (step.kind) {
      case 'delete':
        return (await this.#sweep(this.#slotOf(step.certname), step)).changed;
      case 'purge_nodes':
        return this.#purgeNodes(step.batchLimit);
      case 'purge_reports':
        return this.#purgeDay('find_report_day', 'purge_report_day');
      case 'purge_resource_events':
        return this.#purgeDay('find_event_day', 'purge_event_day');
      default:
        return this.#sweepAll(step);
    }
  }

  finished({ id, changed, day, error, mayPass }: Extract<FromActor, { kind: 'swept' }>): void {
    const request = this.#requests.get(id);
    if (request === undefined) return;
    this.#requests.delete(id);
    const text = `partition ${request.slot.slot}: ${error}`;
    if (error === null) request.resolve({ changed, day });
    else request.reject(mayPass ? new MaintenanceUnavailable(text) : new Error(text));
  }

  /** The partition is open (again). */
  up(slot: Slot): void {
    for (const [id, request] of this.#requests) if (request.slot === slot) this.#send(id, request);
  }

  /** An actor died. */
  down(activity: Activity, reason: string): void {
    if (activity.kind !== 'sweep') return;
    const request = this.#requests.get(activity.id);
    if (request === undefined || ++request.crashes < CRASHES_MAX) return;
    this.#requests.delete(activity.id);
    request.reject(new Error(`partition ${activity.slot}: its thread died ${CRASHES_MAX} times: ${reason}`));
  }

  close(): void {
    this.#closed = true;
    for (const request of this.#requests.values()) request.reject(new MaintenanceStopped());
    this.#requests.clear();
  }

  /** The partition, which is not open, cannot be opened: what it is asked waits no longer. */
  troubled(slot: Slot): void {
    for (const [id, request] of this.#requests) {
      if (request.slot !== slot) continue;
      this.#requests.delete(id);
      request.reject(unavailable(slot));
    }
  }

  /** In each partition, one after the other. Rejects with what failed first when all have been asked. */
  async #each(work: (slot: Slot) => Promise<void>): Promise<void> {
    const failures: unknown[] = [];
    for (const slot of this.#slots) {
      try {
        await work(slot);
      } catch (error) {
        if (error instanceof MaintenanceStopped) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #sweepAll(sweep: SweepKind): Promise<number> {
    let all = 0;
    await this.#each(async (slot) => {
      const { changed } = await this.#sweep(slot, sweep);
      all += changed;
    });
    return all;
  }

  /** The limit is for all partitions together; 0: none. */
  async #purgeNodes(limit: number): Promise<number> {
    let all = 0;
    await this.#each(async (slot) => {
      if (limit > 0 && all >= limit) return;
      const { changed } = await this.#sweep(slot, { kind: 'purge_nodes', batchLimit: limit === 0 ? 0 : limit - all });
      all += changed;
    });
    return all;
  }

  /** Only the oldest expired day goes, and that in every partition. */
  async #purgeDay(
    find: 'find_report_day' | 'find_event_day',
    purge: 'purge_report_day' | 'purge_event_day',
  ): Promise<number> {
    const days: number[] = [];
    let changed = 0;
    try {
      await this.#each(async (slot) => {
        const { day } = await this.#sweep(slot, { kind: find });
        if (day !== null) days.push(day);
      });
    } finally {
      if (days.length > 0) changed = await this.#sweepAll({ kind: purge, day: Math.min(...days) });
    }
    return changed;
  }

  #sweep(slot: Slot, sweep: SweepKind): Promise<Swept> {
    if (this.#closed) return Promise.reject(new MaintenanceStopped());
    if (!slot.up && slot.troubles.actor !== null) return Promise.reject(unavailable(slot));
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      const request: Request = { slot, sweep, crashes: 0, resolve, reject };
      this.#requests.set(id, request);
      if (slot.up) this.#send(id, request);
    });
  }

  #send(id: number, { slot, sweep }: Request): void {
    slot.actor.post({ kind: 'sweep', slot: slot.slot, id, sweep });
  }
}

const unavailable = ({ slot, troubles: { actor } }: Slot): MaintenanceUnavailable =>
  new MaintenanceUnavailable(`partition ${slot}: ${actor}`);
