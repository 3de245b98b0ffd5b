// Second half of the build: joins the modules of the process, and those of each kind of thread, into one script each in `dist/program`, packages
// included but for those that start threads or load native code by their own path. A process and each of its threads otherwise open and
// link some hundred small files before they do anything. Beside each script lies what V8 makes of it at first sight (`.bytecode`), which load.cjs
// gives back to V8. All entries lie side by side, as `threadScript` expects of built programs.

import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const program = `${root}dist/program`;
/** The process comes first, because V8 is set otherwise when threads start, and does not take bytecode that was made under other settings. */
const entries = {
  main: 'dist/server/main.js',
  'check-process': 'dist/server/cli/check-process.js',
  'actor-thread': 'dist/workers/actor/actor-thread.js',
  'query-thread': 'dist/workers/queries/query-thread.js',
  'entry-thread': 'dist/server/ops/archive/entry-thread.js',
};

/** lmdb looks for its native code, and for what it loads later, from where its own modules lie: that stays its folder. */
const lmdbInItsFolder = {
  name: 'lmdb-in-its-folder',
  setup(build) {
    build.onLoad({ filter: /node_modules[\\/]lmdb[\\/][^\\/]+\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', "urlOf('lmdb')"),
    }));
  },
};

rmSync(program, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: Object.entries(entries).map(([out, path]) => ({ in: path, out })),
  outdir: `${program}/scripts`,
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  external: ['piscina', 'koffi', 'node-gyp-build-optional-packages', 'msgpackr-extract'],
  define: { 'import.meta.url': 'entryUrl', 'import.meta.resolve': 'urlOf' },
  plugins: [lmdbInItsFolder],
  logLevel: 'warning',
});
// Above it is a package of ES modules.
writeFileSync(`${program}/package.json`, '{"type":"commonjs"}\n');
cpSync(`${root}server/load.cjs`, `${program}/load.js`);
const { scriptOf } = createRequire(import.meta.url)('./load.cjs');
for (const name of Object.keys(entries)) {
  writeFileSync(
    `${program}/${name}.js`,
    `module.exports = require('./load.js').load('${name}', require, __filename);\n`,
  );
  if (name.endsWith('-thread')) (await import('../dist/workers/system/v8.js')).setV8();
  const { script, bytecode } = scriptOf(program, name);
  writeFileSync(bytecode, script.createCachedData());
}
