// The log: pino, one child logger per area, JSON or readable lines, to standard error or a file. Levels can be changed
// while running (SIGHUP reads them again). Lines go out asynchronously except for the last ones: `end` before exit.
//
// Nothing secret is logged: no setting is secret, request bodies and keys are never given to a logger, and `redact` below
// catches what slips into fields by name.

import { type DestinationStream, type Level, type Logger, pino } from 'pino';
import { LogSink } from './log-sink.ts';
import { printable } from './printable.ts';

export const LOG_AREAS = ['main', 'http', 'query', 'command', 'store', 'maintenance', 'tls'] as const;
export type LogArea = (typeof LOG_AREAS)[number];
export type LogLevel = Level | 'silent';

export type { Logger };

export interface LogLevels {
  readonly level: LogLevel;
  /** Areas whose level differs. */
  readonly areas: Readonly<Partial<Record<LogArea, LogLevel>>>;
}

export interface LogOptions extends LogLevels {
  readonly format: 'auto' | 'json' | 'readable';
  /** File to append to; null: standard error. */
  readonly file: string | null;
}

export interface Logs {
  /** The logger of an area: the same object every time, so that a change of level reaches everyone who holds it. */
  area(name: LogArea): Logger;
  setLevels(levels: LogLevels): void;
  /** Opens the log file again, after rotation. Nothing to do for standard error. */
  reopen(): void;
  /** Writes out what is buffered, as far as it can be written. */
  end(): Promise<void>;
}

const REDACTED = ['password', 'privateKey', 'authorization', 'cookie', 'token', '*.password', '*.privateKey'];

/**
 * Opens the log. Throws when the file cannot be opened.
 *
 * A readable log is for people at a terminal: each line is printed with its fields behind the message.
 */
export function createLogs(options: LogOptions): Logs {
  const isTerminal = options.file === null && process.stderr.isTTY === true;
  const readable = options.format === 'readable' || (options.format === 'auto' && isTerminal);
  const sink = new LogSink(options.file, (lines) =>
    logs.area('main').warn(`${lines} lines of the log were lost, there was no room for them`),
  );
  const shaped = readable ? (line: string) => readableLine(line, isTerminal) : jsonLine;
  const stream: DestinationStream = { write: (line: string) => void sink.write(shaped(line)) };
  const root = pino(
    {
      level: 'trace',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: writtenError },
      redact: { paths: REDACTED, censor: '[hidden]' },
    },
    stream,
  );
  const loggers = Object.fromEntries(LOG_AREAS.map((area) => [area, root.child({ area })])) as Record<LogArea, Logger>;

  const logs: Logs = {
    area: (name) => loggers[name],
    setLevels: (levels) => {
      for (const area of LOG_AREAS) loggers[area].level = levels.areas[area] ?? levels.level;
    },
    reopen: () => sink.reopen(),
    end: () => sink.end(),
  };
  logs.setLevels(options);
  return logs;
}

/** With its own message alone: pino appends those of the causes, which the stack has anyway. */
function writtenError(error: Error): object {
  const written = pino.stdSerializers.err(error);
  return error instanceof Error ? { ...written, message: error.message } : written;
}

const colours: Readonly<Record<string, string>> = {
  trace: '\x1b[2m',
  debug: '\x1b[2m',
  info: '\x1b[32m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
  fatal: '\x1b[41m',
};
/** Fields that do not follow the message: they stand elsewhere in the line, or, as `command`, in the message. */
const SHOWN = new Set(['level', 'time', 'area', 'msg', 'err', 'command']);

/** With control characters escaped: the JSON means the same, and does nothing to a terminal on which the file is shown. */
export const jsonLine = (line: string): string => (PLAIN.test(line) ? line : `${printable(line.slice(0, -1))}\n`);
/** Nothing but ASCII, as most lines are. */
const PLAIN = /^[ -~]*\n$/;

/**
 * `2026-11-21T00:22:50.948Z INFO  [command] message name=value`, then a stack trace where there is one, each line of it
 * indented. Whatever clients call their nodes, an entry cannot look like two, nor do anything to a terminal.
 */
export function readableLine(json: string, coloured: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(json) as Record<string, unknown>;
  } catch {
    return json;
  }
  const level = String(entry['level']);
  const label = level.toUpperCase().padEnd(5);
  const colour = coloured ? (colours[level] ?? '') : '';
  let line = `${entry['time']} ${colour}${label}${colour === '' ? '' : '\x1b[0m'} [${entry['area'] ?? 'main'}] ${printable(String(entry['msg'] ?? ''))}`;
  for (const name of Object.keys(entry)) {
    if (SHOWN.has(name)) continue;
    const value = entry[name];
    const isPlain = typeof value === 'string' && !/[\s"=]/.test(value);
    line += ` ${printable(`${name}=${isPlain ? value : JSON.stringify(value)}`)}`;
  }
  const error = entry['err'] as { stack?: string; message?: string } | undefined;
  if (error !== undefined) {
    const stack = String(error.stack ?? error.message ?? error).split('\n');
    line += stack.map((part) => `\n    ${printable(part)}`).join('');
  }
  return `${line}\n`;
}
