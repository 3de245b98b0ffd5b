// deactivate node, configure expiration and replace catalog inputs on a partition (spec/commands.md 3.1, 3.6, 3.7).

import type { Batch } from '../../store/batch.ts';
import type { NodeRecord } from '../../store/records/records.ts';
import type { DeactivateCommand, ExpirationCommand, InputsCommand } from '../command/commands.ts';
import { assertStorable } from '../command/errors.ts';
import type { Applied } from '../command/types.ts';
import { activate, applyStale, createNode, recordOf, recordOfCertname, STALE } from './activation.ts';

const STORED: Applied = { detail: 'stored', hash: null, unchanged: false };

/** An unknown node is created, deactivated. Data newer than the command makes it stale; the time never moves back. */
export function applyDeactivate(batch: Batch, { certname, producerTimestamp }: DeactivateCommand): Applied {
  const known = batch.view.nodeId(certname);
  const id = known === 0 ? createNode(batch, certname) : known;
  const record = recordOf(batch, id);
  if (newestData(record) > producerTimestamp) return STALE;
  if (record.deactivated === null || record.deactivated < producerTimestamp) {
    batch.putNode(id, { ...record, deactivated: producerTimestamp });
  }
  return STORED;
}

/** Newest producer time among catalog, factset and latest report; inputs and settings do not count. */
const newestData = ({ catalog, factset, latestReport }: NodeRecord): number =>
  Math.max(
    catalog?.producerTimestamp ?? Number.NEGATIVE_INFINITY,
    factset?.producerTimestamp ?? Number.NEGATIVE_INFINITY,
    latestReport?.producerTimestamp ?? Number.NEGATIVE_INFINITY,
  );

/** An older or equally old setting is ignored, and counts as processed all the same. */
export function applyExpiration(batch: Batch, command: ExpirationCommand): Applied {
  assertStorable(command.refusal);
  const { certname, producerTimestamp, expire } = command;
  const id = activate(batch, certname, producerTimestamp);
  const record = recordOf(batch, id);
  if (record.expiresFactsUpdated === null || record.expiresFactsUpdated < producerTimestamp) {
    batch.putNode(id, { ...record, expiresFacts: expire, expiresFactsUpdated: producerTimestamp });
  }
  return STORED;
}

/** Stored inputs of the same time win over new ones, unlike catalogs and facts. */
export function applyInputs(batch: Batch, command: InputsCommand): Applied {
  const { certname, producerTimestamp, inputs } = command;
  if (inputs === null) return STORED;
  const stored = recordOfCertname(batch, certname)?.inputs ?? null;
  if (stored !== null && stored.producerTimestamp >= producerTimestamp) return applyStale(batch, command);
  assertStorable(command.refusal);
  const id = activate(batch, certname, producerTimestamp);
  const { catalogUuid, hash, text } = inputs;
  const unchanged = stored?.hash === hash;
  if (!unchanged) batch.setInputs(id, text);
  batch.putNode(id, { ...recordOf(batch, id), inputs: { catalogUuid, producerTimestamp, hash } });
  return { detail: 'stored', hash, unchanged };
}
