// What changes of a simulated host's documents from one run to the next. Documents are never changed in place: what stays equal is shared
// with the sample they came from, so a host takes the memory of what became of it.

import type { Random } from '../lib/random.ts';
import { isObject, isScalar, type Json, type JsonObject, objectsOf } from './json.ts';

/** Characters from which a parameter's text is a blob: such resources are modified, but neither added nor deleted. */
const BLOB_LENGTH = 10_000;
/** Titles of resources that were added begin so. */
const ADDED = 'added-';

/** The same kind of value, of about the same size; null where there is no other of its kind. */
function otherValue(value: Json, random: Random): Json {
  if (typeof value === 'string') return otherText(value, random);
  if (typeof value === 'number') return otherNumber(value, random);
  if (typeof value === 'boolean') return !value;
  return null;
}

function otherText(text: string, random: Random): string {
  for (;;) {
    const other = random.hex(Math.max(1, text.length));
    if (other !== text) return other;
  }
}

/** A fraction stays one. */
function otherNumber(number: number, random: Random): number {
  for (;;) {
    const whole = random.below(100_000);
    const other = Number.isInteger(number) ? whole : whole + (1 + random.below(98)) / 100;
    if (other !== number) return other;
  }
}

/** Each leaf of a value takes another value of its kind with the chance `part`; the same object where none does. */
export function withChangedLeaves(value: Json, part: number, random: Random): Json {
  if (Array.isArray(value)) {
    let changed: Json[] | null = null;
    for (let i = 0; i < value.length; i++) {
      const item = withChangedLeaves(value[i]!, part, random);
      if (item !== value[i]) {
        changed ??= [...value];
        changed[i] = item;
      }
    }
    return changed ?? value;
  }
  if (isObject(value)) {
    let changed: Record<string, Json> | null = null;
    for (const [name, member] of Object.entries(value)) {
      const item = withChangedLeaves(member, part, random);
      if (item !== member) {
        changed ??= { ...value };
        changed[name] = item;
      }
    }
    return changed ?? value;
  }
  return isScalar(value) && random.unit() < part ? otherValue(value, random) : value;
}

/** What a catalog consists of, as it changes. */
export interface Graph {
  readonly resources: readonly JsonObject[];
  /** Empty where edges are not sent. */
  readonly edges: readonly JsonObject[];
}

const parametersOf = (resource: JsonObject): JsonObject => {
  const { parameters } = resource;
  return isObject(parameters) ? parameters : {};
};

const hasBlob = (resource: JsonObject): boolean =>
  Object.values(parametersOf(resource)).some((value) => typeof value === 'string' && value.length >= BLOB_LENGTH);

const isAdded = ({ title }: JsonObject): boolean => typeof title === 'string' && title.startsWith(ADDED);

const reference = ({ type, title }: JsonObject): JsonObject => ({ type: type ?? '', title: title ?? '' });

/** An alias would have to be its only resource's. */
function modified(resource: JsonObject, random: Random): JsonObject {
  const parameters = parametersOf(resource);
  const names = Object.keys(parameters).filter((name) => name !== 'alias' && isScalar(parameters[name]!));
  if (names.length === 0) return { ...resource, parameters: { ...parameters, revision: random.hex(16) } };
  const name = random.pick(names);
  return { ...resource, parameters: { ...parameters, [name]: otherValue(parameters[name]!, random) } };
}

/** A resource of the same type, tags and size. */
function likeIt(resource: JsonObject, random: Random): JsonObject {
  const { alias: _, ...parameters } = parametersOf(resource);
  const others = Object.entries(parameters).map(([name, value]) => [
    name,
    isScalar(value) ? otherValue(value, random) : value,
  ]);
  return {
    ...resource,
    title: `${ADDED}${random.hex(16)}`,
    exported: false,
    parameters: Object.fromEntries(others),
  };
}

/** One resource is added, modified or deleted. With edges, added ones hang off those of the sample, and only they are deleted. */
function changedOnce({ resources, edges }: Graph, withEdges: boolean, random: Random): Graph {
  if (resources.length === 0) return { resources, edges };
  const place = random.below(resources.length);
  const resource = resources[place]!;
  const modify = (): Graph => ({ resources: resources.with(place, modified(resource, random)), edges });
  if (hasBlob(resource)) return modify();
  switch (random.below(3)) {
    case 0:
      return modify();
    case 1: {
      const added = likeIt(resource, random);
      const all = [...resources, added];
      if (!withEdges) return { resources: all, edges };
      const source = random.pick(resources.filter((one) => !isAdded(one)));
      const edge = { source: reference(source), target: reference(added), relationship: 'contains' };
      return { resources: all, edges: [...edges, edge] };
    }
    default: {
      const gone = withEdges ? resources.findIndex(isAdded) : place;
      if (gone < 0 || resources.length === 1) return modify();
      const { type, title } = resources[gone]!;
      const isGone = (end: Json | undefined): boolean =>
        isObject(end) && end['type'] === type && end['title'] === title;
      return {
        resources: resources.toSpliced(gone, 1),
        edges: withEdges ? edges.filter(({ target }) => !isGone(target)) : edges,
      };
    }
  }
}

/** A catalog in which so many resources were added, modified or deleted. */
export function withChangedResources(graph: Graph, count: number, withEdges: boolean, random: Random): Graph {
  let changed = graph;
  for (let i = 0; i < count; i++) changed = changedOnce(changed, withEdges, random);
  return changed;
}

/** A report's resources and their events, with times of that run: up to five minutes after `stamp`, epoch ms. */
export function atOtherTimes(resources: Json | undefined, stamp: number, random: Random): readonly JsonObject[] {
  const later = (): string => new Date(stamp + random.below(300) * 1000).toISOString();
  return objectsOf(resources).map((resource) => ({
    ...resource,
    timestamp: later(),
    ...(Array.isArray(resource['events'])
      ? { events: objectsOf(resource['events']).map((event) => ({ ...event, timestamp: later() })) }
      : {}),
  }));
}
