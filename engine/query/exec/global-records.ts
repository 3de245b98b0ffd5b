// Records of the entities that belong to no node: names, paths, packages, parameters. Partitions have many of them in common; what is
// known from one is not read in the next, and while nothing of a kind comes or goes its records are those of the query before.

import type { EntityName } from '../../../schemas/entities.ts';
import { canonicalK } from '../../json/canonical.ts';
import { isObject } from '../../json/value.ts';
import { PACKAGE, RESOURCE } from '../../store/bodies.ts';
import type { KeptLists } from '../../store/kept-lists.ts';
import type { Registered } from '../../store/records.ts';
import type { View } from '../../store/view.ts';
import { encodePath } from '../paths.ts';
import type { GlobalRecord } from './access.ts';

type Kind =
  | { readonly of: Registered; readonly collect: (views: readonly View[]) => readonly GlobalRecord[] }
  /** There are too many of them to keep any, or to have all of them at once. */
  | { readonly each: (views: readonly View[]) => Iterable<GlobalRecord | null> };

const KINDS: Partial<Record<EntityName, Kind>> = {
  environments: { of: 'environment', collect: (views) => named(views.flatMap((view) => view.environments())) },
  producers: { of: 'producer', collect: (views) => named(views.flatMap((view) => view.producers())) },
  fact_names: { of: 'fact_path', collect: (views) => named(distinctPaths(views).map(({ path }) => String(path[0]))) },
  fact_paths: { of: 'fact_path', collect: pathRecords },
  packages: { of: 'package', collect: distinctPackages },
  resource_params: { each: resourceParams },
};

/** All records of the entity, and nulls between those that take work to find; `views`: of all partitions. */
export function recordsOf(entity: EntityName, views: readonly View[]): Iterable<GlobalRecord | null> {
  const kind = KINDS[entity];
  if (kind === undefined) throw new Error(`${entity} has no records`);
  if ('each' in kind) return kind.each(views);
  const { of, collect } = kind;
  return keptOf(views).of(entity, of, views, () => collect(views));
}

const keptOf = (views: readonly View[]): KeptLists => views[0]!.partition.lists;

const named = (names: readonly string[]): GlobalRecord[] => [...new Set(names)].map((name) => ({ name }));

export interface TypedPath {
  readonly type: string;
  readonly path: readonly (string | number)[];
}

/** Registered fact paths of all partitions. */
export function distinctPaths(views: readonly View[]): readonly TypedPath[] {
  return keptOf(views).of('paths', 'fact_path', views, () => {
    const seen = new Set<string>();
    return views.flatMap((view) => [...view.factPaths(seen)]);
  });
}

/** One for each encoded text and type: paths that are the same text are one. */
function pathRecords(views: readonly View[]): GlobalRecord[] {
  const records = new Map<string, GlobalRecord>();
  for (const { type, path } of distinctPaths(views)) {
    if (type === 'json') continue;
    const text = encodePath(path);
    const key = `${type} ${text}`;
    if (!records.has(key)) records.set(key, { type, path: text, name: String(path[0]), depth: path.length - 1 });
  }
  return [...records.values()];
}

function distinctPackages(views: readonly View[]): GlobalRecord[] {
  const classes = new Set<number>();
  const seen = new Set<string>();
  const out: GlobalRecord[] = [];
  for (const view of views) {
    const known = view.packages.classes(view.packages.shared);
    const reader = view.packages.reader();
    for (const id of view.packages.ids()) {
      let number = known.get(id);
      if (number !== 0 && classes.has(number)) continue;
      const body = reader.read(id);
      if (number === 0) number = known.add(id, body);
      if (classes.has(number)) continue;
      classes.add(number);
      const key = body.record.whole;
      if (seen.has(key)) continue;
      seen.add(key);
      out.push({
        package_name: body.string(PACKAGE.name),
        version: body.string(PACKAGE.version),
        provider: body.string(PACKAGE.provider),
      });
    }
  }
  return out;
}

function* resourceParams(views: readonly View[]): Generator<GlobalRecord | null> {
  const seen = new Set<string>();
  for (const view of views) {
    const reader = view.resources.reader();
    for (const id of view.resources.ids()) {
      yield null;
      const body = reader.read(id);
      const hash = body.string(RESOURCE.hash)!;
      if (seen.has(hash)) continue;
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
