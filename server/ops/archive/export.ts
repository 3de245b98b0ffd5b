// GET /pdb/admin/v1/archive: everything active nodes have, as a compressed tar archive of command payloads. Nodes are asked
// for in batches, so that no query reads one state of the store for long; answers go on only as the client takes them. A
// thread makes the files of their rows. What is held is a few chunks, or a large row, and the names of the nodes.

import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { prettyJson } from '../../../engine/json/pretty.ts';
import { threadScript } from '../../../workers/system/thread-script.ts';
import type { BodyWriter, Exchange } from '../../http/exchange.ts';
import { gzipTo } from '../../http/gzip-to.ts';
import { isJsonMap, type Json } from '../../json.ts';
import type { Logger } from '../../log.ts';
import { type Asker, askChunks, askRows } from '../questions/internal-query.ts';
import type { Entries, EntryTask, EntryThreadData } from './entry-thread.ts';
import { anonymizationProfiles } from './profiles.ts';
import { tarEnd, tarFile } from './tar.ts';
import { type ArchiveRow, archiveRows, METADATA_NAME } from './wire.ts';

export interface ExportDeps {
  readonly asker: Asker;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly log: Logger;
}

const NODES_PER_QUERY = 100;
/** Chunks of answers that the thread has before it while the files of one are awaited. */
const CHUNKS_AHEAD = 4;

/** An error while streaming can only cut the answer short: the archive then lacks its end. */
export async function answerExport(exchange: Exchange, deps: ExportDeps): Promise<void> {
  const now = deps.clock();
  const time = new Date(now).toISOString();
  const profile = new URLSearchParams(exchange.queryString).get('anonymization_profile') ?? 'none';
  const writer = exchange.stream({
    status: 200,
    contentType: 'application/octet-stream; charset=utf-8',
    headers: [['Content-Disposition', `attachment; filename=puppetdb-export-${time}.tgz`]],
  });
  deps.log.info('Export triggered for PuppetDB');
  if (profile !== 'none' && !anonymizationProfiles.has(profile)) {
    deps.log.warn({ profile }, 'there is no such anonymization profile: nothing is anonymised in this export');
  }
  const done: Done = { rows: 0, bytes: 0 };
  const counted: Pick<BodyWriter, 'write' | 'drained'> = {
    write: (chunk) => {
      done.bytes += chunk.byteLength;
      return writer.write(chunk);
    },
    drained: () => writer.drained(),
  };
  try {
    await gzipTo(counted, whileThere(exchange, archiveBytes(deps, { profile, now, done })));
    if (exchange.aborted) return tellGone(deps.log, exchange, done);
    writer.end();
    deps.log.info('Finished exporting PuppetDB');
  } catch (error) {
    if (exchange.aborted) return tellGone(deps.log, exchange, done);
    deps.log.error({ err: error }, 'export failed: the archive is cut short');
    writer.abort();
  }
}

/** Ends when the client has left, also while the next part is awaited. */
async function* whileThere(exchange: Exchange, parts: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let leave = (): void => {};
  exchange.onAbort(() => leave());
  try {
    while (!exchange.aborted) {
      const part = await new Promise<IteratorResult<Uint8Array> | null>((resolve, reject) => {
        leave = () => resolve(null);
        parts.next().then(resolve, reject);
      });
      if (part === null || part.done === true) return;
      yield part.value;
    }
  } finally {
    // Once it has what it waits for at present. What fails there is told to nobody any more.
    parts.return(undefined).catch(() => {});
  }
}

/** How far an export has come: rows that are in the archive, and bytes of it that were sent. */
interface Done {
  rows: number;
  bytes: number;
}

const tellGone = (log: Logger, { whyAborted }: Exchange, { rows, bytes }: Done): void =>
  log.warn({ rows, bytes }, `Export broken off: ${whyAborted}`);

interface Export {
  readonly profile: string;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly done: Done;
}

async function* archiveBytes(deps: ExportDeps, { profile, now, done }: Export): AsyncGenerator<Uint8Array> {
  const seconds = Math.floor(now / 1000);
  const versions = Object.fromEntries(archiveRows.map(({ command, version }) => [command, version]));
  const metadata = prettyJson({ timestamp: new Date(now).toISOString(), command_versions: versions });
  yield* tarFile(METADATA_NAME, Buffer.from(metadata), seconds);
  const names = await nodeNames(deps.asker);
  if (names.length > 0) {
    for await (const { rows, bytes } of rowEntries(deps.asker, names, { profile, seconds })) {
      done.rows += rows;
      if (rows > 0) yield bytes;
    }
  }
  yield tarEnd();
}

async function* rowEntries(asker: Asker, names: readonly string[], data: EntryThreadData): AsyncGenerator<Entries> {
  const thread = entryThread(data);
  const ahead: Promise<Entries>[] = [];
  const give = (task: EntryTask): void => {
    const entries = thread.run(task) as Promise<Entries>;
    // What fails is told when its turn comes; it never comes when the export ends before.
    entries.catch(() => {});
    ahead.push(entries);
  };
  try {
    for (const row of archiveRows) {
      for (let at = 0; at < names.length; at += NODES_PER_QUERY) {
        for await (const chunk of chunksOf(asker, row, names.slice(at, at + NODES_PER_QUERY))) {
          give({ kind: row.kind, chunk });
          while (ahead.length > CHUNKS_AHEAD) yield await ahead.shift()!;
        }
        give({ kind: row.kind, chunk: null });
      }
    }
    while (ahead.length > 0) yield await ahead.shift()!;
  } finally {
    await thread.destroy();
  }
}

/** A thread of the export's own: it takes one task after the other. */
function entryThread(data: EntryThreadData): Piscina {
  const { url, execArgv } = threadScript('entry-thread', import.meta.url);
  const thread = new Piscina({
    filename: fileURLToPath(url),
    minThreads: 1,
    maxThreads: 1,
    concurrentTasksPerWorker: CHUNKS_AHEAD + 2,
    idleTimeout: Number.POSITIVE_INFINITY,
    atomics: 'disabled',
    workerData: data,
    ...(execArgv === undefined ? {} : { execArgv }),
  });
  // What concerns a row its task tells. Files that come when the pool has let go of the thread are errors to it, too, and
  // nobody misses them.
  thread.on('error', () => {});
  return thread;
}

async function nodeNames(asker: Asker): Promise<string[]> {
  const names: string[] = [];
  const query: Json = ['extract', ['certname'], ['~', 'certname', '']];
  const parameters = { order_by: [{ field: 'certname' }] };
  for await (const row of askRows(asker, { path: '/nodes', query, parameters })) {
    const value = JSON.parse(row) as Json;
    if (isJsonMap(value)) names.push(String(value['certname']));
  }
  return names;
}

function chunksOf(asker: Asker, row: ArchiveRow, names: readonly string[]): AsyncIterable<Uint8Array> {
  const ofNodes: Json = ['in', 'certname', ['array', names]];
  const query: Json = row.filter === null ? ofNodes : ['and', ofNodes, row.filter];
  // Payloads have PuppetDB's own field names whatever clients are shown.
  const settings = { vocabulary: 'puppetdb' } as const;
  return askChunks(asker, { ...row.question, query, settings });
}
