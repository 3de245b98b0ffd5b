// What a producer makes in parts, compressed, as the body of an answer: an archive, for instance.

import type { BodyWriter } from './exchange.ts';
import { gzipWriter } from './gzip/gzip.ts';

/**
 * Compresses what the source gives and writes it, no faster than the writer takes it. Resolves when everything has been written. Rejects
 * with what the source throws, or with why it cannot be compressed.
 */
export async function gzipTo(
  writer: Pick<BodyWriter, 'write' | 'drained'>,
  source: AsyncIterable<Uint8Array>,
): Promise<void> {
  const state: { isOver: boolean; failure: Error | null } = { isOver: false, failure: null };
  let wake = (): void => {};
  const change = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  const gzip = gzipWriter({
    chunk: (chunk) => {
      if (writer.write(chunk)) return true;
      void writer.drained().then(() => {
        if (gzip.resume()) wake();
      });
      return false;
    },
    room: () => wake(),
    end: () => {
      state.isOver = true;
      wake();
    },
    failed: (error) => {
      state.failure = error;
      wake();
    },
  });
  try {
    for await (const part of source) {
      if (!gzip.write(part)) await change();
      if (state.failure !== null) throw state.failure;
    }
    gzip.end();
    while (!state.isOver && state.failure === null) await change();
    if (state.failure !== null) throw state.failure;
  } finally {
    gzip.destroy();
  }
}
