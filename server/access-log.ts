// The access log: one line a request in the form of PuppetDB's own (remote host, time, request line, status, bytes,
// referer, user agent, milliseconds, declared length), so that what reads those files reads these.

import { reasonOf } from '../engine/reason.ts';
import type { RequestRecord } from './http/exchange.ts';
import type { Logger } from './log.ts';
import { LogSink } from './log-sink.ts';
import { printable } from './printable.ts';

export interface AccessLog {
  write(record: RequestRecord): void;
  /** Opens the file again, after rotation. */
  reopen(): void;
  /** Writes out what is buffered, as far as it can be written. */
  end(): Promise<void>;
}

/** Throws when the file cannot be opened. `log` is told of lines that were lost. */
export function createAccessLog(file: string, log: Logger): AccessLog {
  const sink = opened(file, (lines) =>
    log.warn(`${lines} lines of the access log were lost, there was no room for them`),
  );
  return { write: (record) => sink.write(accessLine(record)), reopen: () => sink.reopen(), end: () => sink.end() };
}

function opened(file: string, onLost: (lines: number) => void): LogSink {
  try {
    return new LogSink(file, onLost);
  } catch (error) {
    throw new Error(`the access log ${file} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

export function accessLine(record: RequestRecord): string {
  const target = record.queryString === '' ? record.path : `${record.path}?${record.queryString}`;
  return (
    `${record.remoteAddress || '-'} - ${record.clientName === null ? '-' : quoted(record.clientName)} [${time(record.started)}] ` +
    `"${quoted(`${record.method} ${target} HTTP/1.1`)}" ${record.status === 0 ? '-' : record.status} ${record.bytes} ` +
    `"${quoted(record.referer) || '-'}" "${quoted(record.userAgent) || '-'}" ${Math.round(record.elapsedMs)} ` +
    `${length(record.uncompressedLength)}\n`
  );
}

/** What clients send must not end a field or a line, nor do anything to a terminal. */
function quoted(text: string): string {
  const plain = text.replace(/["\\\x00-\x1f\x7f-\x9f]/g, (char) => {
    return char === '"' || char === '\\' ? `\\${char}` : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return printable(plain);
}

/** A number, as it should be; anything else stays one field. */
const length = (text: string): string => (/^\d+$/.test(text) ? text : text === '' ? '-' : `"${quoted(text)}"`);

/** `21/Nov/2026:00:23:23 +0000`, always in UTC. */
function time(ms: number): string {
  const iso = new Date(ms).toISOString();
  return `${iso.slice(8, 10)}/${MONTHS[Number(iso.slice(5, 7)) - 1]}/${iso.slice(0, 4)}:${iso.slice(11, 19)} +0000`;
}
