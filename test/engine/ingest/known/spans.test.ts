// Parts of payloads that are known again by their bytes, apart from the certname in them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fingerprints, newKey } from '../../../../engine/fingerprint.ts';
import { Part } from '../../../../engine/ingest/known/spans.ts';

const fingerprints = new Fingerprints(newKey());
const MARK = Buffer.from('\u0001');

/** Fingerprint, without the certname, of a list that names it so often. */
function fingerprintOf(certname: string, count: number): string | null {
  const literal = JSON.stringify(certname);
  const bytes = Buffer.from(`[${Array.from({ length: count }, () => literal).join(',')}]`);
  return new Part('edges', 'list', bytes, '@0', fingerprints).fingerprintWithout(Buffer.from(literal), MARK);
}

test('parts: however often they name the certname, their fingerprint is that of any certname', () => {
  for (const count of [1, 3, 200_000]) assert.equal(fingerprintOf('a', count), fingerprintOf('web1.example', count));
  assert.notEqual(fingerprintOf('a', 2), fingerprintOf('a', 3));
});
