// Second half of the build: joins the compiled modules of the program into a few files in `dist/program`, because a process
// and each of its threads otherwise open and link some hundred small ones before they do anything. Packages are joined in, but for
// those that start threads or load native code by their own path. All entries lie side by side, as `threadScript` expects of
// built programs.

import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));

/** lmdb looks for its native code, and for what it loads later, from where its own modules lie: that stays its folder. */
const lmdbInItsFolder = {
  name: 'lmdb-in-its-folder',
  setup(build) {
    build.onLoad({ filter: /node_modules[\\/]lmdb[\\/][^\\/]+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', "import.meta.resolve('lmdb')"),
    }));
  },
};

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
  external: ['piscina', 'koffi', 'node-gyp-build-optional-packages', 'msgpackr-extract'],
  plugins: [lmdbInItsFolder],
  // For packages that are not ES modules.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  logLevel: 'warning',
});
