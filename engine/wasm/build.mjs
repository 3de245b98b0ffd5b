// First part of the build: compiles the AssemblyScript of this folder to WebAssembly, as modules that hold its bytes: they are found
// wherever the program's modules are, also joined into other files. Left as they are when they are those already.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import asc from 'assemblyscript/asc';

const here = import.meta.dirname;
const FLAGS = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '1'];

for (const name of ['elements', 'facts', 'lists', 'unpack']) {
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
  const made = join(here, `${name}.bytes.ts`);
  const text = `// Made by build.mjs.\nexport const ${name.toUpperCase()} = '${Buffer.from(binary).toString('base64')}';\n`;
  if (!existsSync(made) || readFileSync(made, 'utf8') !== text) writeFileSync(made, text);
}
