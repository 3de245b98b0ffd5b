// `muster import`: an archive, or straight from another server, into a running one; then waits until all is stored.

import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../engine/reason.ts';
import { archiveRows, COUNT_HEADER, ROOT_FOLDER } from '../ops/archive/wire.ts';
import { type Client, chunksOf, clientOf, clientOptions, Refusal, readText } from './client.ts';
import { type CliCommand, CliFailure, type ExitStatus, exitStatus, type Terminal } from './command.ts';
import { amount, startProgress } from './progress.ts';
import { QueueFigures } from './queue-figures.ts';

const POLL_MS = 250;
/** When the connection breaks after so many seconds without a byte of the archive, its source is named, not the server. */
const SILENT_TOLD_S = 20;

export const command: CliCommand = {
  name: 'import',
  usage: '[OPTIONS] FILE|-  |  [OPTIONS] --from URL',
  options: {
    from: { type: 'text', value: 'URL', doc: 'The server (PuppetDB or Muster) to read everything from.' },
    'no-wait': { type: 'switch', doc: 'Do not wait until all is stored.' },
    ...clientOptions,
  },
  positionals: { min: 0, max: 1 },
  details:
    'Loads an archive made by `muster export` or `puppet db export` into a running server, or, with --from, exports ' +
    'from another server and loads that, without a file in between. What is there already stays when it is newer; so an ' +
    'import can be repeated. Status 1 when commands became dead letters meanwhile. The file - stands for standard input.\n\n' +
    'Migration from PuppetDB: start Muster beside it, run `muster import --from http://old:8080`, point Puppet Server at ' +
    'Muster, and run the import once more for what came in between. Archives hold active nodes only.',
  examples: [
    ['muster import all.tgz', 'Into the local server.'],
    ['ssh old muster export - | muster import -', 'From another machine, without a file.'],
    ['muster import --from http://puppetdb.example.com:8080', 'Everything from a running PuppetDB.'],
  ],
  run: async (args, terminal) => {
    const client = clientOf(args, terminal);
    const { from } = args.options;
    const [file] = args.positionals;
    if ((file === undefined) === (from === undefined)) {
      throw new CliFailure(exitStatus.usage, 'give either a file or --from URL');
    }
    const source =
      from === undefined ? await openFile(file!, terminal) : await openServer(from, args.options, terminal);
    if (args.options['no-wait'] === 'true') {
      await upload(client, source, terminal);
      return exitStatus.ok;
    }
    const figures = new QueueFigures(client);
    const discardedBefore = await figures.discarded();
    await upload(client, source, terminal);
    const retrying = await untilStored(figures, terminal);
    const discardedAfter = await figures.discarded();
    const discarded = discardedBefore === null || discardedAfter === null ? null : discardedAfter - discardedBefore;
    return tellStored(retrying, discarded, terminal);
  },
};

interface Source {
  readonly stream: Readable;
  /** Bytes; null: not known. */
  readonly size: number | null;
}

async function openFile(file: string, terminal: Terminal): Promise<Source> {
  if (file === '-') {
    if (terminal.inIsTerminal) throw new CliFailure(exitStatus.usage, 'there is no archive on standard input');
    return { stream: terminal.inStream, size: null };
  }
  try {
    const handle = await open(file);
    const found = await handle.stat();
    if (found.isDirectory()) {
      await handle.close();
      throw new Error('this is a directory, an archive is one file');
    }
    // A pipe tells no size.
    return { stream: handle.createReadStream(), size: found.isFile() ? found.size : null };
  } catch (error) {
    throw new CliFailure(exitStatus.usage, `${file}: ${reasonOf(error)}`);
  }
}

/** Certificates are for both servers: a migration takes place below one authority. */
async function openServer(url: string, options: Readonly<Record<string, string>>, terminal: Terminal): Promise<Source> {
  const old = clientOf({ options: { ...options, url }, positionals: [], problems: [] }, terminal);
  try {
    const stream = await old.ask({ method: 'GET', path: '/pdb/admin/v1/archive', headers: { accept: '*/*' } });
    return { stream, size: null };
  } catch (error) {
    // The other one is asked for the same path.
    if (error instanceof Refusal) throw new CliFailure(error.status, `${old.url.origin}${error.message}`);
    throw error;
  }
}

