// What the inbox tests share: envelopes, and a file system whose operations fail on demand.

import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { getSystemErrorName } from 'node:util';
import type { Envelope } from '../../../engine/inbox/envelope.ts';
import { diskFiles, type LogFile, type LogFileSystem } from '../../../engine/inbox/files.ts';
import { type CommandLog, type LogOptions, openLog } from '../../../engine/inbox/log.ts';
import { BodyReader } from '../../../engine/inbox/stored-body.ts';
import type { StreamRecord } from '../../../engine/inbox/stream.ts';
import { temporaryDirectory } from '../../support/directories.ts';

let random = 12345;
export const nextRandom = (): number => (random = (Math.imul(random, 1664525) + 1013904223) >>> 0);

export function envelope(certname: string, rest: Partial<Envelope> = {}): Envelope {
  return {
    uuid: `00000000-0000-4000-8000-${certname.slice(0, 12).padStart(12, '0')}`,
    command: 'replace facts',
    version: 5,
    certname,
    received: 1_700_000_000_000,
    producerTimestamp: null,
    gzip: false,
    size: null,
    ...rest,
  };
}

export const body = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

export function openTestLog(dir: string, rest: Partial<LogOptions> = {}): Promise<CommandLog> {
  return openLog({ dir, seqAfter: 0, random: nextRandom, ...rest });
}

/** The body of a record as text. Throws Unreadable. */
export const bodyText = (log: CommandLog, record: StreamRecord): string =>
  Buffer.from(new BodyReader().read([log.locate(record)])[0]!).toString();

/** Everything a freshly opened log delivers. */
export function delivered(log: CommandLog): StreamRecord[] {
  const records: StreamRecord[] = [];
  log.subscribe((record) => records.push(record));
  return records;
}

/** A copy of the folder, in which nothing came or went meanwhile. */
export async function copyAtRest(dir: string): Promise<string> {
  const names = (): string => readdirSync(dir).join();
  for (;;) {
    const before = names();
    const copy = temporaryDirectory();
    try {
      cpSync(dir, copy, { recursive: true });
      await sleep(10);
      if (names() === before) return copy;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOENT');
    }
  }
}

export type FileOperation = 'open' | 'writev' | 'datasync' | 'truncate' | 'remove' | 'rename' | 'syncDirectory';

/** The disk, with operations that fail while their name is in `failing`; `calls` counts what was tried. */
export interface FaultyFiles extends LogFileSystem {
  readonly failing: Map<FileOperation, string>;
  readonly calls: Map<FileOperation, number>;
  /** Writes end after this many bytes, with success, as the system may do at any time. */
  shortWrite: number;
}

/** As Node makes it, which does not know all of the system's errors. */
function systemError(name: string, syscall: string): Error {
  const errno = -constants.errno[name as keyof typeof constants.errno];
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`${code}: injected, ${syscall}`), { code, errno, syscall });
}

export function faultyFiles(): FaultyFiles {
  const failing = new Map<FileOperation, string>();
  const calls = new Map<FileOperation, number>();
  const pass = (operation: FileOperation): void => {
    calls.set(operation, (calls.get(operation) ?? 0) + 1);
    const code = failing.get(operation);
    if (code !== undefined) throw systemError(code, operation);
  };
  const files: FaultyFiles = {
    ...diskFiles,
    failing,
    calls,
    shortWrite: Number.POSITIVE_INFINITY,
    async open(path, flags) {
      if (flags === 'wx+') pass('open');
      const file = await diskFiles.open(path, flags);
      const wrapped: Record<string, unknown> = { fd: file.fd };
      for (const name of ['read', 'stat', 'close'] as const) wrapped[name] = file[name].bind(file);
      wrapped['writev'] = async (buffers: Uint8Array[], position: number) => {
        if (files.shortWrite < Number.POSITIVE_INFINITY) {
          const [first] = buffers;
          return file.writev([first!.subarray(0, Math.max(1, files.shortWrite))], position);
        }
        if (failing.has('writev')) await file.writev([buffers[0]!.subarray(0, 10)], position);
        pass('writev');
        return file.writev(buffers, position);
      };
      for (const name of ['datasync', 'truncate'] as const) {
        wrapped[name] = async (...parameters: never[]) => {
          pass(name);
          return (file[name] as (...parameters: never[]) => Promise<void>).call(file, ...parameters);
        };
      }
      return wrapped as unknown as LogFile;
    },
    async remove(path) {
      pass('remove');
      await diskFiles.remove(path);
    },
    async rename(from, to) {
      pass('rename');
      await diskFiles.rename(from, to);
    },
    async syncDirectory(path) {
      pass('syncDirectory');
      await diskFiles.syncDirectory(path);
    },
  };
  return files;
}
