// How tests wait: until something holds, and for a time only where nothing is to happen.

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the condition holds. Throws what it waited for after `maxMs`. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, maxMs = 30_000): Promise<void> {
  const deadline = performance.now() + maxMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`in vain for ${maxMs} ms: ${what}`);
    await pause(10);
  }
}

export async function withTimeout<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`in vain for ${ms} ms: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
