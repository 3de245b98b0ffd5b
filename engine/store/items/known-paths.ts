// Fact paths that a partition's registry is known to have: they are found element by element, so that the writer, who asks for
// each leaf of each new fact, puts no text together for those that it knows.

/** What all of them may take, and each of their elements beside its text: a path may have a thousand elements. */
const BYTES_MAX = 32 << 20;
const ELEMENT_BYTES = 250;

/** A path, and those that go on from it. */
class Step {
  readonly types: string[] = [];
  #further: Map<string | number, Step> | null = null;

  next(element: string | number): Step {
    this.#further ??= new Map();
    let step = this.#further.get(element);
    if (step === undefined) this.#further.set(element, (step = new Step()));
    return step;
  }
}

export class KnownPaths {
  #root = new Step();
  /** Bytes, as if no two began alike. */
  #size = 0;

  /** Remembers the path with its type; false: it was known. */
  add(type: string, path: readonly (string | number)[]): boolean {
    let step = this.#root;
    let size = 0;
    for (let i = 0; i < path.length; i++) {
      const element = path[i]!;
      step = step.next(element);
      size += ELEMENT_BYTES + (typeof element === 'string' ? element.length : 0);
    }
    if (step.types.includes(type)) return false;
    step.types.push(type);
    this.#size += size;
    // All are forgotten at once: those that come again are few beside those that came once.
    if (this.#size > BYTES_MAX) this.clear();
    return true;
  }

  clear(): void {
    this.#root = new Step();
    this.#size = 0;
  }
}
