// How many of some nodes have each item: counted in WebAssembly (engine/wasm/weights) where there are many.
//
//   memory   u32 for each item | a node's list

import { Memory } from '../../../bytes.ts';
import type { Ids } from '../../../store/items/ids.ts';
import type { ItemId } from '../../../store/records/records.ts';
import { instanceOf, memoryOf, type WasmExports } from '../../../wasm/instance.ts';
import { KernelPool } from '../../../wasm/kernel-pool.ts';
import { WEIGHTS } from '../../../wasm/weights.bytes.ts';

/** The first bytes of the memory are its own. */
const WEIGHTS_START = 256;
const NUMBER = Uint32Array.BYTES_PER_ELEMENT;
const KERNELS_KEPT = 4;

interface Exports extends WasmExports {
  add(list: number, numbers: number, stride: number, weights: number, items: ItemId): void;
}

interface ItemWeights {
  /** Counts the entries of a node's list. */
  add(list: Ids): void;
  /** By item. It is the last that is asked for. */
  take(): Uint32Array;
}

const kernels = new KernelPool(() => new WeightsKernel(), KERNELS_KEPT);

/** For items below `items`, in lists of `stride` numbers an entry. `isWorth`: there are many entries. */
export const itemWeights = (items: ItemId, stride: number, isWorth: boolean): ItemWeights =>
  (isWorth ? kernels.take((kernel) => kernel.begin(items, stride)) : null) ?? new PlainWeights(items, stride);

class PlainWeights implements ItemWeights {
  readonly #weights: Uint32Array;
  readonly #stride: number;

  constructor(items: ItemId, stride: number) {
    this.#weights = new Uint32Array(items);
    this.#stride = stride;
  }

  add({ values, length }: Ids): void {
    const stride = this.#stride;
    const weights = this.#weights;
    for (let at = stride - 1; at < length; at += stride) weights[values[at]!]!++;
  }

  take(): Uint32Array {
    return this.#weights;
  }
}

class WeightsKernel implements ItemWeights {
  readonly #exports = instanceOf<Exports>(WEIGHTS, {});
  #bytes = memoryOf(this.#exports, WEIGHTS_START);
  readonly #source = new Memory();
  #items = 0;
  #stride = 1;
  /** Where lists lie, behind the weights. */
  #list = WEIGHTS_START;
  /** Behind it the memory is as it was made, of zeros. */
  #touched = WEIGHTS_START;

  begin(items: ItemId, stride: number): this {
    this.#items = items;
    this.#stride = stride;
    this.#list = WEIGHTS_START + items * NUMBER;
    this.#reserve(this.#list);
    this.#bytes.fill(0, WEIGHTS_START, Math.min(this.#list, this.#touched));
    this.#touched = Math.max(this.#list, this.#touched);
    return this;
  }

  #reserve(size: number): void {
    if (size > this.#bytes.length) this.#bytes = memoryOf(this.#exports, size);
  }

  add({ bytes, length }: Ids): void {
    const size = length * NUMBER;
    this.#reserve(this.#list + size);
    this.#touched = Math.max(this.#list + size, this.#touched);
    this.#bytes.set(this.#source.of(bytes, 0, size), this.#list);
    this.#exports.add(this.#list, length, this.#stride, WEIGHTS_START, this.#items);
  }

  take(): Uint32Array {
    const weights = new Uint32Array(this.#bytes.buffer.slice(WEIGHTS_START, this.#list));
    kernels.give(this, this.#bytes.length);
    return weights;
  }
}
