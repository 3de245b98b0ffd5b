// Answers compressed, whole or on their way from their producer to the wire.

import type { Compressor, GzipSink, GzipWriter } from './compressor.ts';
import { isal } from './isal.ts';
import { compressElsewhere, zlib } from './zlib.ts';

let chosen: Compressor | null = null;

/** The fastest one that there is. */
const compressor = (): Compressor => (chosen ??= isal() ?? zlib);

/** The body compressed, at once or later; null: another thread failed to. `length`: its bytes. */
export function compress(
  body: Uint8Array | string,
  length: number,
  then: (compressed: Uint8Array | null) => void,
): void {
  const given = compressor();
  if (length <= given.atOnceMax) then(given.atOnce(body));
  else compressElsewhere(body, then);
}

export const gzipWriter = (sink: GzipSink): GzipWriter => compressor().writer(sink);