async function upload(client: Client, source: Source, terminal: Terminal): Promise<void> {
  const progress = startProgress(terminal, { label: 'import', total: source.size, unit: 'bytes' });
  const boundary = `muster-${randomUUID()}`;
  let size = 0;
  /** Why the archive could not be read to its end; the server only sees that it breaks off. */
  let broken: Error | null = null;
  /** Since when the archive is waited for, on the clock of `performance`; null: what it gave is being sent. */
  let silentSince: number | null = null;
  async function* multipart() {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="archive"; filename="archive.tgz"\r\n` +
        'Content-Type: application/octet-stream\r\n\r\n',
    );
    source.stream.once('error', (error: Error) => {
      broken = error;
    });
    silentSince = performance.now();
    for await (const chunk of source.stream) {
      silentSince = null;
      size += (chunk as Buffer).length;
      progress.update(size);
      yield chunk as Buffer;
      silentSince = performance.now();
    }
    silentSince = null;
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  let commands: number | null;
  try {
    const answer = await client.ask({
      method: 'POST',
      path: '/pdb/admin/v1/archive',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: Readable.from(multipart()),
    });
    const count = answer.headers[COUNT_HEADER.toLowerCase()];
    commands = count === undefined ? null : Number(count);
    await readText(chunksOf(answer));
  } catch (error) {
    if (broken !== null) {
      throw new CliFailure(exitStatus.failed, `the archive cannot be read to its end: ${reasonOf(broken)}`);
    }
    const silent = silentSince === null ? 0 : Math.round((performance.now() - silentSince) / 1000);
    if (silent < SILENT_TOLD_S) throw error;
    const told = error instanceof CliFailure ? error.message : reasonOf(error);
    throw new CliFailure(exitStatus.failed, `nothing of the archive came for ${silent} s; then: ${told}`);
  } finally {
    progress.finish();
    source.stream.destroy();
  }
  if (commands === 0) {
    const folders = archiveRows.map(({ kind }) => kind).join(', ');
    const missing = `it has no file of a node below ${ROOT_FOLDER}/ (in ${folders})`;
    // The most frequent reason by far: it leaves nothing in PuppetDB's answer nor in its log.
    const hint = 'A PuppetDB that has deactivated nodes exports nothing until these are deleted, see docs/migrate.md';
    throw new CliFailure(exitStatus.failed, `the archive holds nothing to import: ${missing}.\n${hint}`);
  }
  terminal.out(`imported ${amount(size, 'bytes')}${commands === null ? '' : `, ${commands} commands`}\n`);
}

/**
 * The server has queued everything; it is stored once as many commands have left the queue as are in it now. Others may keep coming, and
 * what failed and is to be tried again in an hour is not waited for. Returns how many of those there are, null where it is not known.
 */
async function untilStored(figures: QueueFigures, terminal: Terminal): Promise<number | null> {
  let queue = await figures.queue();
  let { waiting: total, entered } = queue;
  if (total > 0) {
    const progress = startProgress(terminal, { label: 'store', total, unit: 'commands' });
    for (;;) {
      // Where the server could not tell at first how many came, they are counted from here on.
      if (entered === null) ({ waiting: total, entered } = queue);
      const left = entered === null || queue.entered === null ? 0 : total + queue.entered - entered - queue.waiting;
      if (queue.waiting === 0 || left >= total) break;
      progress.update(left);
      await sleep(POLL_MS);
      queue = await figures.queue();
    }
    progress.finish();
  }
  return queue.retrying;
}

/**
 * `retrying`, `discarded`: commands that failed, and became dead letters, meanwhile; null where it is not known. Which of them were in the
 * archive nobody counts: others may send commands, too.
 */
function tellStored(retrying: number | null, discarded: number | null, terminal: Terminal): ExitStatus {
  const untold = [
    ...(retrying === null ? ['failed and will be tried again'] : []),
    ...(discarded === null ? ['became dead letters'] : []),
  ];
  const but = untold.length === 0 ? '' : `; whether any ${untold.join(', or ')}, the server does not tell`;
  terminal.out(`all commands are stored${but}\n`);
  if (retrying !== null && retrying > 0) {
    terminal.err(`but for ${retrying} in the queue that failed and will be tried again\n`);
  }
  if (discarded === null || discarded <= 0) return exitStatus.ok;
  const they = discarded === 1 ? '1 that became a dead letter' : `${discarded} that became dead letters`;
  terminal.err(`but for ${they} meanwhile: see \`muster dead-letters\`\n`);
  return exitStatus.failed;
}
