// Nodes that fell silent expire, nodes inactive for long enough are deleted (command document 8.2, 8.3).

import type { Partition } from '../store/partition.ts';
import type { NodeId, NodeRecord } from '../store/records.ts';
import { NODES_ALL, NODES_INACTIVE } from '../store/tables.ts';
import { LOOKED_AT_MAX, NODES_MAX, REPORTS_MAX, type StepResult, type Sweep } from './sweep.ts';

export interface NodeTtl {
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

/** Producer times only count; a node whose facts are set never to expire stays, as does one whose setting is recent. */
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
  let current: Sweep | null = null;
  let from: NodeId = 0;
  return {
    step(): StepResult {
      if (current === null) {
        if (limit > 0 && purged >= limit) return { changed: 0, done: true };
        const found = nextInactive(partition, from, horizon);
        if (found.certname === null) {
          from = found.next;
          return { changed: 0, done: found.next === 0 };
        }
        from = found.next;
        // Commands come between its steps: a node that is active again stays.
        current = deleteNode(partition, found.certname, (record) => isPast(record, horizon));
      }
      const { changed, done } = current.step();
      if (!done) return { changed: 0, done: false };
      current = null;
      purged += changed;
      return { changed, done: false };
    },
  };
}

/** The next node to purge from `from` on; `next` is where to go on, 0 when all have been looked at. */
function nextInactive(partition: Partition, from: NodeId, horizon: number): { certname: string | null; next: NodeId } {
  const view = partition.snapshot();
  try {
    let lookedAt = 0;
    for (const id of view.set(NODES_INACTIVE).toArray()) {
      if (id < from) continue;
      if (lookedAt++ === LOOKED_AT_MAX) return { certname: null, next: id };
      const record = view.node(id);
      if (record !== undefined && isPast(record, horizon)) return { certname: record.certname, next: id + 1 };
    }
    return { certname: null, next: 0 };
  } finally {
    view.close();
  }
}

/** Whether the node has been inactive since before the horizon. */
const isPast = ({ deactivated, expired }: NodeRecord, horizon: number): boolean =>
  (deactivated !== null && deactivated < horizon) || (expired !== null && expired < horizon);

/**
 * Deletes everything that belongs to a certname, as long as its node `goes`. `changed` of the last step is 1, or 0 when nothing was left to
 * delete, or the node stays. Superseded reports go first, in bounded steps; what is left of the node goes in one transaction.
 */
export function deleteNode(partition: Partition, certname: string, goes = (_: NodeRecord): boolean => true): Sweep {
  return {
    step(): StepResult {
      return partition.write((batch) => {
        const id = batch.nodeId(certname);
        const record = batch.node(id);
        if (record === undefined || !goes(record)) return { changed: 0, done: true };
        const latest = record.latestReport?.reportId ?? 0;
        const reports = batch.view.reportIdsOfNode(id);
        let deleted = 0;
        for (const report of reports) {
          if (report === latest) continue;
          if (deleted++ === REPORTS_MAX) return { changed: 0, done: false };
          batch.deleteReport(report);
        }
        if (latest !== 0) batch.deleteReport(latest);
        batch.setResources(id, NOTHING);
        batch.setEdges(id, NOTHING);
        batch.setFacts(id, NOTHING);
        batch.setPackages(id, NOTHING);
        batch.setInputs(id, null);
        batch.deleteNode(id);
        return { changed: 1, done: true };
      });
    },
  };
}

const NOTHING = new Uint32Array(0);
