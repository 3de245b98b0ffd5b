// What went wrong, for people.

import { constants } from 'node:os';

/** The message of what was thrown, which may be anything. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Whether the system says that there is no such file. */
export const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Of the operating system's errors the words alone, without code, call and path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !error.message.startsWith(`${code}: `)) return error.message;
  return error.message.slice(code.length + 2).replace(/, [a-z]+(?: '.*)?$/s, '');
}

/** The same behind the file that it is about, or the two of a copy, where the system tells of them: of a copy it does not say which. */
export function fileAndReason(error: unknown): string {
  const { path, dest } = (error ?? {}) as NodeJS.ErrnoException & { readonly dest?: string };
  const files = dest === undefined ? path : `${path} to ${dest}`;
  return files === undefined ? reasonOf(error) : `${files}: ${reasonOf(error)}`;
}

/** Whether it is the operating system that says what went wrong. */
export const isOfSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;

/** Errors of the system that Node has neither codes nor words for. */
const UNKNOWN_TO_NODE: ReadonlyMap<number | undefined, readonly [code: string, words: string]> = new Map([
  [-constants.errno.EDQUOT, ['EDQUOT', 'disk quota exceeded']],
  [-constants.errno.ESTALE, ['ESTALE', 'stale file handle']],
]);

/** The same error. One of the system says which file it is about, which it does not where that is open. */
export function named(error: unknown, path: string): unknown {
  if (!isOfSystem(error)) return error;
  const [code, words] = UNKNOWN_TO_NODE.get(error.errno) ?? [];
  if (words !== undefined) {
    error.message = error.message.replaceAll(error.code!, words).replace(words, code!);
    error.code = code;
  }
  if (error.path === undefined) {
    error.path = path;
    error.message += ` '${path}'`;
  }
  return error;
}

/** Does work on a file, whose name is in what the system throws then, or rejects with. */
export function naming<T>(path: string, work: () => T): T {
  const fail = (error: unknown): never => {
    throw named(error, path);
  };
  try {
    const result = work();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (error) {
    return fail(error);
  }
}

/** What the log says of what went wrong inside: with its stack. */
export const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The same of a failure; null when there was none. */
export const failureText = (failure: unknown): string | null => (failure === null ? null : stackOf(failure));

/** The places that a stack names, without what was thrown. */
export const framesOf = (error: unknown): string[] =>
  error instanceof Error && error.stack !== undefined ? error.stack.split('\n').slice(1) : [];
