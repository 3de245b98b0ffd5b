// POST /pdb/admin/v1/archive: reads an export as it arrives and submits each of its entries as a command. Nothing touches
// the disk, and what is held is the entries on their way into the queue; when the queue is full the client waits.
//
// The answer means "queued"; a header tells how many commands it was. Entries that are no commands are skipped; what is
// refused is refused with a reason, and what was queued before stays queued.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { sentText } from '../../../engine/bytes.ts';
import type { Envelope } from '../../../engine/inbox/envelope.ts';
import { isRecordable } from '../../../engine/inbox/record.ts';
import { type CommandRing, SubmissionRefused } from '../../../workers/types.ts';
import { BodyTooLarge, ClientGone, type Exchange } from '../../http/exchange.ts';
import { archiveErrorReply, prettyReply, retryHeaders } from '../../http/replies.ts';
import { isJsonMap, type Json } from '../../json.ts';
import type { Logger } from '../../log.ts';
import { BadForm, boundaryOf, fieldContents } from './multipart.ts';
import { BadArchive, readTar } from './tar.ts';
import { COUNT_HEADER, entryOf, METADATA_NAME } from './wire.ts';

export interface ImportDeps {
  readonly ring: CommandRing;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly uuid: () => string;
  readonly log: Logger;
  /** Bytes: the largest command, and the largest archive as sent (0: of any size). */
  readonly settings: { readonly decompressedMax: number; readonly archiveMax: number };
}

/** Commands, and bytes of them, that are on their way into the queue at the same time. */
const PENDING_MAX = 64;
const PENDING_BYTES_MAX = 32 * 1024 * 1024;
const METADATA_BYTES_MAX = 1024 * 1024;
/** As in a submission. */
const VERSION_MAX = 2 ** 31 - 1;
/** An archive whose parts that are no commands unpack to more than this times its size, beyond a first allowance, is made to do harm. */
const EXPANSION_MAX = 300;
const EXPANSION_FREE = 16 * 1024 * 1024;
const GZIP_MAGIC = [0x1f, 0x8b];
const RETRY_SECONDS_MAX = 5;
/** Milliseconds between two entries in the log about an import that goes on. */
const PROGRESS_MS = 10_000;

export async function answerImport(exchange: Exchange, deps: ImportDeps): Promise<void> {
  const { archiveMax } = deps.settings;
  let queued = 0;
  try {
    const boundary = boundaryOf(exchange.header('content-type'));
    if (boundary === null)
      throw new BadForm("An archive is imported as the file field 'archive' of multipart/form-data");
    const commands = new CommandQueue(exchange, deps);
    const body = exchange.bodyStream(archiveMax === 0 ? Number.POSITIVE_INFINITY : archiveMax);
    try {
      await unpack(told(fieldContents(body, boundary, 'archive'), deps, commands), deps, commands);
    } finally {
      await commands.settled();
      queued = commands.accepted;
    }
    if (commands.failure !== null) throw commands.failure;
    deps.log.info({ commands: queued }, 'Finished importing an archive');
    exchange.reply({ ...prettyReply(200, { ok: true }), headers: [[COUNT_HEADER, String(queued)]] });
  } catch (error) {
    if (error instanceof ClientGone || exchange.aborted) {
      return deps.log.warn({ commands: queued }, `Import broken off: ${exchange.whyAborted}`);
    }
    const already = queued === 0 ? '' : ` (${queued} commands before it were queued)`;
    const refusal = refusalOf(error, archiveMax);
    if (refusal !== null) {
      deps.log.warn({ commands: queued }, `import refused: ${refusal.text}`);
      exchange.reply(archiveErrorReply(refusal.status, `${refusal.text}${already}`));
    } else if (error instanceof SubmissionRefused) {
      deps.log.warn({ commands: queued }, `import broken off: ${error.message}`);
      exchange.reply({ ...archiveErrorReply(503, `${error.message}${already}`), headers: retryHeaders(error) });
    } else throw error;
  }
}

