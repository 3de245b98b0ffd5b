// The first step of every command that brings data (spec/commands.md 3.1): the node exists afterwards, and is active again
// if the data is strictly newer than its deactivation or expiry.

import type { Batch } from '../../store/batch.ts';
import type { NodeId, NodeRecord } from '../../store/records/records.ts';
import { assertStorable } from '../command/errors.ts';
import type { Applied } from '../command/types.ts';

/** Id of the node, created or reactivated as `time` (the producer timestamp of the data) asks for. Fails the command as `createNode` does. */
export function activate(batch: Batch, certname: string, time: number): NodeId {
  const id = batch.view.nodeId(certname);
  if (id === 0) return createNode(batch, certname);
  const record = recordOf(batch, id);
  const { deactivated, expired } = record;
  if (deactivated === null && expired === null) return id;
  const isNewer = (deactivated !== null && deactivated > time) || (expired !== null && expired > time);
  const isOlder = (deactivated !== null && deactivated < time) || (expired !== null && expired < time);
  if (!isNewer && isOlder) batch.putNode(id, { ...record, deactivated: null, expired: null });
  return id;
}

/** Id of a new node. Fails the command when there is no id left. */
export function createNode(batch: Batch, certname: string): NodeId {
  assertStorable(batch.refusal('node', 1));
  return batch.createNode(certname);
}

/** The record of a node that is known to exist. */
export function recordOf(batch: Batch, id: NodeId): NodeRecord {
  const record = batch.node(id);
  if (record === undefined) throw new Error(`node ${id} has an id but no record`);
  return record;
}

/** The record of a certname, undefined when the node is not known. */
export function recordOfCertname(batch: Batch, certname: string): NodeRecord | undefined {
  const id = batch.view.nodeId(certname);
  return id === 0 ? undefined : recordOf(batch, id);
}

/** The outcome of a command that is older than what is stored: nothing is stored of it. */
export const STALE: Applied = { detail: 'stale', hash: null, unchanged: false };

/** The same of a command that brings data: it shows all the same that the node is there. */
export function applyStale(
  batch: Batch,
  { certname, producerTimestamp }: { readonly certname: string; readonly producerTimestamp: number },
): Applied {
  activate(batch, certname, producerTimestamp);
  return STALE;
}
