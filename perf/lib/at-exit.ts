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

// When its terminal is closed, or told to quit, the program ends at once. The servers are in process groups of their own: it has to end them.
for (const signal of ['SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => process.exit(1));

/** The first interrupt calls `end` instead of ending the program; the next one ends it at once. */
export function onInterrupt(end: () => void): void {
  endSoon = end;
}

/** Has `action` done when the program ends. The function that it returns takes that back. */
export function atExit(action: () => void): () => void {
  actions.add(action);
  return () => void actions.delete(action);
}
