// Nodes that fell silent expire, nodes inactive for long enough are deleted (spec/commands.md 8.2, 8.3).

import type { Batch } from '../store/batch.ts';
import type { Partition } from '../store/partition.ts';
import type { NodeId, NodeRecord } from '../store/records/records.ts';
import { NODES_ALL, NODES_INACTIVE } from '../store/records/tables.ts';
import { LOOKED_AT_MAX, NODES_MAX, PURGED_MAX, REPORTS_MAX, type StepResult, type Sweep } from './sweep.ts';

interface NodeTtl {
  /** Epoch ms. */
  readonly now: number;
  /** Milliseconds. */
  readonly ttl: number;
}

/** Sets `expired` to now on every active node all of whose data is older than `now - ttl`. */
export function expireNodes(partition: Partition, { now, ttl }: NodeTtl): Sweep {
  const horizon = now - ttl;
  let from: NodeId = 0;
  return {
    step(): StepResult {
      const view = partition.snapshot();
      const silent: NodeId[] = [];
      const expired: string[] = [];
      let done = true;
      try {
        let lookedAt = 0;
        for (const id of view.set(NODES_ALL).subtract(view.set(NODES_INACTIVE)).toArray()) {
          if (id < from) continue;
          if (lookedAt++ === LOOKED_AT_MAX || silent.length === NODES_MAX) {
            done = false;
            from = id;
            break;
          }
          const record = view.node(id);
          if (record === undefined || !isSilent(record, horizon)) continue;
          silent.push(id);
          expired.push(record.certname);
        }
      } finally {
        view.close();
      }
      if (silent.length > 0) {
        partition.write((batch) => {
          for (const id of silent) batch.putNode(id, { ...(batch.node(id) as NodeRecord), expired: now });
        });
      }
      return { changed: silent.length, done, expired };
    },
  };
}

/** Only producer times count. A node whose facts are set never to expire is not silent, nor is one whose setting is recent. */
function isSilent(node: NodeRecord, horizon: number): boolean {
  if (node.expiresFacts === false) return false;
  return (
    isBefore(node.catalog?.producerTimestamp, horizon) &&
    isBefore(node.factset?.producerTimestamp, horizon) &&
    isBefore(node.latestReport?.producerTimestamp, horizon) &&
    isBefore(node.inputs?.producerTimestamp, horizon) &&
    isBefore(node.expiresFactsUpdated, horizon)
  );
}

const isBefore = (time: number | null | undefined, horizon: number): boolean =>
  time === null || time === undefined || time < horizon;

/** Deletes nodes deactivated or expired before `now - ttl`, at most `limit` of them (0: all), oldest node ids first. */
export function purgeNodes(partition: Partition, { now, ttl, limit }: NodeTtl & { limit: number }): Sweep {
  const horizon = now - ttl;
  let purged = 0;
  let from: NodeId = 0;
  return {
    step(): StepResult {
      const max = limit > 0 ? Math.min(limit - purged, PURGED_MAX) : PURGED_MAX;
      const { ids, next } = inactiveSince(horizon, partition, from, max);
      let changed = 0;
      let stoppedAt: NodeId = 0;
      if (ids.length > 0) {
        partition.write((batch) => {
          const room: Room = { reports: REPORTS_MAX };
          for (const id of ids) {
            if (!removeNode(batch, id, batch.node(id) as NodeRecord, room)) {
              stoppedAt = id;
              return;
            }
            changed++;
          }
        });
      }
      purged += changed;
      from = stoppedAt || next;
      return { changed, done: from === 0 || (limit > 0 && purged === limit) };
    },
  };
}

/** The next nodes to purge from `from` on, `max` of them at most; `next` is where to go on, 0 when all have been looked at. */
function inactiveSince(
  horizon: number,
  partition: Partition,
  from: NodeId,
  max: number,
): { ids: NodeId[]; next: NodeId } {
  const view = partition.snapshot();
  const ids: NodeId[] = [];
  try {
    let lookedAt = 0;
    for (const id of view.set(NODES_INACTIVE).toArray()) {
      if (id < from) continue;
      if (lookedAt++ === LOOKED_AT_MAX || ids.length === max) return { ids, next: id };
      const record = view.node(id);
      if (record !== undefined && isPast(record, horizon)) ids.push(id);
    }
    return { ids, next: 0 };
  } finally {
    view.close();
  }
}

/** Whether the node has been inactive since before the horizon. */
const isPast = ({ deactivated, expired }: NodeRecord, horizon: number): boolean =>
  (deactivated !== null && deactivated < horizon) || (expired !== null && expired < horizon);

/**
 * Deletes everything that belongs to a certname. `changed` of the last step is 1, or 0 when nothing was left to delete. Superseded reports go
 * first, in bounded steps; what is left of the node goes in one transaction.
 */
export function deleteNode(partition: Partition, certname: string): Sweep {
  return {
    step(): StepResult {
      return partition.write((batch) => {
        const id = batch.view.nodeId(certname);
        const record = batch.node(id);
        if (record === undefined) return { changed: 0, done: true };
        const isGone = removeNode(batch, id, record, { reports: REPORTS_MAX });
        return { changed: isGone ? 1 : 0, done: isGone };
      });
    },
  };
}

/** How many superseded reports may still be deleted in this step. */
interface Room {
  reports: number;
}

/** Deletes the node, or as many of its superseded reports as there is room for; whether the node is gone. */
function removeNode(batch: Batch, id: NodeId, record: NodeRecord, room: Room): boolean {
  const latest = record.latestReport?.reportId ?? 0;
  // The latest one, and one more than may go, to know that there is one.
  for (const report of batch.view.reports.ofNode(id, room.reports + 2)) {
    if (report === latest) continue;
    if (room.reports === 0) return false;
    room.reports--;
    batch.reports.delete(report);
  }
  if (latest !== 0) batch.reports.delete(latest);
  batch.setResources(id, NOTHING);
  batch.setEdges(id, NOTHING);
  batch.setFacts(id, NOTHING);
  batch.setPackages(id, NOTHING);
  batch.deleteNode(id);
  return true;
}

const NOTHING = new Uint32Array(0);