/** What the client did wrong; null: nothing. */
function refusalOf(error: unknown, archiveMax: number): { readonly status: number; readonly text: string } | null {
  if (error instanceof BadForm || error instanceof BadArchive) return { status: 400, text: error.message };
  if (!(error instanceof BodyTooLarge)) return null;
  return { status: 413, text: `The archive is larger than ${archiveMax} bytes, the archive-max-size of this server` };
}

/** The same parts; the log tells now and then how far they have come. */
async function* told(
  parts: AsyncIterable<Uint8Array>,
  { log }: ImportDeps,
  commands: CommandQueue,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let last = performance.now();
  for await (const part of parts) {
    bytes += part.byteLength;
    const now = performance.now();
    if (now - last >= PROGRESS_MS) {
      last = now;
      log.info({ bytes, commands: commands.accepted }, 'Importing an archive');
    }
    yield part;
  }
}

/** Reads the commands of the unpacked bytes, and sees to it that everything is taken down whoever fails. */
async function unpack(packed: AsyncIterable<Uint8Array>, deps: ImportDeps, commands: CommandQueue): Promise<void> {
  // One command may be on its way; there are only so many behind it.
  const free = EXPANSION_FREE + deps.settings.decompressedMax;
  let bytesIn = 0;
  let bytesOut = 0;
  const start: number[] = [];
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of packed) {
      if (start.length < GZIP_MAGIC.length) start.push(...chunk.subarray(0, GZIP_MAGIC.length - start.length));
      bytesIn += chunk.byteLength;
      yield chunk;
    }
  }
  async function* checked(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      bytesOut += chunk.byteLength;
      if (bytesOut - commands.bytes > free + bytesIn * EXPANSION_MAX) {
        throw new BadArchive(`The archive unpacks to more than ${EXPANSION_MAX} times its size, commands not counted`);
      }
      yield chunk;
    }
  }
  // The reader's own failure takes the streams down, and what the pipeline reports may be that.
  let cause: unknown = null;
  let isWhole = false;
  try {
    await pipeline(Readable.from(counted(), { objectMode: false }), createGunzip(), async (source) => {
      try {
        const unpacked = checked(source);
        await readCommands(unpacked, deps, commands);
        // Behind the end of the tar, to see whether the gzip is whole.
        for await (const _ of unpacked);
        isWhole = true;
      } catch (error) {
        cause = error;
        throw error;
      }
    });
  } catch (error) {
    // The archive has been read. Zeros behind it, as padding, make the pipeline fail all the same: nothing takes them.
    if (isWhole) return;
    cause ??= error;
    const isGzip = GZIP_MAGIC.every((byte, index) => start[index] === byte);
    throw zlibFailure(cause, isGzip) ?? cause;
  }
}

/** The client's part in what zlib complains about; null for errors that are not zlib's. */
function zlibFailure(error: unknown, isGzip: boolean): BadArchive | null {
  const code = (error as { code?: unknown } | null)?.code;
  if (code !== 'Z_DATA_ERROR' && code !== 'Z_BUF_ERROR') return null;
  return new BadArchive(
    isGzip ? `The archive is damaged: ${(error as Error).message}` : 'Input is not in the .gz format',
  );
}

async function readCommands(
  archive: AsyncIterable<Uint8Array>,
  { settings, log }: ImportDeps,
  commands: CommandQueue,
): Promise<void> {
  let versions: { readonly [command: string]: Json } | null = null;
  /** The first command that came before the metadata. */
  let early: string | null = null;
  for await (const entry of readTar(archive)) {
    const found = entryOf(entry.name);
    if (found === null) checkName(entry.name);
    if (!entry.isFile) continue;
    if (versions === null) {
      if (entry.name === METADATA_NAME) {
        // Nobody knew the version of what came before, and to skip it would be to lose it.
        if (early !== null) throw new BadArchive(outOfOrder(early));
        versions = versionsOf(await entry.contents(METADATA_BYTES_MAX));
      } else if (found !== null) early ??= entry.name;
      continue;
    }
    if (found === null) continue;
    const { row, certname } = found;
    const version = versions[row.command] ?? row.version;
    if (!isVersion(version)) throw new BadArchive(`The archive names no valid version of ${row.command}`);
    if (!isRecordable(certname)) {
      throw new BadArchive(
        `The archive has an entry of a certname of ${certname.length} characters, which is too long`,
      );
    }
    const max = settings.decompressedMax;
    if (entry.size > max) {
      const which = `Archive entry '${entry.name}'`;
      throw new BadArchive(`${which} is larger than ${max} bytes, the decompressed-max-size of this server`);
    }
    log.debug(`Importing ${row.command.replaceAll('_', ' ')} from archive entry '${entry.name}'`);
    await commands.add({
      command: row.command.replaceAll('_', ' '),
      version,
      certname,
      body: await entry.contents(max),
    });
  }
  if (versions === null) throw new BadArchive(`Unable to find export metadata file '${METADATA_NAME}' in archive`);
}

