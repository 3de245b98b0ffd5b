// Where rows leave the executor. One row is one complete JSON text; framing ([ , ]), pretty printing, encoding and
// back-pressure belong to the sink's owner.

import type { ByteWriter } from '../bytes.ts';

export interface RowSink {
  /** Takes one row's JSON text. Never blocks and never refuses; look at `full` between rows. */
  row(json: string): void;
  /** true: the executor yields before it produces another row. */
  readonly full: boolean;
  /** Begins a row whose JSON text is then written as bytes, all of it before the next call of the sink. Without this, or
   *  when it gives null, the sink wants texts (`row`). */
  begin?(): ByteWriter | null;
}

export interface ExecuteOptions {
  /** Called once, before the first row, when the tree is executed with includeTotal. */
  readonly onTotal?: (total: number) => void;
}
