// replace facts on a partition (spec/commands.md 3.3).

import { parseJson } from '../../json/parse.ts';
import type { JsonValue } from '../../json/value.ts';
import type { Batch } from '../../store/batch.ts';
import { Ids } from '../../store/items/ids.ts';
import { factBeyondPaths, factPaths } from '../../store/records/fact-paths.ts';
import type { ItemId, NodeId } from '../../store/records/records.ts';
import type { DecodedFact, FactsCommand, FactsContents } from '../command/commands.ts';
import { assertStorable } from '../command/errors.ts';
import type { Applied } from '../command/types.ts';
import { excerpt } from '../command/validate.ts';
import { OwnFacts } from '../known/own-facts.ts';
import { activate, applyStale, recordOf, recordOfCertname } from './activation.ts';

export function applyFacts(batch: Batch, command: FactsCommand): Applied {
  const { certname, producerTimestamp, environment, producer, hash } = command;
  const stored = recordOfCertname(batch, certname)?.factset ?? null;
  if (stored !== null && stored.producerTimestamp > producerTimestamp) return applyStale(batch, command);
  assertStorable(command.refusal);
  // The hash covers values, environment and packages: an equal one leaves nothing to write but the header.
  const unchanged = stored?.hash === hash;
  const contents = unchanged ? null : command.contents();
  if (contents !== null) {
    const { facts } = contents;
    assertStorable(pathsRefusal(facts) ?? batch.refusalOfNames(facts));
  }
  const id = activate(batch, certname, producerTimestamp);
  if (contents !== null) writeFacts(batch, id, contents);
  batch.addEnvironment(environment);
  batch.addProducer(producer);
  const factset = { environment, producer, producerTimestamp, timestamp: command.received, hash };
  batch.putNode(id, { ...recordOf(batch, id), factset });
  if (command.memo !== null) batch.setMemo('factset', id, command.memo);
  return { detail: 'stored', hash, unchanged, isFirst: stored === null };
}

/** Why the paths of these facts cannot be stored; null: they can. */
function pathsRefusal(facts: readonly DecodedFact[]): string | null {
  const name = factBeyondPaths(facts);
  if (name === null) return null;
  return `fact ${excerpt(name)}: the paths of its leaves take too many bytes: they are too many, or nested too deeply.`;
}

/** Used for one factset after the other: the list that is written, and what is known of the node's last one. */
const pairsOfFacts = new Ids();
const ownFacts = new OwnFacts();

function writeFacts(batch: Batch, id: NodeId, { facts, packages, packagesRef }: FactsContents): void {
  const pairs = pairsOfFacts.sized(facts.length * 2);
  ownFacts.of(batch, id);
  for (let index = 0; index < facts.length; index++) {
    const fact = facts[index] as DecodedFact;
    const nameId = batch.nameId(fact.name);
    pairs[index * 2] = nameId;
    pairs[index * 2 + 1] = itemOf(batch, fact, nameId);
  }
  batch.setFacts(id, pairs);
  batch.setPackages(id, batch.packages.internAll(packages, packagesRef));
}

function itemOf(batch: Batch, fact: DecodedFact, nameId: number): ItemId {
  const known = (fact.ref === undefined ? 0 : batch.facts.recall(fact.ref)) || ownFacts.find(nameId, fact.value);
  if (known !== 0) return known;
  const { id, isNew } = batch.facts.intern(fact, fact.ref);
  // A body that was there before has its paths in the registry.
  if (isNew) factPaths(fact.name, typedValue(fact), (type, path) => batch.addFactPath(type, path));
  return id;
}

/** The value, as far as its paths depend on it: of a string only that it is one. */
const typedValue = ({ json, value }: DecodedFact): JsonValue => json ?? (value.startsWith('"') ? '' : parseJson(value));
