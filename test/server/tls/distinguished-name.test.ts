// The name of a client that a proxy writes into a header. Names with a backslash or a slash in another part must not lend their text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonNameOf } from '../../../server/tls/distinguished-name.ts';
import { processorTime } from '../../support/processor-time.ts';

test('distinguished names: the common name, where there is exactly one', () => {
  const cases: readonly [text: string, name: string | null][] = [
    ['CN=web1.example.com', 'web1.example.com'],
    ['cn = web1 , O = Example', 'web1'],
    ['emailAddress=a@b,CN=web1,OU=x,O=Example,C=DE', 'web1'],
    ['2.5.4.10=Example,CN=web1', 'web1'],
    ['OU=x+CN=web1,O=y', 'web1'],
    ['/C=DE/O=Example/CN=web1', 'web1'],
    ['/O=Example/cn=web1/emailAddress=a@b', 'web1'],
    // Only whoever made the certificate knows what stands in its other parts.
    [String.raw`O=x\,CN=admin,CN=real`, 'real'],
    [String.raw`CN=real,O=x\,CN=admin`, 'real'],
    ['O="x,CN=admin",CN=real', 'real'],
    [String.raw`O="x\",CN=admin",CN=real`, 'real'],
    ['O=a/CN=admin,CN=real', 'real'],
    [String.raw`O=a\2CCN=admin,CN=real`, 'real'],
    // What a name itself may have.
    [String.raw`CN=a\,b`, 'a,b'],
    [String.raw`CN=a\C3\A9b`, 'aéb'],
    [String.raw`CN=a\ ,O=x`, 'a '],
    ['CN="a, b"', 'a, b'],
    ['CN=a=b', 'a=b'],
    // Nobody.
    ['CN=admin,CN=other', null],
    ['OU=x+CN=admin+CN=other', null],
    ['/CN=admin/CN=other', null],
    ['O=Example', null],
    ['CN=', null],
    ['', null],
    ['admin', null],
    ['CN=admin,', null],
    ['CN=admin,nonsense', null],
    ['CN="admin', null],
    ['CN="admin"x', null],
    [String.raw`CN=admin\ `.trim(), null],
  ];
  for (const [text, name] of cases) assert.equal(commonNameOf(text), name, text);
});

test('distinguished names: long ones are read in time that grows with their length', () => {
  const spent = processorTime();
  for (const part of ['CN=a,', 'O=x\\', ' ', 'O="', '\\,', 'a ']) commonNameOf(part.repeat(200_000 / part.length));
  for (const begin of ['CN=a', 'CN=', 'CN = "a"']) assert.equal(commonNameOf(`${begin}${' '.repeat(200_000)}"`), null);
  assert.ok(spent() < 2000, `${spent()} ms`);
});
