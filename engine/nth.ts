// Which of many numbers would lie at a place if they were in order, without putting them in order.

/**
 * The number that has so many before it in ascending order. Moves the numbers: those before that place are at most as large afterwards, those
 * behind it at least. `tick` says when to yield.
 */
export function* nthInTurns(numbers: Float64Array, nth: number, tick: () => boolean): Generator<undefined, number> {
  let low = 0;
  let high = numbers.length - 1;
  while (low < high) {
    const pivot = middle(numbers[low]!, numbers[(low + high) >>> 1]!, numbers[high]!);
    let left = low;
    let right = high;
    while (left <= right) {
      while (numbers[left]! < pivot) left++;
      while (numbers[right]! > pivot) right--;
      if (left > right) break;
      const number = numbers[left]!;
      numbers[left++] = numbers[right]!;
      numbers[right--] = number;
    }
    if (nth <= right) high = right;
    else if (nth >= left) low = left;
    else break;
    if (tick()) yield;
  }
  return numbers[nth]!;
}

/** The second in order of three. */
const middle = (a: number, b: number, c: number): number => Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));

/** The same at once. */
export function nthOf(numbers: Float64Array, nth: number): number {
  const { value } = nthInTurns(numbers, nth, () => false).next();
  return value!;
}
