// What the columns of a query read: fields, dotted paths, and what functions make of them.

import { type EntityName, fieldOf } from '../../../../schemas/entities.ts';
import { isNumber, isObject, type JsonValue, kindOf } from '../../../json/value.ts';
import type { StoredResource } from '../../../store/records/bodies.ts';
import { HOUR_MS } from '../../../time.ts';
import { isHourly } from '../../format/time-mask.ts';
import { type Maskable, type MaskedKind, toChar } from '../../format/to-char.ts';
import type { Column, FieldRef } from '../../tree.ts';
import { accessFor, type CompileScope } from '../filter/filter.ts';
import { type Access, jsonText, type Level } from '../row/access.ts';
import { FactMember } from '../row/fact-member.ts';
import type { Row } from '../row/row.ts';
import { ValuePath } from '../row/value-path.ts';

/** Reads a field or a dotted path. */
export function accessRef(ref: FieldRef, scope: CompileScope): Access {
  if (ref.kind === 'field') return accessFor(scope, ref.field);
  if (ref.parts.length === 0) return accessFor(scope, ref.root);
  const { level, find } = memberOf(ref, scope);
  return made(level, (row) => find(row) ?? null);
}

/** What a dotted path leads to in a row; undefined where it leads nowhere, which is not the null that a document may hold. */
interface Member {
  readonly level: Level;
  readonly find: (row: Row) => JsonValue | undefined;
}

export function memberOf(ref: Extract<FieldRef, { kind: 'path' }>, { ctx }: CompileScope): Member {
  const { parts } = ref;
  const first = parts[0]!;
  const name = first.kind === 'match' ? '' : first.name;
  const path = new ValuePath(parts.slice(1), false);
  if (ref.root === 'parameters') {
    return {
      level: 'item',
      find(row) {
        const { parameters } = row.body as StoredResource;
        if (!isObject(parameters) || !Object.hasOwn(parameters, name)) return undefined;
        return path.find(parameters[name]!);
      },
    };
  }
  const member = new FactMember(name, path, (bytes) => ctx.lookedAt(bytes));
  return {
    level: 'node',
    find(row) {
      const item = member.item(row);
      return item === 0 ? undefined : member.find(row, item);
    },
  };
}

/** A column whose value is computed. `from`: the field whose value is all that it is computed from. */
const made = (level: Level, value: (row: Row) => JsonValue, from?: Access): Access => ({
  level,
  value,
  write: (row, out) => out.text(jsonText(value(row))),
  ...(from?.kept === undefined ? {} : { kept: 'whole' }),
});

/** The text of the hour that a time is in. That of the last one is mostly asked for again. */
function hourText(mask: string): (ms: number) => string | null {
  let last = Number.NaN;
  let text: string | null = null;
  return (ms) => {
    const hour = Math.floor(ms / HOUR_MS);
    if (hour !== last) text = toChar(ms, mask, 'time');
    last = hour;
    return text;
  };
}

/** to_string of a time or a number; null stays null, and a fact value that neither is nor spells a number has no such text. */
function maskedAccess(ref: FieldRef, mask: string, scope: CompileScope): Access {
  const from = accessRef(ref, scope);
  const { level, value } = from;
  const kind = ref.kind === 'field' ? maskedKind(scope.entity, ref.field) : 'number';
  const isHour = kind === 'time' && isHourly(mask);
  const text = isHour ? hourText(mask) : (v: Maskable): string | null => toChar(v, mask, kind);
  const get = (row: Row): string | null => {
    const v = value(row) as JsonValue;
    return isNumber(v) || typeof v === 'string' ? text(v as number) : null;
  };
  const access = made(level, get, from);
  return isHour && ref.kind === 'field' ? { ...access, hourly: { mask, field: ref.field, time: value, text } } : access;
}

function typeofAccess(ref: FieldRef, scope: CompileScope): Access {
  const from = accessRef(ref, scope);
  const { level, value } = from;
  const isDocument = ref.kind === 'path' || fieldOf(scope.entity, ref.field)?.type === 'J';
  const get = (row: Row): JsonValue => {
    const found = value(row) as JsonValue;
    return found === null && isDocument ? null : kindOf(found); // a missing document has no type
  };
  return made(level, get, from);
}

function maskedKind(entity: EntityName, field: string): MaskedKind {
  const { store, type } = fieldOf(entity, field)!;
  return store === 'timestamp' ? 'time' : type === 'N' ? 'integer' : 'number';
}

/** Access to a column that is not an aggregate. */
function columnAccess(column: Column, scope: CompileScope): Access {
  switch (column.kind) {
    case 'field':
      return accessRef(column.ref, scope);
    case 'to_string':
      return maskedAccess(column.ref, column.mask, scope);
    case 'jsonb_typeof':
      return typeofAccess(column.ref, scope);
    case 'null':
      return made('item', () => null);
    case 'aggregate':
      throw new Error('an aggregate has no value per row');
  }
}

/** Access to a column that is not an aggregate, where nothing but its text is wanted. */
export const shownAccess = (column: Column, scope: CompileScope): Access =>
  column.kind === 'field' ? shownRef(column.ref, scope) : columnAccess(column, scope);

/** The same for a field or a dotted path. */
export const shownRef = (ref: FieldRef, scope: CompileScope): Access =>
  (ref.kind === 'field' ? scope.access.shown?.[ref.field] : undefined) ?? accessRef(ref, scope);
