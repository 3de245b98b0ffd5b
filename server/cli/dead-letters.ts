// `muster dead-letters`: commands that were given up. They are files in the data directory, so this works with and without a server.

import { gunzipSync } from 'node:zlib';
import { certnameOf, type DeadLetter, DeadLetters } from '../../engine/inbox/dead-letters.ts';
import { discardedDir } from '../../engine/store/file/layout.ts';
import { printableLines } from '../printable.ts';
import type { ParsedArguments } from './arguments.ts';
import { type Client, clientOf, clientOptions } from './client.ts';
import { type CliCommand, CliFailure, type ExitStatus, exitStatus, type Terminal } from './command.ts';
import { dataOptions, existingDataPath, urlOfData } from './data-options.ts';
import { amount, startProgress } from './progress.ts';
import { tableLines, wantsTable } from './table.ts';

/** Largest letter that is unpacked to be shown or to find its certname. */
const UNPACKED_MAX = 268_435_456;

type Action = (letters: DeadLetters, args: ParsedArguments, terminal: Terminal) => Promise<ExitStatus>;

const actions: Readonly<Record<string, Action>> = { list, show, send, remove };

export const command: CliCommand = {
  name: 'dead-letters',
  usage: '[OPTIONS] [list | show NAME | send NAME ... | remove NAME ...]',
  options: {
    all: { type: 'switch', doc: 'send, remove: all letters.' },
    json: { type: 'switch', excludes: 'table', doc: 'list: JSON, also on a terminal.' },
    table: { type: 'switch', doc: 'list: a table, also in a pipe.' },
    cause: { type: 'switch', excludes: 'body', doc: 'show: only why it was given up.' },
    body: { type: 'switch', doc: 'show: only the command itself, unpacked.' },
    ...dataOptions,
    ...clientOptions,
  },
  positionals: { min: 0, max: 10_000 },
  details:
    'A command that cannot be processed is written to the dead letter office: DATA/discarded/<command>/, one file for ' +
    'the command as it was received and one that says why. Nothing else looks at them, and nothing removes them.\n\n' +
    '`send` submits letters to a running server again, for example after an upgrade that understands them, and removes ' +
    'each that the server has taken; one that fails again comes back under a new number. Without --url and $MUSTER_URL that is ' +
    'the server of the same configuration. A NAME is the file name or the number in front of it.\n\n' +
    '`show` ends with status 1 where the command cannot be unpacked, which may be why it was given up: the reason is shown before that. ' +
    'With --cause nothing is unpacked.',
  examples: [
    ['muster dead-letters --data /var/lib/muster', 'What is there.'],
    ['muster dead-letters show 4711', 'One letter, with the reason (the data directory from MUSTER_DATA).'],
    ['muster dead-letters send --all', 'Try all of them again.'],
    ['muster dead-letters remove 4711', 'Throw one away.'],
  ],
  run: (args, terminal) => {
    const [name = 'list', ...rest] = args.positionals;
    const action = Object.hasOwn(actions, name) ? actions[name]! : undefined;
    if (action === undefined) {
      throw new CliFailure(exitStatus.usage, `\`${name}\` is none of ${Object.keys(actions).join(', ')}`);
    }
    const letters = new DeadLetters(discardedDir(existingDataPath(args, terminal)));
    return action(letters, { ...args, positionals: rest }, terminal);
  },
};

async function list(letters: DeadLetters, args: ParsedArguments, terminal: Terminal): Promise<ExitStatus> {
  const [surplus] = args.positionals;
  if (surplus !== undefined) throw new CliFailure(exitStatus.usage, `list: unexpected argument \`${surplus}\``);
  const rows = (await letters.list()).map((letter) => ({
    number: String(letter.seq),
    command: letter.command,
    version: letter.version,
    certname: letter.certname ?? letter.certId,
    received: new Date(letter.received).toISOString(),
    discarded: new Date(letter.discarded).toISOString(),
    size: letter.size,
    name: letter.name,
  }));
  if (!wantsTable(args, terminal)) {
    terminal.out(`${JSON.stringify(rows, null, 2)}\n`);
    return exitStatus.ok;
  }
  const shown = rows.map(({ name: _name, discarded: _discarded, ...row }) => row);
  for (const line of tableLines(shown, terminal.columns)) terminal.out(`${line}\n`);
  const size = rows.reduce((sum, row) => sum + row.size, 0);
  const count = rows.length === 1 ? '1 dead letter' : `${rows.length} dead letters`;
  terminal.err(rows.length === 0 ? 'no dead letters\n' : `${count}, ${amount(size, 'bytes')}\n`);
  return exitStatus.ok;
}

