// A row as JSON text. Neighbouring columns that depend on the same thing are rendered together, and the text of a shared item
// is kept with it, so that a dump mostly copies bytes that exist already.

import { ByteWriter, bytesOf, type Piece, pieceOf } from '../../bytes.ts';
import { BytesById } from '../../bytes-by-id.ts';
import { CLOSE_MAP } from '../../json/ascii.ts';
import type { RowSink } from '../sink.ts';
import type { QueryTree } from '../tree.ts';
import type { CompileScope } from './filter/filter.ts';
import { shownAccess } from './plan/columns.ts';
import type { Access, Level } from './row/access.ts';
import type { Row } from './row/row.ts';

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
