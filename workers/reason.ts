// What went wrong, for people.

/** Of the operating system's errors the words alone, without code, call and path. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || !error.message.startsWith(`${code}: `)) return error.message;
  return error.message.slice(code.length + 2).replace(/, [a-z]+(?: '.*)?$/s, '');
}

/** The same behind the file that it is about, where the system tells of one. */
export function fileAndReason(error: unknown): string {
  const { path } = (error ?? {}) as NodeJS.ErrnoException;
  return path === undefined ? reasonOf(error) : `${path}: ${reasonOf(error)}`;
}

/** What the log says of something that went wrong inside: with its stack. Null: nothing did. */
export function failureText(failure: unknown): string | null {
  if (failure === null) return null;
  return failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
}
