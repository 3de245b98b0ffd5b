// JSON values of which most need no values to be read, for the tests of the kernel that reads such (engine/wasm/elements/plain.ts).

import fc from 'fast-check';
import { JsonError, parseJson } from '../../../engine/json/parse.ts';
import type { JsonValue } from '../../../engine/json/value.ts';

export const CERTNAME = 'node-1.example.com';

export const string = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      '',
      'a',
      'b',
      'File[/etc/hosts]',
      CERTNAME,
      'x'.repeat(70),
      'say "x"\n\t\\',
      '{"a":[1,2]}',
    ),
  },
  fc.string(),
  fc.constantFrom('é', '\u0000', 'a/b', '\u007f'),
);
export const key = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'ensure',
      'content',
      'a',
      'b',
      'ab',
      'Z',
      '_',
      '',
      'owner',
      'longer than eight',
      'longer than nine',
    ),
  },
  fc.constantFrom('a/b', 'é', 'x"y', CERTNAME),
  fc.string({ maxLength: 3 }),
);
const scalar = fc.oneof(
  string,
  fc.integer(),
  fc.constantFrom(0, -1, 1e15, 2 ** 53 + 2, 0.5, -0, 1e300, true, false, null),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.nat().map((number) => number / 1000),
);
export const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ) as fc.Arbitrary<JsonValue>,
}));
export const blank = fc.constantFrom('', '', '', ' ', '\n ');

/** JSON with blanks between tokens. */
export function print(value: JsonValue, space: string): string {
  if (Array.isArray(value)) return `[${value.map((one) => space + print(one, space)).join(`${space},`)}${space}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([key, one]) => `${space}${JSON.stringify(key)}${space}:${space}${print(one, space)}`,
  );
  return `{${members.join(`${space},`)}${space}}`;
}

/** What JSON is changed by. */
export const character = fc.constantFrom(...'{}[]",:\\ \n\t\u0001\u0000\u000b0159.-eEtrufalsn/aé');

/** Null for what is no JSON. */
export function parsedOrNull(text: string): JsonValue | null {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
