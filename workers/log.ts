// What the threads need of a logger. A pino logger is one.

export interface Log {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
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
