// Entry of an export's thread (a piscina worker): makes the files of the archive from answers, whose chunks come one after the other
// as tasks. A large catalog takes seconds to be parsed, anonymised and printed, and the main thread has clients to serve.

import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { joined } from '../../../engine/bytes.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { prettyBytes } from '../../../engine/json/pretty.ts';
import { isObject } from '../../../engine/json/value.ts';
import { RowSplitter } from '../questions/row-splitter.ts';
import { createAnonymizer } from './anonymizer.ts';
import { anonymizationProfiles } from './profiles.ts';
import { tarFile } from './tar.ts';
import { type ArchiveKind, archiveRows, entryName } from './wire.ts';

/** Given to the thread when it starts. */
export interface EntryThreadData {
  /** Name of an anonymisation profile; nothing is anonymised when there is none of that name. */
  readonly profile: string;
  /** Time of all files, epoch seconds. */
  readonly seconds: number;
}

/** A task: what follows of an answer, a JSON list of rows of that kind. */
export interface EntryTask {
  readonly kind: ArchiveKind;
  /** null: the answer is complete. */
  readonly chunk: Uint8Array | null;
}

/** What a task gives: the files of the rows that are complete by now. */
export interface Entries {
  readonly rows: number;
  /** With what stands around each file in the archive. */
  readonly bytes: Uint8Array;
}

/** What would be a longer file is written without line breaks: an import has a bound for commands, and indentation would count. */
const PRETTY_BYTES_MAX = 16 * 1024 * 1024;

const { profile, seconds } = workerData as EntryThreadData;
const rules = anonymizationProfiles.get(profile);
const anonymizer = rules === undefined ? null : createAnonymizer(rules);

let splitter = new RowSplitter();

/** Throws when a row is not what such rows are, and when the answer is complete but no list. */
export default function entriesOf({ kind, chunk }: EntryTask): unknown {
  const files: Uint8Array[] = [];
  let rows = 0;
  if (chunk === null) {
    const complete = splitter;
    splitter = new RowSplitter();
    complete.end();
  } else {
    for (const row of splitter.push(chunk)) {
      files.push(...entryOf(kind, row));
      rows++;
    }
  }
  const entries: Entries = { rows, bytes: joined(files) };
  // Its memory goes to the main thread without another copy.
  return move({ [transferableSymbol]: [entries.bytes.buffer], [valueSymbol]: entries });
}

function entryOf(kind: ArchiveKind, row: string): Iterable<Uint8Array> {
  const archiveRow = archiveRows.find((one) => one.kind === kind);
  const value = parseJson(row);
  if (archiveRow === undefined || !isObject(value)) throw new Error(`a row of ${kind} is no object`);
  const plain = archiveRow.payload(value);
  const payload = anonymizer === null ? plain : anonymizer(kind, plain);
  return tarFile(entryName(archiveRow, payload), prettyBytes(payload, PRETTY_BYTES_MAX), seconds);
}
