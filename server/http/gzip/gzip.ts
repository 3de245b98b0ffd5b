// Answers compressed, whole or on their way from their producer to the wire.

import { gzip } from 'node:zlib';
import type { Compressor, GzipSink, GzipWriter } from './compressor.ts';
import { isal } from './isal.ts';
import { WHOLE, zlib } from './zlib.ts';

let chosen: Compressor | null = null;

/** The fastest one that there is. */
const compressor = (): Compressor => (chosen ??= isal() ?? zlib);

/** The body compressed, at once or later; null: another thread failed to. `length`: its bytes. */
export function compress(
  body: Uint8Array | string,
  length: number,
  then: (compressed: Uint8Array | null) => void,
): void {
  const { atOnceMax } = compressor();
  if (length <= atOnceMax) then(compressor().atOnce(body));
  else gzip(body, WHOLE, (error, compressed) => then(error === null ? compressed : null));
}

export const gzipWriter = (sink: GzipSink): GzipWriter => compressor().writer(sink);
