// `npm run perf -- <name> [options]`: runs one of the programs here.

import { Given, helpOf, type Program, UsageError } from './lib/options.ts';

const loaders: Readonly<Record<string, () => Promise<{ readonly program: Program }>>> = {
  floor: () => import('./floor.ts'),
  'floor-server': () => import('./floor-server.ts'),
  apply: () => import('./apply.ts'),
  ingest: () => import('./ingest.ts'),
  queries: () => import('./queries.ts'),
  growth: () => import('./growth.ts'),
  latency: () => import('./latency.ts'),
  stream: () => import('./stream.ts'),
  connect: () => import('./connect.ts'),
  benchmark: () => import('./benchmark.ts'),
  compare: () => import('./compare.ts'),
};

async function listing(): Promise<string> {
  const lines: string[] = [];
  for (const [name, load] of Object.entries(loaders))
    lines.push(`  ${name.padEnd(12)} ${(await load()).program.summary}`);
  return (
    `usage: npm run perf -- <name> [options]\n\n${lines.join('\n')}\n\n` +
    'Each takes --help, and those that measure --small. perf/README.md says how to read the figures. `npm run fill` only loads a server.'
  );
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h') {
    console.log(await listing());
    return name === undefined ? 2 : 0;
  }
  const load = Object.hasOwn(loaders, name) ? loaders[name] : undefined;
  if (load === undefined) throw new UsageError(`there is no '${name}'; \`npm run perf -- --help\` lists what there is`);
  const { program } = await load();
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(helpOf(program));
    return 0;
  }
  const given = new Given(program.options, rest);
  await program.run(given);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageError;
  console.error(usage ? error.message : error);
  process.exitCode = usage ? 2 : 1;
}
