// A file (or standard error) that lines are appended to without waiting, which can be opened again after rotation, and whose
// troubles (full disk, gone reader) end the lines but never the server.

import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { destination } from 'pino';

export interface LogSink {
  write(line: string): void;
  /** Opens the file by its name again. Nothing to do for standard error. Throws when it cannot be opened; the one before goes on then. */
  reopen(): void;
  /** Writes out what is buffered, as far as it can be written; nothing is written after that where it cannot. */
  end(): Promise<void>;
}

/** Without opening it, for which a pipe would keep everybody waiting. */
function requireOpenable(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new Error(`${file} is a directory`);
  accessSync(found === undefined ? dirname(file) : file, constants.W_OK);
}

const STDERR = 2;
const FILE_MODE = 0o640;
/** Lines of so many milliseconds, or bytes, go out together: a write takes more time than the line. */
const GATHER_MS = 20;
const GATHER_SIZE = 4096;
/** Bytes of lines that may wait for a disk that is full, or a reader that has stopped; those that come then are lost. */
const WAITING_MAX = 4 << 20;
/** How long the end waits for them. */
const END_MS = 1000;

/** `file` null: standard error. `onLost`: told how many lines were lost, once there is room again. Throws when the file cannot be opened. */
export function openSink(file: string | null, onLost: (lines: number) => void): LogSink {
  if (file !== null) closeSync(openSync(file, 'a', FILE_MODE));
  const stream = destination({
    dest: file ?? STDERR,
    sync: false,
    minLength: GATHER_SIZE,
    maxLength: WAITING_MAX,
    mode: FILE_MODE,
  });
  /** The last write failed. */
  let failing = false;
  /** The stream was given up, with what it had not written. */
  let givenUp = false;
  stream.on('error', () => {
    failing = true;
  });
  let gathering = false;
  /** Bytes that the stream has and the file has not. */
  let unwritten = 0;
  /** Waits for a flush: when the file is open then, the stream writes by itself, and asked once more it would write the same again. */
  let isAwaited = false;
  // The stream does nothing about a flush while it is opening the file or writing, and says when it is done.
  const flushRest = (): void => {
    if (unwritten > 0 && !gathering && !givenUp && !isAwaited) stream.flush();
  };
  let lost = 0;
  stream.on('ready', flushRest);
  stream.on('drain', () => {
    const lines = lost;
    lost = 0;
    if (lines > 0) onLost(lines);
    flushRest();
  });
  stream.on('drop', (line: string) => {
    unwritten -= Buffer.byteLength(line);
    lost++;
  });
  stream.on('write', (bytes: number) => {
    if (bytes > 0) failing = false;
    unwritten = bytes === 0 ? 0 : Math.max(0, unwritten - bytes);
  });
  /** What is left, synchronously. */
  const flush = (): void => {
    if (failing) {
      // Asked to write at once, here or at the exit, it would try for ever, and nothing else would go on.
      givenUp = true;
      stream.destroy();
      return;
    }
    try {
      stream.flushSync();
      unwritten = 0;
    } catch {
      // Not open yet (it will be written by itself), or nobody is left to tell.
    }
  };
  return {
    write: (line) => {
      if (givenUp) return;
      unwritten += Buffer.byteLength(line);
      stream.write(line);
      if (gathering) return;
      gathering = true;
      setTimeout(() => {
        gathering = false;
        if (!givenUp) stream.flush();
      }, GATHER_MS).unref();
    },
    reopen: () => {
      if (file === null || givenUp) return;
      // The stream would go on in the old file without a word.
      requireOpenable(file);
      stream.reopen();
    },
    end: async () => {
      if (!failing && !givenUp && unwritten > 0) {
        isAwaited = true;
        const written = new Promise<boolean>((resolve) => stream.flush(() => resolve(true)));
        // A reader that has stopped is no error to the stream: it tries again and again.
        if (!(await Promise.race([written, pause(END_MS, false, { ref: false })]))) failing = true;
        isAwaited = false;
      }
      flush();
    },
  };
}
