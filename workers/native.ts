// Functions of the C library, by the optional package `koffi`. Loading it takes some milliseconds, so it waits for who needs it.

import { createRequire } from 'node:module';

export interface NativeFunction {
  (...args: unknown[]): number;
  /** On a thread of Node's pool. */
  async(...args: [...unknown[], (error: unknown, result: number) => void]): void;
}

/** The function of that C prototype; null where it cannot be called. */
export function nativeFunction(prototype: string): NativeFunction | null {
  try {
    const koffi = createRequire(import.meta.url)('koffi') as {
      load(path: string | null): { func(prototype: string): NativeFunction };
    };
    return koffi.load(null).func(prototype);
  } catch {
    return null;
  }
}
