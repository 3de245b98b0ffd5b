// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. Counts how often each item stands in lists (query/exec/count/item-weights.ts).
//
//   weights  u32 for each item
//   list     u32 for each of an entry's numbers, the item last

const NUMBER: usize = 4;

/** Adds the entries of a list, which have `stride` numbers each. Items from `items` on have no weight, and are passed over. */
export function add(list: usize, numbers: usize, stride: usize, weights: usize, items: u32): void {
  const end = list + numbers * NUMBER;
  const step = stride * NUMBER;
  for (let at = list + step - NUMBER; at < end; at += step) {
    const item = load<u32>(at);
    if (item >= items) continue;
    const weight = weights + usize(item) * NUMBER;
    store<u32>(weight, load<u32>(weight) + 1);
  }
}
