// Resources of a catalog in order, and its edges, by the names of the resources: read from the bytes that came, without values.

import { KernelPool } from '../../../wasm/kernel-pool.ts';
import type { ListText, TextSink } from '../../command/hashes.ts';
import { RELATIONSHIP_TEXTS, type ReadEdges, sortDistinct, specsOf } from './catalog-edges.ts';
import { ordered, orderOf, type PlacedResource, type ReadResources } from './catalog-resources.ts';
import { EdgeKernel } from './edge-kernel.ts';

/** One is enough: one catalog is read after the other. */
const kernels = new KernelPool(() => new EdgeKernel(RELATIONSHIP_TEXTS), 1);

/** The lists of a catalog. */
export interface CatalogLists {
  readonly resources: ReadResources;
  readonly edges: ReadEdges;
}

export interface OrderedLists extends CatalogLists {
  /** By place in order, the place as sent. */
  readonly order: Uint32Array;
}

/**
 * `list`: resources as they were sent; `sent`: the edges' JSON with its brackets. Null where a name or an edge is unusual, or wrong: their
 * values say what comes of it.
 */
export function readNamed(list: readonly PlacedResource[], sent: Uint8Array): OrderedLists | null {
  return kernels.take((kernel) => {
    const read = readWith(kernel, list, sent);
    if (read === null) kernels.give(kernel, kernel.size);
    return read;
  });
}

function readWith(kernel: EdgeKernel, list: readonly PlacedResource[], sent: Uint8Array): OrderedLists | null {
  if (!kernel.begin(specsOf(list), list.every(isAscii))) return null;
  const order = kernel.order() ?? orderOf(list);
  if (!kernel.index(order)) return null;
  const read = kernel.edges(sent);
  if (read === null) return null;
  const codes = sortDistinct(read);
  const edges = { texts: new NamedTexts(kernel, codes), isPlain: true, codes, groups: null };
  return { resources: ordered(list, order), order, edges };
}

const isAscii = ({ resource }: PlacedResource): boolean => resource.isAscii;

/** The canonical text of edges. It is made while it is written, so it can be written once. */
class NamedTexts implements ListText {
  #kernel: EdgeKernel | null;
  readonly #codes: Float64Array;

  constructor(kernel: EdgeKernel, codes: Float64Array) {
    this.#kernel = kernel;
    this.#codes = codes;
  }

  writeTo(to: TextSink): void {
    const kernel = this.#kernel;
    if (kernel === null) throw new Error('the edges have been written');
    this.#kernel = null;
    to.text('[');
    kernel.writeTexts(this.#codes, (bytes) => to.bytes(bytes));
    to.text(']');
    kernels.give(kernel, kernel.size);
  }
}
