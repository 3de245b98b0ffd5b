// Certnames by node, kept by a thread for the next queries: a node never gets another name, and its id is never given to another.

import type { NodeId } from './records.ts';

/** Names of a partition that are kept at most. */
const NAMES_MAX = 32_768;

/** In two generations, of which the older one goes when the younger one has half of the names. */
export class NodeNames {
  #young = new Map<NodeId, string>();
  #old = new Map<NodeId, string>();

  get(node: NodeId): string | undefined {
    const young = this.#young.get(node);
    if (young !== undefined) return young;
    const old = this.#old.get(node);
    if (old !== undefined) this.set(node, old);
    return old;
  }

  set(node: NodeId, certname: string): void {
    if (this.#young.size >= NAMES_MAX / 2) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(node, certname);
  }
}
