// Fact paths that a partition's registry is known to have: they are found element by element, so that the writer, who asks for
// each leaf of each new fact, puts no text together for those that it knows.

const PATHS_MAX = 50_000;

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
  #size = 0;

  /** Remembers the path with its type; false: it was known. */
  add(type: string, path: readonly (string | number)[]): boolean {
    let step = this.#root;
    for (let i = 0; i < path.length; i++) step = step.next(path[i]!);
    if (step.types.includes(type)) return false;
    step.types.push(type);
    // All are forgotten at once: those that come again are few beside those that came once.
    if (++this.#size > PATHS_MAX) this.clear();
    return true;
  }

  clear(): void {
    this.#root = new Step();
    this.#size = 0;
  }
}
