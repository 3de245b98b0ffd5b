// Finds the script of a thread or process beside the module that starts it: `.js` when the built program runs, `.ts` when the sources
// run (tests, development). For sources on a Node that does not strip types itself, threads need the loader that the main
// thread got on its command line, which Node does not hand down to them. It takes a second for each thread: where
// THREADS_OF_SOURCES is `built`, as in tests that follow a build (test/run.mjs), they run what was built of the sources.
// Variables that begin with MUSTER_ are settings.

export interface ThreadScript {
  readonly url: URL;
  /** For the options of the thread; absent when the defaults are right. */
  readonly execArgv?: string[];
}

/** `name` without extension, relative to the module whose `import.meta.url` is `base`. */
export function threadScript(name: string, base: string): ThreadScript {
  const extension = base.endsWith('.ts') ? '.ts' : '.js';
  if (extension === '.ts' && process.env['THREADS_OF_SOURCES'] === 'built') return { url: builtOf(name, base) };
  const url = new URL(`./${name}${extension}`, base);
  const { typescript } = process.features as { typescript?: unknown };
  if (extension === '.js' || typescript) return { url };
  const loader = import.meta.resolve('tsx/esm/api');
  const register = `import { register } from ${JSON.stringify(loader)}; register();`;
  return { url, execArgv: ['--import', `data:text/javascript,${encodeURIComponent(register)}`] };
}

/** The program's threads are in `dist/program`; those of tests lie in `dist/tests` (test/support/join-tests.mjs), in the same folders. */
function builtOf(name: string, base: string): URL {
  const root = new URL('../..', import.meta.url).href;
  const tests = `${root}test/`;
  if (base.startsWith(tests)) return new URL(`./${name}.js`, `${root}dist/tests/${base.slice(tests.length)}`);
  return new URL(`dist/program/${name}.js`, root);
}
