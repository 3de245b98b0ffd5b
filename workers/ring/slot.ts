// What the main thread keeps of one partition.

import type { StreamRecord } from '../../engine/inbox/stream.ts';
import type { Held } from '../actor/messages.ts';
import type { ActorHandle } from './actor-handle.ts';
import type { Entry, Mailbox } from './mailbox.ts';

/** A batch that left its mailbox. */
export interface Flight {
  readonly id: number;
  readonly entries: readonly Entry[];
}

export interface Slot {
  readonly slot: number;
  /** The partition's stream position when the process began. */
  readonly begunAt: number;
  readonly mailbox: Mailbox;
  readonly actor: ActorHandle;
  /** The actor has the partition open. */
  up: boolean;
  /** It has not been open yet, and nothing is wrong with that so far. */
  opening: boolean;
  flight: Flight | null;
  /** A look at the mailbox is due in this turn of the event loop. */
  planned: boolean;
  /** What is in the mailbox waits for more until then. */
  pause: NodeJS.Timeout | null;
  /** When the last batch left the mailbox; monotonic ms. */
  tookAt: number;
  /** Commands the partition keeps although its position is past them, by seq. */
  readonly held: Map<number, Held>;
  /** Applied, not yet known to be flushed; in stream order. */
  unflushed: StreamRecord[];
  /** What its actor says is wrong, and what is wrong with its commands in the log. */
  troubles: { readonly actor: string | null; readonly log: string | null };
}

export const NO_TROUBLES: Slot['troubles'] = { actor: null, log: null };

/** Before its actor has come up. */
export const newSlot = (given: Pick<Slot, 'slot' | 'begunAt' | 'mailbox' | 'actor'>): Slot => ({
  ...given,
  up: false,
  opening: true,
  flight: null,
  planned: false,
  pause: null,
  tookAt: Number.NEGATIVE_INFINITY,
  held: new Map(),
  unflushed: [],
  troubles: NO_TROUBLES,
});

/** What a batch is about, superseded commands left out. */
export const executed = ({ entries }: Flight): Entry[] => entries.filter(({ obsolete }) => !obsolete);

/** What is told of a slot's troubles; null: nothing is wrong. */
export const troubleOf = ({ troubles: { actor, log } }: Slot): string | null => actor ?? log;

/** How often an actor may die on a command before it is given up. */
export const CRASHES_MAX = 3;

export const deadlyText = `it was being applied ${CRASHES_MAX} times when its thread died, or the process did`;
