// Files and folders are written under another name until they are complete. If they do not get so far, they are removed.

import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Removes the files and folders when `work` has ended, however it did, or when a signal ends the process meanwhile. */
export async function withoutLeftovers<T>(paths: readonly string[], work: () => Promise<T>): Promise<T> {
  const onSignal = (signal: NodeJS.Signals): void => {
    for (const path of paths) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    forget();
    process.kill(process.pid, signal);
  };
  const forget = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work();
  } finally {
    for (const path of paths) await rm(path, { recursive: true, force: true });
    forget();
  }
}
