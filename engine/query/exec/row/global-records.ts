// Records of the entities that belong to no node: names, paths, packages, parameters. Partitions have many of them in common; what is
// known from one is not read in the next, and while nothing of a kind comes or goes its records are those of the query before.

import type { EntityName } from '../../../../schemas/entities.ts';
import { canonicalK } from '../../../json/canonical.ts';
import { isObject } from '../../../json/value.ts';
import { shortKey } from '../../../store/file/keys.ts';
import { KEPT_LENGTH_MAX, type KeptLists } from '../../../store/items/kept-lists.ts';
import { PACKAGE, RESOURCE } from '../../../store/records/bodies.ts';
import type { Registered } from '../../../store/records/records.ts';
import type { View } from '../../../store/view.ts';
import { encodePath } from '../../paths.ts';
import type { GlobalRecord } from './access.ts';
import type { Hold } from './room.ts';

interface Kind {
  /** The registered things whose coming and going changes the records: until then these are kept. null: there are too many of them to keep any. */
  readonly of: Registered | null;
  /** The records, and nulls between those that take work to find. `hold`: takes room for what is kept to tell them apart, where that may be much. */
  readonly each: (views: readonly View[], hold: Hold) => Iterable<GlobalRecord | null>;
}

const KINDS: Partial<Record<EntityName, Kind>> = {
  environments: { of: 'environment', each: (views) => named(views.flatMap((view) => view.environments())) },
  producers: { of: 'producer', each: (views) => named(views.flatMap((view) => view.producers())) },
  fact_names: { of: 'fact_path', each: factNames },
  fact_paths: { of: 'fact_path', each: pathRecords },
  packages: { of: 'package', each: packages },
  resource_params: { of: null, each: resourceParams },
};

/** All records of the entity, and nulls between those that take work to find; `views`: of all partitions; `hold`: as of a kind. */
export function recordsOf(entity: EntityName, views: readonly View[], hold: Hold): Iterable<GlobalRecord | null> {
  const kind = KINDS[entity];
  if (kind === undefined) throw new Error(`${entity} has no records`);
  const { of, each } = kind;
  if (of === null) return each(views, hold);
  return keptOr(entity, of, views, () => each(views, hold));
}

/** What the list kept under that name has, else what `each` finds; once all of that has been asked for it is kept. */
const keptOr = <T extends object | null>(
  name: string,
  of: Registered,
  views: readonly View[],
  each: (views: readonly View[]) => Iterable<T>,
): Iterable<T> => keptOf(views).get<NonNullable<T>>(name, of, views) ?? keeping(name, of, views, each(views));

function* keeping<T extends object | null>(
  name: string,
  of: Registered,
  views: readonly View[],
  records: Iterable<T>,
): Generator<T> {
  let list: NonNullable<T>[] | null = [];
  for (const record of records) {
    if (record !== null) list?.push(record);
    if (list !== null && list.length > KEPT_LENGTH_MAX) list = null;
    yield record;
  }
  if (list !== null) keptOf(views).keep(name, of, views, list);
}

const keptOf = (views: readonly View[]): KeptLists => views[0]!.partition.lists;

const named = (names: readonly string[]): GlobalRecord[] => [...new Set(names)].map((name) => ({ name }));

interface TypedPath {
  readonly type: string;
  readonly path: readonly (string | number)[];
}

/** Registered fact paths of all partitions, and nulls between those that take work to find. */
export const pathsOf = (views: readonly View[]): Iterable<TypedPath | null> =>
  keptOr('paths', 'fact_path', views, eachPath);

function* eachPath(views: readonly View[]): Generator<TypedPath | null> {
  const seen = new Set<string>();
  for (const view of views) yield* view.factPaths(seen);
}

function* factNames(views: readonly View[]): Generator<GlobalRecord | null> {
  const names = new Set<string>();
  for (const found of pathsOf(views)) {
    const name = found === null ? null : String(found.path[0]);
    if (name === null || names.has(name)) yield null;
    else {
      names.add(name);
      yield { name };
    }
  }
}

/** One for each encoded text and type: paths that are the same text are one. */
function* pathRecords(views: readonly View[]): Generator<GlobalRecord | null> {
  const seen = new Set<string>();
  for (const found of pathsOf(views)) {
    if (found === null) {
      yield null;
      continue;
    }
    const { type, path } = found;
    const text = encodePath(path);
    const key = shortKey(`${type} ${text}`);
    if (type === 'json' || seen.has(key)) yield null;
    else {
      seen.add(key);
      yield { type, path: text, name: String(path[0]), depth: path.length - 1 };
    }
  }
}

function* packages(views: readonly View[]): Generator<GlobalRecord | null> {
  const classes = new Set<number>();
  const seen = new Set<string>();
  for (const view of views) {
    const known = view.packages.classes();
    const reader = view.packages.reader();
    for (const id of view.packages.ids()) {
      let number = known.get(id);
      if (number !== 0 && classes.has(number)) {
        yield null;
        continue;
      }
      const body = reader.read(id);
      if (number === 0) number = known.add(id, body);
      const key = body.record.whole;
      const isNew = !classes.has(number) && !seen.has(key);
      classes.add(number);
      seen.add(key);
      yield isNew
        ? {
            package_name: body.string(PACKAGE.name),
            version: body.string(PACKAGE.version),
            provider: body.string(PACKAGE.provider),
          }
        : null;
    }
  }
}

/** Bytes that a hash takes in the set of those that have come. */
const HASH_BYTES = 100;

function* resourceParams(views: readonly View[], hold: Hold): Generator<GlobalRecord | null> {
  const seen = new Set<string>();
  for (const view of views) {
    const reader = view.resources.reader();
    for (const id of view.resources.ids()) {
      yield null;
      const body = reader.read(id);
      const hash = body.string(RESOURCE.hash)!;
      if (seen.has(hash)) continue;
      hold(HASH_BYTES);
      seen.add(hash);
      const { parameters } = body;
      if (!isObject(parameters)) continue;
      for (const name of Object.keys(parameters)) {
        yield {
          res_param_resource: hash,
          res_param_name: name,
          res_param_value: canonicalK(parameters[name]!),
        };
      }
    }
  }
}
