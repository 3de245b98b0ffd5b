// What the threads need of a logger. A pino logger is one.

/** A message, or what programs are to find in the line, and the message. */
type Write = (...line: [message: string] | [fields: object, message: string]) => void;

export interface Log {
  debug(message: string): void;
  readonly info: Write;
  readonly warn: Write;
  error(message: string): void;
  /** Asked before lines are put together that are written for every command. */
  isLevelEnabled(level: 'debug' | 'info'): boolean;
}

const nothing = (): void => {};

export const silentLog: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  isLevelEnabled: () => false,
};