const outOfOrder = (name: string): string =>
  `The archive has '${name}' before its metadata file '${METADATA_NAME}', which must be the first: pack it again in that order`;

/** Names are only names here, but one that leaves its folder, and is of no node, was not written by an export. */
function checkName(name: string): void {
  if (name.startsWith('/') || name.includes('\0') || name.split('/').includes('..')) {
    throw new BadArchive(`The archive has an entry with the unsafe name '${name.replaceAll('\0', '\\0')}'`);
  }
}

function versionsOf(contents: Uint8Array): { readonly [command: string]: Json } {
  let metadata: Json;
  try {
    metadata = JSON.parse(sentText(contents)) as Json;
  } catch {
    throw new BadArchive(`The metadata file '${METADATA_NAME}' is not JSON`);
  }
  const versions = isJsonMap(metadata) ? metadata['command_versions'] : undefined;
  if (!isJsonMap(versions)) throw new BadArchive(`The metadata file '${METADATA_NAME}' has no command_versions`);
  return versions;
}

const isVersion = (version: Json): version is number =>
  typeof version === 'number' && Number.isInteger(version) && version > 0 && version <= VERSION_MAX;

interface ArchivedCommand extends Pick<Envelope, 'command' | 'version' | 'certname'> {
  readonly body: Uint8Array;
}

/** Submits commands in the order of the archive, some of them at a time. */
class CommandQueue {
  readonly #exchange: Exchange;
  readonly #deps: ImportDeps;
  readonly #pending = new Set<Promise<void>>();
  #pendingBytes = 0;
  #accepted = 0;
  #bytes = 0;
  #failure: unknown = null;

  constructor(exchange: Exchange, deps: ImportDeps) {
    this.#exchange = exchange;
    this.#deps = deps;
  }

  /** Commands that were queued so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Of the commands that were added so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves when there is room for the next one. Rejects once a command could not be submitted. */
  async add(command: ArchivedCommand): Promise<void> {
    const size = command.body.byteLength;
    this.#bytes += size;
    while (
      this.#pending.size >= PENDING_MAX ||
      (this.#pending.size > 0 && this.#pendingBytes + size > PENDING_BYTES_MAX)
    ) {
      await Promise.race(this.#pending);
    }
    if (this.#failure !== null) throw this.#failure;
    if (this.#exchange.aborted) throw new ClientGone();
    this.#pendingBytes += size;
    const submitted: Promise<void> = this.#submit(command)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#pendingBytes -= size;
        this.#pending.delete(submitted);
      });
    this.#pending.add(submitted);
  }

  /** Why a command could not be submitted; null: all could. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Resolves when what has been added is queued or has failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending);
  }

  async #submit({ command, version, certname, body }: ArchivedCommand): Promise<void> {
    const { ring, clock, uuid } = this.#deps;
    for (;;) {
      const envelope: Envelope = {
        uuid: uuid(),
        command,
        version,
        certname,
        received: clock(),
        producerTimestamp: null,
        gzip: false,
        size: null,
      };
      try {
        await ring.submit({ envelope, body }, false);
        this.#accepted++;
        return;
      } catch (error) {
        const waits = error instanceof SubmissionRefused && error.reason === 'full' && !this.#exchange.aborted;
        if (!waits) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.min(error.retryAfter, RETRY_SECONDS_MAX) * 1000));
      }
    }
  }
}
