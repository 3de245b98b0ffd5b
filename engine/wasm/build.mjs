// First part of the build: compiles the AssemblyScript of this folder to WebAssembly, as modules that hold its bytes: they are found
// wherever the program's modules are, also joined into other files. Each tells what it was made of, and is left as it is while that
// is what there is: the compiler takes longer than all else of the build.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const here = import.meta.dirname;
const FLAGS = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '1'];
const { version } = createRequire(import.meta.url)('assemblyscript/package.json');
/** What a made module ends with. */
const END = "';\n";
/** All modules import from it. */
const SHARED = 'common';

/** Of all that decides what a module is. */
function digestOf(name) {
  const hash = createHash('sha256').update(`${version} ${FLAGS.join(' ')}\n`);
  for (const folder of [SHARED, name]) {
    for (const file of readdirSync(join(here, folder)).sort()) {
      hash.update(`${folder}/${file}\n`).update(readFileSync(join(here, folder, file)));
    }
  }
  return hash.digest('hex');
}

async function compile(name) {
  const { default: asc } = await import('assemblyscript/asc');
  let binary = null;
  const { error, stderr } = await asc.main([`${name}/index.ts`, '--outFile', 'out.wasm', ...FLAGS], {
    readFile: (file) => (existsSync(join(here, file)) ? readFileSync(join(here, file), 'utf8') : null),
    writeFile: (file, contents) => {
      if (file === 'out.wasm') binary = contents;
    },
  });
  if (error !== null || binary === null) {
    console.error(`${stderr.toString()}\n${error?.message ?? 'nothing was made'}`);
    process.exit(1);
  }
  return Buffer.from(binary);
}

for (const name of ['edges', 'elements', 'facts', 'lists', 'tally', 'unpack', 'weights']) {
  const made = join(here, `${name}.bytes.ts`);
  const head = `// Made by build.mjs of ${digestOf(name)}.\n`;
  const text = existsSync(made) ? readFileSync(made, 'utf8') : '';
  // One that was not written to its end is made again.
  if (text.startsWith(head) && text.endsWith(END)) continue;
  const binary = await compile(name);
  writeFileSync(made, `${head}export const ${name.toUpperCase()} = '${binary.toString('base64')}${END}`);
}
