// A row as JSON text. Neighbouring columns that depend on the same thing are rendered together, and the text of a shared item
// is kept with it, so that a dump mostly copies bytes that exist already.

import { type EntityName, fieldOf } from '../../../schemas/entities.ts';
import { ByteWriter, bytesOf, type Piece, pieceOf } from '../../bytes.ts';
import { BytesById } from '../../bytes-by-id.ts';
import { CLOSE_MAP } from '../../json/ascii.ts';
import { isNumber, isObject, type JsonValue, kindOf } from '../../json/value.ts';
import type { StoredResource } from '../../store/bodies.ts';
import { type MaskedKind, toChar } from '../format/to-char.ts';
import type { RowSink } from '../sink.ts';
import type { Column, FieldRef, QueryTree } from '../tree.ts';
import { type Access, jsonText, type Level } from './access.ts';
import { FactMember } from './fact-member.ts';
import { accessFor, type CompileScope } from './filter.ts';
import type { Row } from './row.ts';
import { ValuePath } from './value-path.ts';

/** Reads a field or a dotted path. */
export function accessRef(ref: FieldRef, scope: CompileScope): Access {
  if (ref.kind === 'field') return accessFor(scope, ref.field);
  if (ref.parts.length === 0) return accessFor(scope, ref.root);
  const { level, find } = memberOf(ref);
  return made(level, (row) => find(row) ?? null);
}

/** What a dotted path leads to in a row; undefined where it leads nowhere, which is not the null that a document may hold. */
interface Member {
  readonly level: Level;
  readonly find: (row: Row) => JsonValue | undefined;
}

export function memberOf(ref: Extract<FieldRef, { kind: 'path' }>): Member {
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
  const member = new FactMember(name, path);
  return {
    level: 'node',
    find(row) {
      const item = member.item(row);
      return item === 0 ? undefined : member.find(row, item);
    },
  };
}

/** A column whose value is computed. */
const made = (level: Level, value: (row: Row) => JsonValue): Access => ({
  level,
  value,
  write: (row, out) => out.text(jsonText(value(row))),
});

/** to_string of a time or a number; null stays null, and a fact value that neither is nor spells a number has no such text. */
function maskedAccess(ref: FieldRef, mask: string, scope: CompileScope): Access {
  const { level, value } = accessRef(ref, scope);
  const kind = ref.kind === 'field' ? maskedKind(scope.entity, ref.field) : 'number';
  const get = (row: Row): string | null => {
    const v = value(row) as JsonValue;
    return isNumber(v) || typeof v === 'string' ? toChar(v, mask, kind) : null;
  };
  return made(level, get);
}

