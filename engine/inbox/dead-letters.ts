// The dead letter office: commands that were given up, one pair of files each, for people to read, send again or throw
// away. Nothing reads them by itself and nothing expires them.
//
//   discarded/<command with underscores>/<name>             the body, exactly as received
//                                       /<name>_err.txt     why, newest attempt first
//
// A letter is complete before anybody can see it (temporary file, sync, rename), the cause last; writing one again replaces
// it with the same content, so an interrupted discard is simply repeated.

import type { Dirent } from 'node:fs';
import { open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isGone, naming } from '../reason.ts';
import {
  type CommandFile,
  causeFileName,
  commandFileName,
  isCauseFileName,
  parseCommandFileName,
} from './command-file.ts';
import type { Envelope } from './envelope.ts';
import { diskFiles } from './files.ts';

export interface Attempt {
  /** Epoch ms. */
  readonly time: number;
  /** One line for expected failures; message and stack trace for others. */
  readonly text: string;
}

export interface DiscardedCommand {
  readonly seq: number;
  readonly envelope: Envelope;
  readonly body: Uint8Array;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
}

export interface DeadLetter extends CommandFile {
  /** File name below the command's folder; unique among all letters of the store. */
  readonly name: string;
  readonly path: string;
  readonly causePath: string;
  /** Bytes of the body as stored. */
  readonly size: number;
  /** Epoch ms of when it was given up. */
  readonly discarded: number;
}

export interface DeadLetterCount {
  messages: number;
  /** Bytes of bodies as stored. */
  filesize: number;
}

const TEMPORARY = '.tmp-';
/** File systems tell the times of changes in steps of this many milliseconds at most. */
const TIME_STEP_MS = 2000;

/** Whether a file is one that is being written: it gets its name when it is complete. */
export const isUnfinished = (name: string): boolean => name.startsWith(TEMPORARY);

const folderOf = (command: string): string => command.replace(/[^A-Za-z0-9-]/g, '_');

/** `Attempt <n> @ <time>` and its text for each, newest first, an empty line between. */
export function causeText(attempts: readonly Attempt[]): string {
  const parts: string[] = [];
  for (let i = attempts.length - 1; i >= 0; i--) {
    const { time, text } = attempts[i]!;
    parts.push(`Attempt ${i + 1} @ ${new Date(time).toISOString()}\n${text}\n`);
  }
  return parts.join('\n');
}

export class DeadLetters {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Creates the directory and removes what an interrupted write left. Only for the process that owns the data directory. */
  async open(): Promise<void> {
    await diskFiles.makeDirectory(this.dir);
    for (const folder of await this.#folders()) {
      for (const name of await readdir(join(this.dir, folder))) {
        if (isUnfinished(name)) await unlink(join(this.dir, folder, name));
      }
    }
  }

  /** Messages and bytes by command name with spaces. */
  async count(): Promise<Map<string, DeadLetterCount>> {
    const counts = new Map<string, DeadLetterCount>();
    for (const letter of await this.list()) {
      const count = counts.get(letter.command) ?? { messages: 0, filesize: 0 };
      count.messages++;
      count.filesize += letter.size;
      counts.set(letter.command, count);
    }
    return counts;
  }

