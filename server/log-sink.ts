// A file (or standard error) that lines are appended to without waiting, which can be opened again after rotation, and whose
// troubles (full disk, gone reader) end the lines but never the server.

import { closeSync, openSync } from 'node:fs';
import { destination } from 'pino';

export interface LogSink {
  write(line: string): void;
  /** Opens the file by its name again. Nothing to do for standard error. */
  reopen(): void;
  /** Writes out what is buffered, synchronously. */
  flush(): void;
}

const stderr = 2;
const fileMode = 0o640;

/** `file` null: standard error, where nothing is held back. Throws when the file cannot be opened. */
export function openSink(file: string | null): LogSink {
  if (file !== null) closeSync(openSync(file, 'a', fileMode));
  const stream =
    file === null
      ? destination({ dest: stderr, sync: false })
      : destination({ dest: file, sync: false, minLength: 4096, periodicFlush: 1000, mode: fileMode });
  stream.on('error', () => {});
  return {
    write: (line) => void stream.write(line),
    reopen: () => {
      if (file !== null) stream.reopen();
    },
    flush: () => {
      try {
        stream.flushSync();
      } catch {
        // Not open yet (it will be written by itself), or nobody is left to tell.
      }
    },
  };
}
