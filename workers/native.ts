// Functions of C libraries, by the optional package `koffi`. Loading it takes some milliseconds, so it waits for who needs it.

import { createRequire } from 'node:module';

export interface NativeFunction<R = number> {
  (...args: unknown[]): R;
  /** On a thread of Node's pool. */
  async(...args: [...unknown[], (error: unknown, result: R) => void]): void;
}

/** The function of that C prototype, of a library (file name) or of what the process has loaded; null where it cannot be called. */
export function nativeFunction<R = number>(prototype: string, library: string | null = null): NativeFunction<R> | null {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as {
      load(path: string | null): { func(prototype: string): NativeFunction<R> };
    };
    return koffi.load(library).func(prototype);
  } catch {
    return null;
  }
}
