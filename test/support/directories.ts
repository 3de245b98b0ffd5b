// Directories for tests, which are gone when the process of the test file ends.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

// Not when the test ends: hooks run in the order in which they were given, so threads that a later one stops still write there.
process.on('exit', () => {
  for (const folder of folders) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // A thread that is being ended has written once more.
    }
  }
});

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'muster-test-'));
  folders.push(dir);
  return dir;
}
