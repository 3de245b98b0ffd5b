// Configuration that means harm or is merely broken: every text ends in settings or in a list of problems, soon, and touches
// nothing beside them.
//
//   npm run fuzz         the long run
//   MUSTER_SEED=...      the same inputs again

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { environmentOf, flagOf, settingEntries } from '../../../schemas/config.ts';
import { ConfigurationInvalid, type LoadOptions, loadConfiguration } from '../../../server/config/load.ts';
import { jsonText, nastyText } from '../../contract/generators.ts';
import { processorTime } from '../../support/processor-time.ts';
import { testNumber, testSeed } from '../../support/random.ts';

const SLOW_MS = 1000;
const folder = mkdtempSync(join(tmpdir(), 'muster-config-fuzz-'));
after(() => rmSync(folder, { recursive: true }));

const rows = settingEntries.map(([, row]) => row);
const sections = [...new Set(rows.map((row) => row.section)), 'database-x', 'read-database', '__proto__', 'nonsense'];
const names = [...rows.map((row) => row.name), '__proto__', 'constructor', 'password'];

const value = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'off',
    '0',
    '-1',
    '1',
    '5m',
    '7d',
    '1.5 h',
    '10 ms',
    '1e400',
    '99999999999999999999d',
    '512m',
    '8G',
    '127.0.0.1:0',
    '[::1]:8080',
    '/',
    '/dev/null',
    '/dev/zero',
    '${' + 'x}',
    '"',
    "'",
    '"""',
    'a,b,,c',
    'info',
    'community',
  ),
  nastyText,
  jsonText,
);

const iniText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...sections).map((section) => `[${section}]`),
      fc.tuple(fc.constantFrom(...names), fc.constantFrom(' = ', ':', '=', ' '), value).map((parts) => parts.join('')),
      fc.oneof(nastyText, fc.constantFrom('[', ']', '[]', '# x', '; y', '=', 'a\\')),
    ),
    { maxLength: 12 },
  )
  .map((lines) => lines.join('\n'));

const hoconTokens = [
  '{',
  '}',
  '[',
  ']',
  '=',
  ':',
  ',',
  '\n',
  '"',
  '"""',
  '+=',
  '${',
  '}',
  'include ',
  '#',
  '//',
  '.',
  '\\',
];
const hoconText = fc.oneof(
  fc
    .array(fc.oneof(fc.constantFrom(...hoconTokens, ...sections, ...names), value), { maxLength: 30 })
    .map((tokens) => tokens.join(' ')),
  fc
    .array(fc.tuple(fc.constantFrom(...sections), fc.constantFrom(...names), value), { maxLength: 8 })
    .map((members) => members.map(([section, name, text]) => `${section} { ${name} = ${text} }`).join('\n')),
  fc
    .tuple(fc.constantFrom('{', '[', 'a{', 'a.', '"""', 'x=['), fc.constantFrom(50, 300, 5000))
    .map(([token, count]) => {
      return token.repeat(count);
    }),
  jsonText,
);

/** A start's whole configuration: one file, flags, variables. */
const configuration = fc.tuple(
  fc.oneof(
    fc.tuple(fc.constantFrom('x.ini', 'x.properties'), iniText),
    fc.tuple(fc.constantFrom('x.conf', 'x.json'), hoconText),
    fc.tuple(fc.constantFrom('x.ini', 'x.conf', 'x.edn', 'x', 'x.properties'), nastyText),
  ),
  fc.array(fc.tuple(fc.constantFrom(...rows.map(flagOf)), value), { maxLength: 3 }),
  fc.array(fc.tuple(fc.constantFrom(...rows.map(environmentOf), 'MUSTER_NONSENSE'), value), { maxLength: 3 }),
);

/** Problems, or null when it was taken. */
function problemsOf(options: LoadOptions): readonly { where: string; message: string }[] | null {
  try {
    const { settings } = loadConfiguration(options);
    assert.ok(Object.isFrozen(settings));
    return null;
  } catch (error) {
    if (!(error instanceof ConfigurationInvalid)) throw error;
    return error.problems;
  }
}

test('config: any text ends in settings or in problems with their places', (t) => {
  const seconds = testNumber('MUSTER_FUZZ_SECONDS', 0);
  const until = Date.now() + seconds * 1000;
  let seed = testSeed('config');
  let inputs = 0;
  let taken = 0;
  const prototype = Object.getOwnPropertyNames(Object.prototype).sort();
  do {
    const property = fc.property(configuration, ([[file, text], flags, variables]) => {
      inputs++;
      const path = join(folder, file);
      writeFileSync(path, text);
      const spent = processorTime();
      const problems = problemsOf({
        config: path,
        flags: Object.fromEntries(flags),
        environment: Object.fromEntries(variables),
      });
      const ms = spent();
      rmSync(path);
      assert.ok(ms < SLOW_MS, `${Math.round(ms)} ms`);
      if (problems === null) taken++;
      else assert.ok(problems.length > 0 && problems.every(({ where, message }) => where !== '' && message !== ''));
    });
    fc.assert(property, { seed: seed++, numRuns: 600, endOnFailure: seconds > 0 });
  } while (Date.now() < until);
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype).sort(), prototype);
  assert.equal(({} as Record<string, unknown>)['nonsense'], undefined);
  t.diagnostic(`${inputs} configurations, ${taken} of them taken`);
  assert.ok(taken > 0 && taken < inputs);
});
