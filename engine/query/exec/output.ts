// A row as JSON text. Neighbouring columns that depend on the same thing are rendered together, and the text of a shared item
// is kept with it, so that a dump mostly concatenates strings that exist already.

import { type EntityName, fieldOf } from '../../../schemas/entities.ts';
import { jsonTypeof } from '../../json/compare.ts';
import { storedText } from '../../json/stored.ts';
import { isObject, type JsonValue } from '../../json/value.ts';
import type { ResourceBody } from '../../store/records.ts';
import { toChar } from '../format/to-char.ts';
import type { Column, FieldRef, QueryTree } from '../tree.ts';
import { type Access, factOf, factValue, type Level, parametersOf, type Value } from './access.ts';
import { accessFor, type CompileScope } from './filter.ts';
import { walk } from './json-filter.ts';
import type { Row } from './row.ts';

/** Reads a field or a dotted path. */
export function accessRef(ref: FieldRef, scope: CompileScope): Access {
  if (ref.kind === 'field') return accessFor(scope, ref.field);
  if (ref.parts.length === 0) return accessFor(scope, ref.root);
  const parts =
    ref.root === 'trusted' ? [{ kind: 'name' as const, name: 'trusted', quoted: false }, ...ref.parts] : ref.parts;
  const first = parts[0]!;
  const name = first.kind === 'match' ? '' : first.name;
  const rest = parts.slice(1);
  const value: (row: Row) => JsonValue =
    ref.root === 'parameters'
      ? (row) => {
          const parameters = parametersOf(row.body as ResourceBody);
          if (!isObject(parameters) || !Object.hasOwn(parameters, name)) return null;
          return walk(parameters[name]!, rest, false) ?? null;
        }
      : (row) => {
          const fact = factOf(row, name);
          return fact === undefined ? null : (walk(factValue(fact), rest, false) ?? null);
        };
  return { level: ref.root === 'parameters' ? 'item' : 'node', value, json: (row) => jsonText(value(row)) };
}

export function jsonText(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value === 'boolean') return String(value);
  return storedText(value);
}

/** to_string of a time or a number; null stays null. */
export function maskedAccess(ref: FieldRef, mask: string, scope: CompileScope): Access {
  const { level, value } = accessRef(ref, scope);
  const isTime = ref.kind === 'field' && isTimeField(scope.entity, ref.field);
  const get = (row: Row): string | null => {
    const v = value(row);
    return v === null ? null : toChar(v as number, mask, isTime ? 'time' : 'number');
  };
  return { level, value: get, json: (row) => jsonText(get(row)) };
}

export function typeofAccess(ref: FieldRef, scope: CompileScope): Access {
  const { level, value } = accessRef(ref, scope);
  const isDocument = ref.kind === 'path' || fieldOf(scope.entity, ref.field)?.type === 'J';
  const get = (row: Row): Value => {
    const found = value(row) as JsonValue;
    return found === null && isDocument ? null : jsonTypeof(found); // a missing document has no type
  };
  return { level, value: get, json: (row) => jsonText(get(row) as JsonValue) };
}

const isTimeField = (entity: EntityName, field: string): boolean => fieldOf(entity, field)?.store === 'timestamp';

/** Access to a column that is not an aggregate. */
export function columnAccess(column: Column, scope: CompileScope): Access {
  switch (column.kind) {
    case 'field':
      return accessRef(column.ref, scope);
    case 'to_string':
      return maskedAccess(column.ref, column.mask, scope);
    case 'jsonb_typeof':
      return typeofAccess(column.ref, scope);
    case 'aggregate':
      throw new Error('an aggregate has no value per row');
  }
}

interface Run {
  readonly level: Level;
  readonly render: readonly ((row: Row) => string)[];
  /** Text before each value: `{"a":` or `,"b":`. */
  readonly before: readonly string[];
}

export class RowWriter {
  readonly #runs: readonly Run[];
  #nodeTexts: (string | null)[];
  #node = 0;
  #part = -1;

  constructor(tree: QueryTree, scope: CompileScope) {
    this.#runs = runsOf(tree, scope);
    this.#nodeTexts = new Array(this.#runs.length).fill(null);
  }

  /** The row's JSON object. */
  text(row: Row): string {
    const runs = this.#runs;
    if (row.nodeId !== this.#node || row.part !== this.#part) {
      this.#node = row.nodeId;
      this.#part = row.part;
      this.#nodeTexts.fill(null);
    }
    const { matched } = row;
    let out = '';
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i]!;
      if (run.level === 'node') out += this.#nodeTexts[i] ??= renderRun(run, row);
      else if (matched === null || run.level === 'row') out += renderRun(run, row);
      else {
        matched.texts ??= [];
        out += matched.texts[i] ??= renderRun(run, row);
      }
    }
    return `${out}}`;
  }
}

function renderRun(run: Run, row: Row): string {
  let out = '';
  for (let i = 0; i < run.render.length; i++) out += run.before[i]! + run.render[i]!(row);
  return out;
}

/** Item and sub-row are rendered and kept together. */
const kindOfRun = (level: Level): Level => (level === 'sub' ? 'item' : level);

function runsOf(tree: QueryTree, scope: CompileScope): Run[] {
  const runs: { level: Level; render: ((row: Row) => string)[]; before: string[] }[] = [];
  let first = true;
  for (const column of tree.columns) {
    const { level, json } = columnAccess(column, scope);
    const before = `${first ? '{' : ','}${JSON.stringify(column.key)}:`;
    first = false;
    const last = runs.at(-1);
    if (last !== undefined && kindOfRun(last.level) === kindOfRun(level)) {
      last.render.push(json);
      last.before.push(before);
    } else runs.push({ level, render: [json], before: [before] });
  }
  if (runs.length === 0) runs.push({ level: 'node', render: [() => ''], before: ['{'] });
  return runs;
}
