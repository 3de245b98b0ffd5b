// First part of the build: compiles the AssemblyScript of this folder to WebAssembly, as modules that hold its bytes: they are found
// wherever the program's modules are, also joined into other files. Left as they are when they are those already.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import asc from 'assemblyscript/asc';

const here = fileURLToPath(new URL('.', import.meta.url));

for (const name of ['lists']) {
  let binary = null;
  const source = `${name}.ts`;
  const flags = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '1'];
  const { error, stderr } = await asc.main([source, '--outFile', `${name}.wasm`, ...flags], {
    readFile: (file) => (file === source ? readFileSync(here + source, 'utf8') : null),
    writeFile: (file, contents) => {
      if (file === `${name}.wasm`) binary = contents;
    },
  });
  if (error !== null || binary === null) {
    console.error(`${stderr.toString()}\n${error?.message ?? 'nothing was made'}`);
    process.exit(1);
  }
  const made = `${here}${name}.bytes.ts`;
  const text = `// Made by build.mjs.\nexport const ${name.toUpperCase()} = '${Buffer.from(binary).toString('base64')}';\n`;
  if (!existsSync(made) || readFileSync(made, 'utf8') !== text) writeFileSync(made, text);
}
