// Second half of the build: joins the compiled modules of the program into a few files in `dist/program`, because a process
// and each of its threads otherwise open and link some hundred small ones before they do anything. Packages stay outside. All
// entries lie side by side, as `threadScript` expects of built programs.

import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

rmSync(`${root}/dist/program`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: [
    'dist/server/main.js',
    'dist/server/cli/check-process.js',
    'dist/workers/actor-thread.js',
    'dist/workers/query-thread.js',
  ],
  outdir: 'dist/program',
  entryNames: '[name]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  packages: 'external',
  logLevel: 'warning',
});
