// Runs a script of the built program with the bytecode that the build has left beside it: V8 need not read through a megabyte of source
// again in each process and thread. Bytecode of another V8, or made under other settings of it, V8 refuses, and compiles the script.

'use strict';

const { readFileSync } = require('node:fs');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');

/** `bytecode`: the path of its file. `script.cachedDataRejected`: undefined where there was none. */
function scriptOf(program, name) {
  const bytecode = `${program}/scripts/${name}.bytecode`;
  // The build leaves nothing in it but ASCII, and what it joins are mostly ES modules, which are strict without saying so.
  const source = `(function (exports, require, module, entryUrl, urlOf) { 'use strict'; ${readFileSync(`${program}/scripts/${name}.js`, 'latin1')}\n})`;
  // Stack traces show the name that was given when the bytecode was made, wherever the script is now: so it tells no folder.
  return { script: new Script(source, { filename: `muster/${name}.js`, cachedData: read(bytecode) }), bytecode };
}

function read(path) {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** What the script exports. `requireFrom` and `entry` (a path) are of the file that stands for it, beside which it looks for packages and other entries. */
function load(name, requireFrom, entry) {
  const loaded = { exports: {} };
  const run = scriptOf(__dirname, name).script.runInThisContext();
  const urlOf = (specifier) => pathToFileURL(requireFrom.resolve(specifier)).href;
  run(loaded.exports, requireFrom, loaded, pathToFileURL(entry).href, urlOf);
  return loaded.exports;
}

module.exports = { load, scriptOf };