  /**
   * Tells whether letters have come or gone: none has while the text is the same. `now`: epoch ms. null: something has changed so lately that
   * a further change might get the same time.
   */
  async state(now: number): Promise<string | null> {
    const times = [];
    for (const folder of ['', ...(await this.#folders())]) {
      const found = await stat(join(this.dir, folder)).catch(() => null);
      times.push(`${folder} ${found?.mtimeMs}`);
      if (found !== null && now - found.mtimeMs < TIME_STEP_MS) return null;
    }
    return times.join('\n');
  }

  /** All letters, oldest command first. */
  async list(): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = [];
    for (const folder of await this.#folders()) {
      for (const name of await readdir(join(this.dir, folder))) {
        const letter = await this.#letter(folder, name);
        if (letter !== null) letters.push(letter);
      }
    }
    return letters.sort((a, b) => a.seq - b.seq || a.received - b.received);
  }

  /** For each file name or seq the letter that has it, null where there is none. The directory is read once for all. */
  async find(namesOrSeqs: readonly string[]): Promise<(DeadLetter | null)[]> {
    const known = new Map<string, DeadLetter>();
    for (const letter of await this.list()) {
      for (const name of [letter.name, String(letter.seq)]) if (!known.has(name)) known.set(name, letter);
    }
    return namesOrSeqs.map((name) => known.get(name) ?? null);
  }

  /** Why it was given up, as written by `put`. Empty when the cause file is gone. */
  async cause(letter: DeadLetter): Promise<string> {
    try {
      return await naming(letter.causePath, () => readFile(letter.causePath, 'utf8'));
    } catch (error) {
      if (isGone(error)) return '';
      throw error;
    }
  }

  /** The body, exactly as received. */
  body(letter: DeadLetter): Promise<Buffer> {
    return naming(letter.path, () => readFile(letter.path));
  }

  /** Writes the letters; resolves when all of them are durable, with what each adds: nothing when it was there already. */
  async put(letters: readonly DiscardedCommand[]): Promise<DeadLetterCount[]> {
    const folders = new Set<string>();
    const added: DeadLetterCount[] = [];
    for (const letter of letters) {
      const folder = join(this.dir, folderOf(letter.envelope.command));
      if (!folders.has(folder)) {
        await diskFiles.makeDirectory(folder);
        folders.add(folder);
      }
      const name = commandFileName(letter.seq, letter.envelope);
      const cause = Buffer.from(causeText(letter.attempts), 'utf8');
      const before = await this.#letter(folderOf(letter.envelope.command), name);
      await replaceFile(folder, name, letter.seq, letter.body);
      await replaceFile(folder, causeFileName(name), letter.seq, cause);
      added.push({ messages: before === null ? 1 : 0, filesize: letter.body.length - (before?.size ?? 0) });
    }
    for (const folder of folders) await diskFiles.syncDirectory(folder);
    if (folders.size > 0) await diskFiles.syncDirectory(this.dir);
    return added;
  }

  /** Throws the letter away. */
  async remove(letter: DeadLetter): Promise<void> {
    await unlink(letter.path);
    await unlink(letter.causePath).catch(() => {});
  }

  async #folders(): Promise<string[]> {
    let entries: Dirent[];
    try {
      entries = await readdir(this.dir, { withFileTypes: true });
    } catch (error) {
      if (isGone(error)) return [];
      throw error;
    }
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  }

  async #letter(folder: string, name: string): Promise<DeadLetter | null> {
    if (isUnfinished(name) || isCauseFileName(name)) return null;
    const file = parseCommandFileName(name);
    if (file === null) return null;
    const path = join(this.dir, folder, name);
    const causePath = join(this.dir, folder, causeFileName(name));
    try {
      const { size, mtimeMs } = await stat(path);
      return { ...file, name, path, causePath, size, discarded: Math.round(mtimeMs) };
    } catch (error) {
      // Removed meanwhile.
      if (isGone(error)) return null;
      throw error;
    }
  }
}

/**
 * The certname to send a letter again under: from its name, or, where the name only has a stand-in, from the payload.
 * null when neither tells. The payload may be anything; at most `sizeMax` bytes of it are decompressed.
 */
export function certnameOf(letter: CommandFile, body: Uint8Array, sizeMax: number): string | null {
  if (letter.certname !== null) return letter.certname;
  try {
    const text = letter.gzip ? gunzipSync(body, { maxOutputLength: sizeMax }) : Buffer.from(body);
    const payload: unknown = JSON.parse(text.toString('utf8'));
    if (typeof payload !== 'object' || payload === null) return null;
    const certname = (payload as Record<string, unknown>)['certname'];
    return typeof certname === 'string' ? certname : null;
  } catch {
    return null;
  }
}

async function replaceFile(folder: string, name: string, seq: number, content: Uint8Array): Promise<void> {
  const temporary = join(folder, `${TEMPORARY}${seq}`);
  const file = await open(temporary, 'w', 0o600);
  try {
    await naming(temporary, () => file.writeFile(content));
    await naming(temporary, () => file.datasync());
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}
