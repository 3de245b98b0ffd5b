// Simulated hosts: what each of them sends, run by run. A host is like a sample that it chose once; a run gives its documents new times and
// ids, and changes some of them. What a host sends depends on the seed, the host and the run, its times aside.

import { COMMANDS, type Command, type Kind } from '../lib/fleet.ts';
import { Random } from '../lib/random.ts';
import { atOtherTimes, type Graph, withChangedLeaves, withChangedResources } from './changes.ts';
import { isObject, isScalar, type Json, type JsonObject, objectsOf } from './json.ts';
import type { Samples } from './samples.ts';

/** With which chance a document changes, and by how much: a number of resources, or a part of its leaves. Chances and parts are fractions of 1. */
export interface Change {
  readonly chance: number;
  readonly by: number;
}

export interface HostOptions {
  readonly seed: number;
  readonly samples: Samples;
  /** Resources of a catalog that change at a time, each with its chance; together at most 1. */
  readonly catalogChanges: readonly Change[];
  /** Parts of the leaves of a factset that do. */
  readonly factsChanges: readonly Change[];
  readonly withEdges: boolean;
  /** Queries before a catalog: how likely, and how many. */
  readonly queries: { readonly chance: number; readonly count: number };
}

/** A query that a compile server asks about other hosts while it compiles. */
interface HostQuery {
  readonly path: string;
  readonly query: Json;
}

/** What one run sends, in its order. */
export type Step = { readonly command: Command } | { readonly query: HostQuery };

const PRODUCERS = 4;
/** Which stream of randomness is for what. */
const FOR = { host: 1, run: 2, producer: 3 } as const;
const SECOND = 1000;

const chosenOf = (changes: readonly Change[], random: Random): number => {
  let chance = random.unit();
  for (const change of changes) {
    if (chance < change.chance) return change.by;
    chance -= change.chance;
  }
  return 0;
};

const at = (time: number): string => new Date(time).toISOString();

export class Host {
  readonly certname: string;
  readonly #number: number;
  readonly #options: HostOptions;
  /** Null where that kind is not sent. */
  readonly #facts: JsonObject | null;
  readonly #catalog: JsonObject | null;
  readonly #report: JsonObject | null;
  #values: Json;
  #graph: Graph;
  #catalogUuid: string;
  #codeId: string;
  /** Runs that have been begun. */
  runs = 0;

  /** `number`: of the host, also in its name. */
  constructor(number: number, options: HostOptions) {
    const { seed, samples, withEdges } = options;
    this.certname = `host-${number}`;
    this.#number = number;
    this.#options = options;
    const random = new Random(seed, FOR.host, number);
    const pick = (kind: Kind): JsonObject | null => (samples[kind].length === 0 ? null : random.pick(samples[kind]));
    this.#facts = pick('facts');
    this.#catalog = pick('catalog');
    this.#report = pick('report');
    this.#values = this.#facts?.['values'] ?? {};
    this.#graph = {
      resources: objectsOf(this.#catalog?.['resources']),
      edges: withEdges ? objectsOf(this.#catalog?.['edges']) : [],
    };
    this.#catalogUuid = random.uuid();
    this.#codeId = random.hex(40);
  }

  /** Its next run. `stamp`: epoch ms, the producer's time of all its commands. */
  *run(stamp: number): Generator<Step> {
    const { seed, catalogChanges, factsChanges, withEdges, queries } = this.#options;
    const random = new Random(seed, FOR.run, this.#number, this.runs++);
    const varying = (): JsonObject => ({
      certname: this.certname,
      producer: new Random(seed, FOR.producer, random.below(PRODUCERS)).hex(10),
      producer_timestamp: at(stamp),
    });
    const transaction = random.uuid();
    if (this.#facts !== null) {
      this.#values = withChangedLeaves(this.#values, chosenOf(factsChanges, random), random);
      yield this.#command('facts', stamp, { ...this.#facts, ...varying(), values: this.#values });
    }
    if (random.unit() < queries.chance) {
      for (let i = 0; i < queries.count; i++) yield { query: this.#query(random) };
    }
    if (this.#catalog !== null) {
      const count = chosenOf(catalogChanges, random);
      if (count > 0) {
        this.#graph = withChangedResources(this.#graph, count, withEdges, random);
        this.#catalogUuid = random.uuid();
        this.#codeId = random.hex(40);
      }
      const ids = { transaction_uuid: transaction, catalog_uuid: this.#catalogUuid, code_id: this.#codeId };
      yield this.#command('catalog', stamp, { ...this.#catalog, ...varying(), ...ids, ...this.#graph });
    }
    if (this.#report !== null) {
      yield this.#command('report', stamp, {
        ...this.#report,
        ...varying(),
        transaction_uuid: transaction,
        configuration_version: random.uuid(),
        start_time: at(stamp - 10 * SECOND),
        end_time: at(stamp - 5 * SECOND),
        resources: atOtherTimes(this.#report['resources'], stamp, random),
      });
    }
  }

  #command(kind: Kind, stamp: number, payload: object): Step {
    const { certname } = this;
    const producerTimestamp = at(stamp);
    return { command: { kind, ...COMMANDS[kind], certname, producerTimestamp, payload: JSON.stringify(payload) } };
  }

  /** Exported resources of a type, of a type with a tag, or nodes by a fact: of what the host itself has. */
  #query(random: Random): HostQuery {
    const form = random.below(3);
    const exported = this.#graph.resources.filter((resource) => resource['exported'] === true);
    const fact = form === 2 || exported.length === 0 ? scalarOf(this.#values, random) : null;
    if (fact !== null) {
      const { path, value } = fact;
      return { path: '/pdb/query/v4/inventory', query: ['extract', ['certname'], ['=', `facts${path}`, value]] };
    }
    const { type = 'Class', tags = [] } = exported.length === 0 ? {} : random.pick(exported);
    const conditions: Json[] = [
      ['=', 'type', type],
      ['=', 'exported', true],
    ];
    if (form === 1 && Array.isArray(tags) && tags.length > 0) {
      conditions.push(['=', 'tag', random.pick(tags as Json[])]);
    }
    return { path: '/pdb/query/v4/resources', query: ['and', ...conditions] };
  }
}

/** A text, number or truth value of a document, and the way to it as queries write it; null: no such one was come to. */
function scalarOf(document: Json, random: Random): { readonly path: string; readonly value: Json } | null {
  let value = document;
  let path = '';
  while (!isScalar(value)) {
    const members = membersOf(value);
    if (members.length === 0) return null;
    const [step, inner] = random.pick(members);
    path += step;
    value = inner;
  }
  return { path, value };
}

/** Those whose names need no quotes. */
function membersOf(value: Json): readonly (readonly [step: string, inner: Json])[] {
  if (Array.isArray(value)) return value.map((item: Json, i) => [`[${i}]`, item]);
  const names = isObject(value) ? Object.entries(value).filter(([name]) => /^\w+$/.test(name)) : [];
  return names.map(([name, inner]) => [`.${name}`, inner]);
}