function typeofAccess(ref: FieldRef, scope: CompileScope): Access {
  const { level, value } = accessRef(ref, scope);
  const isDocument = ref.kind === 'path' || fieldOf(scope.entity, ref.field)?.type === 'J';
  const get = (row: Row): JsonValue => {
    const found = value(row) as JsonValue;
    return found === null && isDocument ? null : kindOf(found); // a missing document has no type
  };
  return made(level, get);
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

interface Run {
  readonly level: Level;
  readonly columns: readonly Shown[];
}

/** A column, or several that lie side by side in a record. */
interface Shown {
  /** What stands before the value: `{"a":` or `,"b":`. */
  readonly before: Piece;
  write(row: Row, out: ByteWriter): void;
}

const EMPTY_OBJECT = bytesOf('{}');

export class RowWriter {
  readonly #runs: readonly Run[];
  /** Rows of shared items come back to the same nodes; reports and their sub-rows do not. */
  readonly #keepsNodes: boolean;
  /** One report has many sub-rows. */
  readonly #keepsReport: boolean;
  /** By run: texts of the nodes of one partition; of one that was met once none, which is kept when it comes again. */
  #nodeTexts: BytesById[] = [];
  #part = -1;
  /** By run: texts of the present report. */
  #reportTexts: (Uint8Array | undefined)[] = [];
  #report = -1;
  #scratch: ByteWriter | null = null;

  constructor(tree: QueryTree, scope: CompileScope) {
    this.#runs = runsOf(tree, scope);
    this.#keepsNodes = scope.traits.shape === 'item';
    this.#keepsReport = scope.traits.sub === 'event';
  }

  /** Gives the row to the sink. */
  emit(row: Row, sink: RowSink): void {
    const out = sink.begin?.();
    if (out) {
      this.#write(row, out);
      return;
    }
    this.#scratch ??= new ByteWriter(0);
    this.#scratch.length = 0;
    this.#write(row, this.#scratch);
    sink.row(this.#scratch.toString());
  }

  #write(row: Row, out: ByteWriter): void {
    const runs = this.#runs;
    if (runs.length === 0) {
      out.put(EMPTY_OBJECT);
      return;
    }
    if (row.part !== this.#part) this.#forget(row.part);
    const { matched } = row;
    for (let i = 0; i < runs.length; i++) {
      const run = runs[i]!;
      const { level } = run;
      if (level === 'node') {
        if (this.#keepsNodes) this.#node(i, run, row, out);
        else writeRun(run, row, out);
      } else if (level === 'item' && matched !== null && matched.room !== null) {
        const kept = matched.texts?.[i];
        if (kept !== undefined) out.put(kept);
        else keepRun(i, run, row, out);
      } else if (level === 'item' && this.#keepsReport) this.#ofReport(i, run, row, out);
      else writeRun(run, row, out);
    }
    out.byte(CLOSE_MAP);
  }

  #node(index: number, run: Run, row: Row, out: ByteWriter): void {
    const texts = this.#nodeTexts[index]!;
    const { nodeId } = row;
    const start = texts.startOf(nodeId);
    const isMet = start > 0;
    if (isMet && texts.endOf(nodeId) > start) {
      texts.write(nodeId, out);
      return;
    }
    const from = out.length;
    writeRun(run, row, out);
    // An item of one node says nothing of whether the node comes again; one of several comes with neighbours of its kind.
    const isShared = row.matched !== null && row.matched.room !== null;
    texts.keepWritten(nodeId, out, from, isShared || isMet ? out.length : from);
  }

  #ofReport(index: number, run: Run, row: Row, out: ByteWriter): void {
    if (row.itemId !== this.#report) {
      this.#report = row.itemId;
      this.#reportTexts = [];
    }
    const kept = this.#reportTexts[index];
    if (kept !== undefined) {
      out.put(kept);
      return;
    }
    const start = out.length;
    writeRun(run, row, out);
    this.#reportTexts[index] = out.copyFrom(start);
  }

  #forget(part: number): void {
    this.#part = part;
    this.#report = -1;
    this.#nodeTexts = this.#runs.map(() => new BytesById());
  }
}

function writeRun(run: Run, row: Row, out: ByteWriter): void {
  const { columns } = run;
  for (let i = 0; i < columns.length; i++) {
    const column = columns[i]!;
    out.piece(column.before);
    column.write(row, out);
  }
}

/** Writes the run of an item's sub-row and keeps its text with the sub-row. */
function keepRun(index: number, run: Run, row: Row, out: ByteWriter): void {
  const matched = row.matched!;
  const room = matched.room!;
  const start = out.length;
  writeRun(run, row, out);
  if (room.left <= 0) return;
  const text = out.copyFrom(start);
  room.left -= text.length;
  matched.texts ??= [];
  matched.texts[index] = text;
}

interface Span {
  readonly level: Level;
  readonly before: Piece;
  readonly access: Access;
  /** Place of the last column that lies side by side with the first. */
  last: number;
}

function runsOf(tree: QueryTree, scope: CompileScope): Run[] {
  // Item and sub-row are rendered and kept together, unless the item is a report.
  const apart = scope.traits.shape === 'report';
  const spans: Span[] = [];
  tree.columns.forEach((column, i) => {
    const access = shownAccess(column, scope);
    const level = access.level === 'sub' && !apart ? 'item' : access.level;
    const span = spans.at(-1);
    if (span !== undefined && span.level === level && follows(span, access, column.key)) {
      span.last++;
      return;
    }
    const before = pieceOf(`${i === 0 ? '{' : ','}${JSON.stringify(column.key)}:`);
    spans.push({ level, before, access, last: access.stored?.place ?? 0 });
  });
  const runs: { level: Level; columns: Shown[] }[] = [];
  for (const span of spans) {
    const shown: Shown = { before: span.before, write: writerOf(span) };
    const run = runs.at(-1);
    if (run !== undefined && run.level === span.level) run.columns.push(shown);
    else runs.push({ level: span.level, columns: [shown] });
  }
  return runs;
}

/** Access to a column that is not an aggregate, where nothing but its text is wanted. */
export const shownAccess = (column: Column, scope: CompileScope): Access =>
  column.kind === 'field' ? shownRef(column.ref, scope) : columnAccess(column, scope);

/** The same for a field or a dotted path. */
export const shownRef = (ref: FieldRef, scope: CompileScope): Access =>
  (ref.kind === 'field' ? scope.access.shown?.[ref.field] : undefined) ?? accessRef(ref, scope);

/** Whether the column's text follows the span's in the record, with this key between them. */
function follows(span: Span, { stored }: Access, key: string): boolean {
  const before = span.access.stored;
  if (stored === undefined || before === undefined) return false;
  return stored.shape === before.shape && stored.place === span.last + 1 && stored.shape.keys[stored.place] === key;
}

function writerOf({ access, last }: Span): Shown['write'] {
  const { stored } = access;
  if (stored === undefined || stored.place === last) return access.write;
  const { of, place } = stored;
  return (row, out) => of(row).writeSpan(place, last, out);
}
