// What went wrong, for people.

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

/** What the log says of what went wrong inside: with its stack. */
export const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** The same of a failure; null when there was none. */
export const failureText = (failure: unknown): string | null => (failure === null ? null : stackOf(failure));

/** The places that a stack names, without what was thrown. */
export const framesOf = (error: unknown): string[] =>
  error instanceof Error && error.stack !== undefined ? error.stack.split('\n').slice(1) : [];
