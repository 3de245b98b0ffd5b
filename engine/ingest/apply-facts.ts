// replace facts on a partition (command document 3.3).

import { parseJson } from '../json/parse.ts';
import { Ids } from '../store/ids.ts';
import type { Batch } from '../store/partition.ts';
import type { NodeId } from '../store/records.ts';
import { activate, assertStorable, recordOf, recordOfCertname } from './activation.ts';
import type { Applied } from './apply.ts';
import type { FactsCommand, FactsContents } from './commands.ts';
import { factPaths } from './facts.ts';

export function applyFacts(batch: Batch, command: FactsCommand): Applied {
  const { certname, producerTimestamp, environment, producer, hash } = command;
  const stored = recordOfCertname(batch, certname)?.factset ?? null;
  const isStale = stored !== null && stored.producerTimestamp > producerTimestamp;
  if (isStale) {
    activate(batch, certname, producerTimestamp);
    return { detail: 'stale', hash: null, unchanged: false };
  }
  assertStorable(command.refusal);
  // The hash covers values, environment and packages: an equal one leaves nothing to write but the header.
  const unchanged = stored?.hash === hash;
  const contents = unchanged ? null : command.contents();
  const id = activate(batch, certname, producerTimestamp);
  if (contents !== null) writeFacts(batch, id, contents);
  batch.addEnvironment(environment);
  batch.addProducer(producer);
  const factset = { environment, producer, producerTimestamp, timestamp: command.received, hash };
  batch.putNode(id, { ...recordOf(batch, id), factset });
  if (command.memo !== null) batch.setMemo('factset', id, command.memo);
  return { detail: 'stored', hash, unchanged, isFirst: stored === null };
}

/** Memory of the list of one factset after the other. */
const pairsOfFacts = new Ids();

function writeFacts(batch: Batch, id: NodeId, { facts, packages, packagesRef }: FactsContents): void {
  const pairs = pairsOfFacts.sized(facts.length * 2);
  for (let index = 0; index < facts.length; index++) {
    const fact = facts[index] as FactsContents['facts'][number];
    const item = batch.facts.intern(fact, fact.ref);
    pairs[index * 2] = batch.nameId(fact.name);
    pairs[index * 2 + 1] = item.id;
    // A body that was there before has its paths in the registry.
    if (item.isNew)
      factPaths(fact.name, fact.json ?? parseJson(fact.value), (type, path) => batch.addFactPath(type, path));
  }
  batch.setFacts(id, pairs);
  batch.setPackages(id, batch.packages.internAll(packages, packagesRef));
}
