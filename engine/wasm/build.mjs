// First part of the build: compiles each folder of AssemblyScript here to WebAssembly, as a module that holds its bytes: they are found
// wherever the program's modules are, also joined into other files. Left as it is when it is that already.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import asc from 'assemblyscript/asc';

const FLAGS = ['--optimizeLevel', '3', '--noAssert', '--runtime', 'stub', '--enable', 'simd', '--initialMemory', '1'];

for (const name of ['lists']) {
  const folder = join(import.meta.dirname, name);
  const source = (file) => join(folder, file);
  let binary = null;
  const { error, stderr } = await asc.main(['index.ts', '--outFile', 'out.wasm', ...FLAGS], {
    readFile: (file) => (existsSync(source(file)) ? readFileSync(source(file), 'utf8') : null),
    writeFile: (file, contents) => {
      if (file === 'out.wasm') binary = contents;
    },
  });
  if (error !== null || binary === null) {
    console.error(`${stderr.toString()}\n${error?.message ?? 'nothing was made'}`);
    process.exit(1);
  }
  const made = `${folder}.bytes.ts`;
  const text = `// Made by build.mjs.\nexport const ${name.toUpperCase()} = '${Buffer.from(binary).toString('base64')}';\n`;
  if (!existsSync(made) || readFileSync(made, 'utf8') !== text) writeFileSync(made, text);
}
