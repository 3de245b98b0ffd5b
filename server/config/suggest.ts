// "Did you mean": the known name nearest to a mistyped one.

/** The nearest of `names` within a third of its length in edits, or null. */
function suggest(typed: string, names: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase());
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(name.length / 3))) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean \`x\`?` or nothing. */
export function suggestion(typed: string, names: Iterable<string>): string {
  const name = suggest(typed, names);
  return name === null ? '' : `; did you mean \`${name}\`?`;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one text to the other. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(replaced, previous[j]! + 1, current[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, before[j - 2]! + 1);
      }
      current.push(distance);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length]!;
}
