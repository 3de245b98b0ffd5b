// A file (or standard error) that lines are appended to without waiting, which can be opened again after rotation, and whose
// troubles (full disk, gone reader) end the lines but never the server.

import { accessSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { destination } from 'pino';

/** Throws unless the file can be opened, without opening it: opening a pipe may take for ever. */
function requireOpenable(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new Error(`${file} is a directory`);
  accessSync(found === undefined ? dirname(file) : file, constants.W_OK);
}

const STDERR = 2;
const FILE_MODE = 0o600;
/** Lines of so many milliseconds, or bytes, go out together: a write takes more time than the line. */
const GATHER_MS = 20;
const GATHER_SIZE = 4096;
/** Bytes of lines that may wait for a disk that is full, or a reader that has stopped; those that come then are lost. */
const WAITING_MAX = 4 << 20;
/** How long the end waits for them. */
const END_MS = 1000;

export class LogSink {
  readonly #file: string | null;
  readonly #stream: ReturnType<typeof destination>;
  /** The last write failed. */
  #isFailing = false;
  /** The stream was given up, with what it had not written. */
  #isGivenUp = false;
  #isGathering = false;
  /** A flush is being waited for. The stream writes by itself when the file opens; told to flush then, it would write the same lines twice. */
  #isAwaited = false;
  /** Bytes that the stream has and the file has not. */
  #unwritten = 0;
  #lost = 0;

  /** `file` null: standard error. `onLost`: told how many lines were lost, once there is room again. Throws when the file cannot be opened. */
  constructor(file: string | null, onLost: (lines: number) => void) {
    this.#file = file;
    const stream = destination({
      // Left to open it by itself, later, the stream would write to no file where it could not.
      dest: file === null ? STDERR : openSync(file, 'a', FILE_MODE),
      sync: false,
      minLength: GATHER_SIZE,
      maxLength: WAITING_MAX,
      mode: FILE_MODE,
    });
    // What it opens again.
    this.#stream = Object.assign(stream, { file });
    this.#stream.on('error', () => {
      this.#isFailing = true;
    });
    this.#stream.on('ready', () => this.#flushRest());
    this.#stream.on('drain', () => {
      const lines = this.#lost;
      this.#lost = 0;
      if (lines > 0) onLost(lines);
      this.#flushRest();
    });
    this.#stream.on('drop', (line: string) => {
      this.#unwritten -= Buffer.byteLength(line);
      this.#lost++;
    });
    this.#stream.on('write', (bytes: number) => {
      if (bytes > 0) this.#isFailing = false;
      this.#unwritten = bytes === 0 ? 0 : Math.max(0, this.#unwritten - bytes);
    });
  }

  write(line: string): void {
    if (this.#isGivenUp) return;
    this.#unwritten += Buffer.byteLength(line);
    this.#stream.write(line);
    if (this.#isGathering) return;
    this.#isGathering = true;
    setTimeout(() => {
      this.#isGathering = false;
      if (!this.#isGivenUp) this.#stream.flush();
    }, GATHER_MS).unref();
  }

  /** Opens the file by its name again. Nothing to do for standard error. Throws when it cannot be opened; the one before goes on then. */
  reopen(): void {
    if (this.#file === null || this.#isGivenUp) return;
    // The stream would go on in the old file without a word.
    requireOpenable(this.#file);
    this.#stream.reopen();
  }

  /** Writes out what is buffered, as far as it can be written; nothing is written after that where it cannot. */
  async end(): Promise<void> {
    if (!this.#isFailing && !this.#isGivenUp && this.#unwritten > 0) {
      this.#isAwaited = true;
      const written = new Promise<boolean>((resolve) => this.#stream.flush(() => resolve(true)));
      // A reader that has stopped is no error to the stream: it tries again and again.
      if (!(await Promise.race([written, pause(END_MS, false, { ref: false })]))) this.#isFailing = true;
      this.#isAwaited = false;
    }
    this.#flushSync();
  }

  /** The stream does nothing about a flush while it is opening the file or writing, and says when it is done. */
  #flushRest(): void {
    if (this.#unwritten > 0 && !this.#isGathering && !this.#isGivenUp && !this.#isAwaited) this.#stream.flush();
  }

  #flushSync(): void {
    if (this.#isFailing) {
      // Asked to write at once, here or at the exit, it would try for ever, and nothing else would go on.
      this.#isGivenUp = true;
      this.#stream.destroy();
      return;
    }
    try {
      this.#stream.flushSync();
      this.#unwritten = 0;
    } catch {
      // Not open yet (it will be written by itself), or nobody is left to tell.
    }
  }
}
