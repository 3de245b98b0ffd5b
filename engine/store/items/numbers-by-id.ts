// Numbers kept by the ids of nodes, eight bytes each.

const PAGE_BITS = 8;
const PAGE_MASK = (1 << PAGE_BITS) - 1;

export class NumbersById {
  /** NaN: none is kept. */
  readonly #pages: (Float64Array | undefined)[] = [];

  get(id: number): number | undefined {
    const number = this.#pages[id >>> PAGE_BITS]?.[id & PAGE_MASK];
    return number === undefined || Number.isNaN(number) ? undefined : number;
  }

  /** `number`: none but NaN. */
  set(id: number, number: number): void {
    const page = (this.#pages[id >>> PAGE_BITS] ??= new Float64Array(1 << PAGE_BITS).fill(Number.NaN));
    page[id & PAGE_MASK] = number;
  }
}
