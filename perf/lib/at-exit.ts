// What is done when a program ends, also when it is interrupted: servers are ended, temporary folders removed.

const actions = new Set<() => void>();
process.on('exit', () => {
  for (const action of actions) action();
});
let endSoon: (() => void) | null = null;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const end = endSoon;
    endSoon = null;
    if (end === null) process.exit(1);
    end();
  });
}

// A terminal that is closed, or told to, ends it at once: servers are in groups of their own.
for (const signal of ['SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => process.exit(1));

/** Who is interrupted ends by this, where it is asked for; the second time at once. */
export function onInterrupt(end: () => void): void {
  endSoon = end;
}

/** What it returns takes it back. */
export function atExit(action: () => void): () => void {
  actions.add(action);
  return () => void actions.delete(action);
}
