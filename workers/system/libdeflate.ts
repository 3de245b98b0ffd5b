// Decompression by the system's libdeflate (Debian: libdeflate0), which takes half of the time that the zlib in Node takes, checksum
// included. Optional, as `koffi` is, by which it is called: without one of them Node's zlib does the same.

import { type BodyInflater, PayloadMemory } from '../../engine/ingest/command/inflater.ts';
import { type NativeFunction, nativeFunction } from './native.ts';

/** Its only binary interface so far. */
const LIBRARY = 'libdeflate.so.0';
const ALLOCATE = 'void *libdeflate_alloc_decompressor(void)';
const DECOMPRESS =
  'int libdeflate_gzip_decompress_ex(void *state, const void *in, size_t in_size, void *out, size_t out_size, void *in_used, void *out_used)';
/** What that returns when the output is of exactly the size that was said (no `out_used`), and its checksum right. */
const SUCCESS = 0;

/** Of a gzip header: where its flags are, and those whose meaning the library does not check (RFC 1952: a checksum of the header, reserved ones). */
const FLAGS_AT = 3;
const UNCHECKED = 0xe2;

class LibdeflateInflater implements BodyInflater {
  readonly #decompress: NativeFunction;
  readonly #state: unknown;
  readonly #memory = new PayloadMemory();
  readonly #used = new BigUint64Array(1);

  constructor(decompress: NativeFunction, state: unknown) {
    this.#decompress = decompress;
    this.#state = state;
  }

  inflate(body: Uint8Array, size: number): Buffer | null {
    const output = this.#memory.room(size);
    if (output === null || ((body[FLAGS_AT] ?? UNCHECKED) & UNCHECKED) !== 0) return null;
    const result = this.#decompress(this.#state, body, body.length, output, size, this.#used, null);
    return result === SUCCESS && Number(this.#used[0]) === body.length ? output.subarray(0, size) : null;
  }
}

/** An inflater for this thread; null where the library, or the way to call it, is not there. */
export function libdeflate(): BodyInflater | null {
  const state = nativeFunction<unknown>(ALLOCATE, LIBRARY)?.() ?? null;
  const decompress = nativeFunction(DECOMPRESS, LIBRARY);
  return state === null || decompress === null ? null : new LibdeflateInflater(decompress, state);
}