async function show(letters: DeadLetters, args: ParsedArguments, terminal: Terminal): Promise<ExitStatus> {
  const [letter] = await chosen(letters, args, 1);
  const { cause, body } = args.options;
  // On a terminal nothing that a client sent may act on it.
  const out = (text: string): void => terminal.out(terminal.outIsTerminal ? printableLines(text) : text);
  if (body !== 'true') {
    if (cause !== 'true') out(`${letter!.path}\n\n`);
    out(`${(await letters.cause(letter!)).trimEnd()}\n`);
  }
  if (cause === 'true') return exitStatus.ok;
  const bytes = unpacked(letter!, await letters.body(letter!));
  if (body !== 'true') out('\n');
  // In a pipe the bytes count: a command may have been given up because they are no text.
  if (terminal.outIsTerminal) out(bytes.toString('utf8'));
  else terminal.outStream.write(bytes);
  out('\n');
  return exitStatus.ok;
}

function unpacked(letter: DeadLetter, bytes: Buffer): Buffer {
  if (!letter.gzip) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: UNPACKED_MAX });
  } catch (error) {
    throw new CliFailure(exitStatus.failed, `${letter.name} cannot be unpacked: ${(error as Error).message}`);
  }
}

async function send(letters: DeadLetters, args: ParsedArguments, terminal: Terminal): Promise<ExitStatus> {
  const client = clientOf(args, terminal, urlOfData(args, terminal));
  const wanted = await chosen(letters, args, Number.POSITIVE_INFINITY);
  const progress = startProgress(terminal, { label: 'send', total: wanted.length, unit: 'letters' });
  let failed = 0;
  for (const [index, letter] of wanted.entries()) {
    const problem = await sendOne(client, letters, letter);
    if (problem !== null) {
      failed += 1;
      progress.finish(`${letter.name}: ${problem}`);
      if (!terminal.errIsTerminal) terminal.err(`${letter.name}: ${problem}\n`);
    }
    progress.update(index + 1);
  }
  progress.finish();
  terminal.out(`${wanted.length - failed} sent${failed > 0 ? `, ${failed} not` : ''}\n`);
  return failed > 0 ? exitStatus.failed : exitStatus.ok;
}

/** null: the server has it, and the letter is gone. */
async function sendOne(client: Client, letters: DeadLetters, letter: DeadLetter): Promise<string | null> {
  const body = await letters.body(letter);
  const certname = certnameOf(letter, body, UNPACKED_MAX);
  if (certname === null) return 'its certname cannot be told';
  const query = new URLSearchParams({
    command: letter.command.replaceAll(' ', '_'),
    version: String(letter.version),
    certname,
    ...(letter.producerTimestamp === null
      ? {}
      : { 'producer-timestamp': new Date(letter.producerTimestamp).toISOString() }),
  });
  try {
    await client.askText({
      method: 'POST',
      path: `/pdb/cmd/v1?${query}`,
      headers: { 'content-type': 'application/json', ...(letter.gzip ? { 'content-encoding': 'gzip' } : {}) },
      body,
    });
  } catch (error) {
    if (!(error instanceof CliFailure) || error.status === exitStatus.unreachable) throw error;
    return error.message;
  }
  await letters.remove(letter);
  return null;
}

async function remove(letters: DeadLetters, args: ParsedArguments, terminal: Terminal): Promise<ExitStatus> {
  const wanted = await chosen(letters, args, Number.POSITIVE_INFINITY);
  for (const letter of wanted) await letters.remove(letter);
  terminal.out(`${wanted.length} removed\n`);
  return exitStatus.ok;
}

/** The letters that are named, or all with --all. Throws CliFailure for a name that nothing has. */
async function chosen(letters: DeadLetters, args: ParsedArguments, max: number): Promise<DeadLetter[]> {
  const names = args.positionals;
  const isAll = args.options['all'] === 'true';
  if (isAll && max > 1 && names.length === 0) return letters.list();
  if (names.length === 0 || names.length > max || isAll) {
    throw new CliFailure(exitStatus.usage, max === 1 ? 'give one NAME' : 'give NAMEs, or --all alone');
  }
  const found = new Map<string, DeadLetter>();
  for (const [index, letter] of (await letters.find(names)).entries()) {
    if (letter === null) throw new CliFailure(exitStatus.usage, `there is no dead letter \`${names[index]}\``);
    // Named twice, by its number and its file name perhaps, it is one.
    found.set(letter.path, letter);
  }
  return [...found.values()];
}
