// What is done when a program ends, also when it is interrupted: servers are ended, temporary folders removed.

const actions = new Set<() => void>();
process.on('exit', () => {
  for (const action of actions) action();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** What it returns takes it back. */
export function atExit(action: () => void): () => void {
  actions.add(action);
  return () => void actions.delete(action);
}
