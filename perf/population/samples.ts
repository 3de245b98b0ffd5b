// The documents that simulated hosts begin with: from folders of JSON files, from an export of PuppetDB or Muster, or generated.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atExit } from '../lib/at-exit.ts';
import { Fleet, type Kind } from '../lib/fleet.ts';
import { type Given, type OptionTable, UsageError } from '../lib/options.ts';
import { isObject, type JsonObject } from './json.ts';

/** Documents of each kind; empty: that kind is not sent. */
export type Samples = Readonly<Record<Kind, readonly JsonObject[]>>;

/** The kinds by the options and folders that hold them. */
const FOLDERS = { facts: 'facts', catalog: 'catalogs', report: 'reports' } as const satisfies Record<Kind, string>;
const kinds = Object.keys(FOLDERS) as Kind[];
/** Documents of a kind that are read: hosts share them. */
const SAMPLES_MAX = 100;
/** Generated nodes that hosts are like, three of each role. */
const GENERATED = 24;

export const sampleOptions = {
  facts: { value: 'DIR', doc: 'folder of factsets to begin with, *.json as in an export' },
  catalogs: { value: 'DIR', doc: 'the same of catalogs' },
  reports: {
    value: 'DIR',
    doc: 'the same of reports. Kinds without a folder are not sent; without any, all are generated',
  },
  archive: { value: 'FILE', doc: 'an export (tar.gz) to take all of these from; needs the tar program' },
} as const satisfies OptionTable;

/** Where they are from, in a line. */
export function describeSamples(samples: Samples, given: Given): string {
  const from = given.text('archive') ?? (hasFolders(given) ? 'folders' : 'the generated fleet');
  return `${kinds.map((kind) => `${samples[kind].length} ${FOLDERS[kind]}`).join(', ')} from ${from}`;
}

const hasFolders = (given: Given): boolean => kinds.some((kind) => given.text(FOLDERS[kind]) !== null);

/** Throws UsageError where there is nothing to begin with. */
export function samplesFor(given: Given): Samples {
  const archive = given.text('archive');
  if (archive !== null) {
    if (hasFolders(given)) throw new UsageError('--archive is incompatible with --facts, --catalogs, --reports');
    return samplesOfArchive(archive);
  }
  if (!hasFolders(given)) return generated(given);
  return samplesOf((kind) => {
    const folder = given.text(FOLDERS[kind]);
    return folder === null ? [] : documentsIn(folder);
  });
}

const samplesOf = (documents: (kind: Kind) => readonly JsonObject[]): Samples => ({
  facts: documents('facts'),
  catalog: documents('catalog'),
  report: documents('report'),
});

function generated(given: Given): Samples {
  const [resourcesMin, resourcesMax] = given.range('resources');
  const fleet = new Fleet({ seed: given.count('seed', 0, 0xffffffff), resourcesMin, resourcesMax });
  const made: Record<Kind, JsonObject[]> = { facts: [], catalog: [], report: [] };
  for (let node = 0; node < GENERATED; node++) {
    for (const { kind, payload } of fleet.run(node, 0)) made[kind].push(JSON.parse(payload) as JsonObject);
  }
  return made;
}

function samplesOfArchive(archive: string): Samples {
  const home = mkdtempSync(join(tmpdir(), 'muster-perf-'));
  const remove = (): void => rmSync(home, { recursive: true, force: true });
  const forget = atExit(remove);
  try {
    execFileSync('tar', ['-xzf', archive, '-C', home], { stdio: ['ignore', 'ignore', 'pipe'] });
    const folderOf = (kind: Kind): string => join(home, 'puppetdb-bak', FOLDERS[kind]);
    const samples = samplesOf((kind) => (existsSync(folderOf(kind)) ? documentsIn(folderOf(kind)) : []));
    if (kinds.every((kind) => samples[kind].length === 0)) throw new Error('it holds no facts, catalogs or reports');
    return samples;
  } catch (error) {
    throw new UsageError(`--archive ${archive}: ${(error as Error).message.trim()}`);
  } finally {
    remove();
    forget();
  }
}

/** The first of its files that are JSON objects; what is none is told and passed over. */
function documentsIn(folder: string): JsonObject[] {
  const documents: JsonObject[] = [];
  for (const name of filesIn(folder)) {
    if (documents.length === SAMPLES_MAX) break;
    const document = documentOf(join(folder, name));
    if (document !== null) documents.push(document);
  }
  if (documents.length === 0) throw new UsageError(`${folder} contains no usable data`);
  return documents;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .sort();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function documentOf(file: string): JsonObject | null {
  try {
    const document: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(document)) return document;
    console.error(`${file} is no JSON object; skipped`);
  } catch (error) {
    console.error(`${file}: ${(error as Error).message}; skipped`);
  }
  return null;
}
