// Shared rows that nothing refers to any more (spec/commands.md 8.2). Bodies of resources, facts, edges and packages go as
// soon as their last node lets go of them (engine/store/items/dictionary.ts), so what is left to collect are the registries that
// only grow: environments, fact paths and ids of fact names.

import { parseJson } from '../json/parse.ts';
import { shortKey, textOfKey } from '../store/file/keys.ts';
import { itemRound } from '../store/item-ids.ts';
import { FACT_BY_NAME, FACTS } from '../store/items/dictionaries.ts';
import type { Partition } from '../store/partition.ts';
import { factPaths, pathText } from '../store/records/fact-paths.ts';
import type { ItemId, NodeId, ReportId } from '../store/records/records.ts';
import { REPORT_TEXT } from '../store/records/report-record.ts';
import { NODES_ALL } from '../store/records/tables.ts';
import type { View } from '../store/view.ts';
import { LOOKED_AT_MAX, type StepResult, type Sweep } from './sweep.ts';

/** Packages that no node has: there are none, as they go with their last node. */
export function gcPackages(): Sweep {
  return { step: () => ({ changed: 0, done: true }) };
}

/**
 * Environments that no catalog, factset or report names. Commands may come in between steps: the last step looks once more
 * at all nodes, and at the reports that arrived meanwhile, before it deletes.
 */
export function gcCatalogs(partition: Partition): Sweep {
  let unused: Set<string> | null = null;
  let fromNode: NodeId = 0;
  let fromReport: ReportId = 0;
  return {
    step(): StepResult {
      const view = partition.snapshot();
      try {
        unused ??= new Set(view.environments());
        if (unused.size === 0) return FINISHED;
        if (fromNode >= 0) {
          fromNode = dropUsedByNodes(view, unused, fromNode);
          return { changed: 0, done: unused.size === 0 };
        }
        const kinds = view.reports.kinds();
        if (kinds !== null) {
          for (const { report } of kinds) drop(unused, report.string(REPORT_TEXT.environment));
        } else {
          fromReport = dropUsedByReports(view, unused, fromReport);
          if (fromReport >= 0) return { changed: 0, done: unused.size === 0 };
        }
        for (let next = dropUsedByNodes(view, unused, 0); next >= 0; ) next = dropUsedByNodes(view, unused, next);
      } finally {
        view.close();
      }
      const names = [...unused];
      if (names.length > 0) partition.write((batch) => batch.removeEnvironments(names));
      return { changed: names.length, done: true };
    },
  };
}

const FINISHED: StepResult = { changed: 0, done: true };

/** Takes out of `unused` what the nodes from `from` on name; returns the next node, -1 when all have been looked at. */
function dropUsedByNodes(view: View, unused: Set<string>, from: NodeId): NodeId {
  let lookedAt = 0;
  for (const id of view.set(NODES_ALL).toArray()) {
    if (id < from) continue;
    if (lookedAt++ === LOOKED_AT_MAX) return id;
    const record = view.node(id);
    if (record === undefined) continue;
    for (const part of [record.catalog, record.factset, record.latestReport]) drop(unused, part?.environment ?? null);
    if (unused.size === 0) return -1;
  }
  return -1;
}

/** The same with the reports from `from` on; for stores that do not count the kinds of all of them. */
function dropUsedByReports(view: View, unused: Set<string>, from: ReportId): ReportId {
  const ids = [...view.partition.tables.report.getKeys({ start: from, limit: LOOKED_AT_MAX + 1, ...view.options })];
  for (const id of ids.slice(0, LOOKED_AT_MAX)) drop(unused, view.reports.get(id)?.environment ?? null);
  return ids[LOOKED_AT_MAX] ?? -1;
}

function drop(unused: Set<string>, environment: string | null): void {
  if (environment !== null) unused.delete(environment);
}

