// Joins each test file, and each script that tests start as a thread or process, with the modules it imports, in `dist/tests`. Through tsx a file that
// imports the engine takes one to two seconds of processor time before it does anything, for some hundred modules; joined, a tenth of that.
// What several of them import lies in files of its own.

import { readFileSync, rmSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { build, stop } from 'esbuild';

/** Modules look for files beside them where their source is. */
const urlsOfSources = {
  name: 'urls-of-sources',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    }));
  },
};

/** Where a file is when it has been joined: for `test/…/name.ts` that is `dist/tests/…/name.js`. */
export const joinedAs = (file) => file.replace(/^test\/(.*)\.ts$/, 'dist/tests/$1.js');

/** `files`: below `root`, as `test/…/name.ts`. */
export async function joinTests(root, files) {
  const outdir = `${root}dist/tests`;
  rmSync(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: files,
    outbase: 'test',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: true,
    plugins: [urlsOfSources],
    logLevel: 'warning',
  });
  await stop();
}
