// Functions of C libraries, by the optional package `koffi`. Loading it takes some milliseconds, so it waits for who needs it.

import { createRequire } from 'node:module';

export interface NativeFunction<R = number> {
  (...args: unknown[]): R;
  /** On a thread of Node's pool. */
  async(...args: [...unknown[], (error: unknown, result: R) => void]): void;
}

interface Koffi {
  load(path: string | null): { func(prototype: string): NativeFunction<unknown> };
  address(bytes: Uint8Array): bigint;
}

let loaded: Koffi | null = null;

/** Throws where the package is not installed, or not for this platform. */
function koffi(): Koffi {
  loaded ??= createRequire(import.meta.url)('koffi') as Koffi;
  return loaded;
}

/** The function of that C prototype, of a library (file name) or of what the process has loaded; null where it cannot be called. */
export function nativeFunction<R = number>(prototype: string, library: string | null = null): NativeFunction<R> | null {
  try {
    return koffi().load(library).func(prototype) as NativeFunction<R>;
  } catch {
    return null;
  }
}

/** Where the bytes lie, for structures that C functions read. They have to be kept as long as the address is. */
export const addressOf = (bytes: Uint8Array): bigint => koffi().address(bytes);
