// Records of the entities that belong to no node: names, paths, packages. Partitions have many of them in common; what is
// known from one is not read in the next.

import type { EntityName } from '../../../schemas/entities.ts';
import { canonicalK } from '../../json/canonical.ts';
import { isObject, type JsonValue } from '../../json/value.ts';
import { PACKAGE, RESOURCE } from '../../store/bodies.ts';
import type { View } from '../../store/partition.ts';
import type { GlobalRecord } from './access.ts';

export function collectRecords(entity: EntityName, views: readonly View[]): GlobalRecord[] {
  switch (entity) {
    case 'environments':
      return named(views.flatMap((v) => v.environments()));
    case 'producers':
      return named(views.flatMap((v) => v.producers()));
    case 'fact_names':
      return named(distinctPaths(views).map(({ path }) => String(path[0])));
    case 'fact_paths':
      return distinctPaths(views)
        .filter(({ type }) => type !== 'json')
        .map(({ type, path }) => ({ type, path: path as JsonValue, name: String(path[0]), depth: path.length - 1 }));
    case 'packages':
      return distinctPackages(views);
    case 'resource_params':
      return resourceParams(views);
    default:
      throw new Error(`${entity} has no records`);
  }
}

const named = (names: readonly string[]): GlobalRecord[] => [...new Set(names)].map((name) => ({ name }));

export interface TypedPath {
  readonly type: string;
  readonly path: readonly (string | number)[];
}

/** Registered fact paths of all partitions. */
export function distinctPaths(views: readonly View[]): TypedPath[] {
  const seen = new Set<string>();
  return views.flatMap((view) => [...view.factPaths(seen)]);
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

function resourceParams(views: readonly View[]): GlobalRecord[] {
  const out: GlobalRecord[] = [];
  const seen = new Set<string>();
  for (const view of views) {
    const reader = view.resources.reader();
    for (const id of view.resources.ids()) {
      const body = reader.read(id);
      const hash = body.string(RESOURCE.hash)!;
      if (seen.has(hash)) continue;
      seen.add(hash);
      const { parameters } = body;
      if (!isObject(parameters)) continue;
      for (const name of Object.keys(parameters)) {
        out.push({
          res_param_resource: hash,
          res_param_name: name,
          res_param_value: canonicalK(parameters[name]!),
        });
      }
    }
  }
  return out;
}
