// What a test has started, mounted or made ends with it: the last first, and each even when another one fails. The runner's
// own hooks run first to last and leave out all that come after one that fails, so that one directory which could not be
// removed would leave a server behind, and with it a file of tests that never ends.

// The runner ends a file that takes too long with SIGTERM: those who watch `exit` end their processes then, too.
process.once('SIGTERM', () => process.exit(1));

/** What a test context offers; anything that runs a function when the test is over. */
export interface Owner {
  after(end: () => Promise<void>): void;
}

/** For suites, whose hooks know no context: `after(() => endings.run())`. */
export class Endings implements Owner {
  readonly #endings: (() => unknown)[] = [];

  after(end: () => unknown): void {
    this.#endings.push(end);
  }

  /** Throws what failed, once everything has been tried. */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (const end of this.#endings.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures, failures.map(String).join('; '));
    if (failures.length === 1) throw failures[0];
  }
}

const endingsOf = new WeakMap<Owner, Endings>();

/** Runs `end` when the test is over, before what was asked for earlier. */
export function atEnd(owner: Owner, end: () => unknown): void {
  endingsFor(owner).after(end);
}

function endingsFor(owner: Owner): Endings {
  if (owner instanceof Endings) return owner;
  const known = endingsOf.get(owner);
  if (known !== undefined) return known;
  const endings = new Endings();
  endingsOf.set(owner, endings);
  owner.after(() => endings.run());
  return endings;
}
