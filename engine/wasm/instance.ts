// Instances of the WebAssembly of this folder.

import { randomFillSync } from 'node:crypto';

/** What every module has. */
export interface WasmExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
}

interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
// Not among the types of Node 20; undefined where V8 is told to make no code.
const { WebAssembly } = globalThis as unknown as { readonly WebAssembly?: WasmApi };
/** Modules by their bytes (base64), for all instances of a thread; null: this machine cannot run it. */
const modules = new Map<string, object | null>();
const PAGE = 64 << 10;

/** An instance of the module of those bytes (base64). Throws RangeError where there is no WebAssembly. */
export function instanceOf<E extends WasmExports>(bytes: string, host: object): E {
  const module = moduleOf(bytes);
  if (module === null || WebAssembly === undefined) throw new RangeError('there is no WebAssembly here');
  return new WebAssembly.Instance(module, { host }).exports as E;
}

function moduleOf(bytes: string): object | null {
  let module = modules.get(bytes);
  if (module === undefined) {
    try {
      module = WebAssembly === undefined ? null : new WebAssembly.Module(Buffer.from(bytes, 'base64'));
    } catch {
      // A processor without the instructions for sixteen bytes at a time.
      module = null;
    }
    modules.set(bytes, module);
  }
  return module;
}

/** The memory of an instance, grown to `size` bytes at least: then buffers that were taken before are detached. Throws RangeError without room. */
export function memoryOf({ memory }: WasmExports, size: number): Buffer {
  const missing = size - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / PAGE) + 1);
  return Buffer.from(memory.buffer);
}

/** What `make` gives; null where there is no WebAssembly, or no memory for it. */
export function whereThereIsRoom<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** What no client can foresee, for hashes of what clients send: the low and the high half of 64 bits. */
export const newSeed = (): readonly [low: number, high: number] =>
  randomFillSync(new Int32Array(2)) as unknown as readonly [number, number];

/** As in common/exact.ts. */
const TENS_AT = 64;
const TENS_COUNT = 23;

/** Puts the powers of ten that doubles hold exactly where a module looks for them. */
export function putTens(bytes: Buffer): void {
  for (let exponent = 0; exponent < TENS_COUNT; exponent++) bytes.writeDoubleLE(10 ** exponent, TENS_AT + exponent * 8);
}