/** Fact paths, and ids of names, that no stored fact has. Counts paths. */
export function gcFactPaths(partition: Partition): Sweep {
  const paths = gcPaths(partition);
  const names = gcNames(partition);
  let pathsDone = false;
  return {
    step(): StepResult {
      if (pathsDone) return names.step();
      const { changed, done } = paths.step();
      pathsDone = done;
      return { changed, done: false };
    },
  };
}

/**
 * First all facts are looked at; then the registry, part by part, and before each part the facts that have come since. The paths of a body that
 * goes meanwhile stay until the next sweep, and a type that a path once had may stay as long as the path.
 */
function gcPaths(partition: Partition): Sweep {
  const facts = new PathsOfFacts(partition);
  let after: Buffer = Buffer.alloc(1);
  return {
    step(): StepResult {
      const view = partition.snapshot();
      const dead: Buffer[] = [];
      let isLast = false;
      try {
        if (!facts.look(view)) return { changed: 0, done: false };
        let count = 0;
        for (const { key, value } of partition.tables.fact_path.getRange({
          start: after,
          limit: LOOKED_AT_MAX,
          ...view.options,
        })) {
          count++;
          after = Buffer.from(key);
          if (!facts.live.has(shortKey(pathText(value.toString('utf8'))))) dead.push(after);
        }
        isLast = count < LOOKED_AT_MAX;
      } finally {
        view.close();
      }
      if (dead.length > 0) partition.write((batch) => batch.removeFactPaths(dead));
      return { changed: dead.length, done: isLast };
    },
  };
}

/** The paths that facts have, collected in steps while facts come and go. */
class PathsOfFacts {
  readonly live = new Set<string>();
  readonly #partition: Partition;
  #round = -1;
  /** Where to go on among those that were there when the round was first met: these have ids below `#end`. */
  #from: ItemId = 0;
  #end: ItemId = 0;
  /** Facts that came since then have ids from here on. */
  #since: ItemId = 0;

  constructor(partition: Partition) {
    this.#partition = partition;
  }

  /** Looks at a bounded number of the facts that the snapshot has; false: others are left. */
  look(view: View): boolean {
    const { facts, state } = view;
    const next = state.nextItem[FACTS.name] ?? 1;
    const round = itemRound(state, FACTS.name);
    if (round !== this.#round) {
      // Ids begin anew: what came before that may have got any.
      this.#round = round;
      this.#from = 0;
      this.#end = facts.end;
      this.#since = next;
    }
    const room = { left: LOOKED_AT_MAX };
    this.#from = this.#lookAt(view, this.#from, this.#end, room);
    if (room.left <= 0) return false;
    this.#since = this.#lookAt(view, this.#since, next, room);
    return room.left > 0;
  }

  /** From one id up to another one; returns where to go on. */
  #lookAt(view: View, from: ItemId, end: ItemId, room: { left: number }): ItemId {
    if (from >= end) return end;
    const { body } = this.#partition.facts.tables;
    for (const id of body.getKeys({ start: from, end, ...view.options })) {
      if (room.left <= 0) return id;
      room.left--;
      const fact = view.facts.body(id);
      factPaths(fact.name, parseJson(fact.value), (_, path) => {
        room.left--;
        this.live.add(shortKey(JSON.stringify(path)));
      });
    }
    return end;
  }
}

/** Ids of names that no fact has. A name that is too long for its key, which then does not tell it, keeps its id. */
function gcNames(partition: Partition): Sweep {
  let from: Buffer = Buffer.alloc(1);
  return {
    step(): StepResult {
      const view = partition.snapshot();
      let keys: Buffer[];
      let dead: Buffer[];
      try {
        keys = view.factNameKeys(from, LOOKED_AT_MAX);
        dead = keys.filter((key) => {
          const name = textOfKey(key);
          return name !== null && view.facts.estimate(FACT_BY_NAME, [name], 0) === 0;
        });
      } finally {
        view.close();
      }
      if (dead.length > 0) partition.write((batch) => batch.removeFactNames(dead));
      from = keys.at(-1) ?? from;
      return { changed: 0, done: keys.length < LOOKED_AT_MAX };
    },
  };
}
