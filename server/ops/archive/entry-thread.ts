// Entry of an export's thread (a piscina worker): makes the files of the archive from rows of query answers. A large catalog
// takes seconds to be parsed, anonymised and printed, and the main thread has clients to serve.

import { workerData } from 'node:worker_threads';
import { move } from 'piscina';
import { joined } from '../../../engine/bytes.ts';
import { parseJson } from '../../../engine/json/parse.ts';
import { prettyBytes } from '../../../engine/json/pretty.ts';
import { isObject } from '../../../engine/json/value.ts';
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

/** One row: the task. */
export interface EntryTask {
  readonly kind: ArchiveKind;
  /** JSON. */
  readonly row: string;
}

const { profile, seconds } = workerData as EntryThreadData;
const rules = anonymizationProfiles.get(profile);
const anonymizer = rules === undefined ? null : createAnonymizer(rules);

/** The row's file, with what stands around it in the archive. Throws when the row is not what such rows are. */
export default function entryOf({ kind, row }: EntryTask): Uint8Array {
  const archiveRow = archiveRows.find((one) => one.kind === kind);
  const value = parseJson(row);
  if (archiveRow === undefined || !isObject(value)) throw new Error(`a row of ${kind} is no object`);
  const plain = archiveRow.payload(value);
  const payload = anonymizer === null ? plain : anonymizer(kind, plain);
  const entry = joined([...tarFile(entryName(archiveRow, payload), prettyBytes(payload), seconds)]);
  // Its memory goes to the main thread without another copy.
  return move(entry) as Uint8Array;
}
