// Results as files.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Given } from './options.ts';
import { projectDir } from './server.ts';

/** Where results that are worth keeping go. */
export const resultsDir: string = join(projectDir, 'perf', 'results');

/** Writes the result with the arguments it came from, if --out was given. */
export function writeResult(given: Given, result: object): void {
  const file = given.text('out');
  if (file !== null)
    writeText(file, `${JSON.stringify({ date: new Date().toISOString(), given, ...result }, null, 1)}\n`);
}

export function writeText(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
