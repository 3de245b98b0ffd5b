import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fingerprints, newKey } from '../../engine/fingerprint.ts';

test('fingerprints: equal for equal bytes under one key only, wherever they lie', () => {
  const some = new Fingerprints('00112233445566778899aabbccddeeff');
  const bytes = Buffer.alloc(100_001, 'muster');
  const seen = new Set<string>();
  for (const size of [0, 1, 15, 16, 17, 4096, 100_000]) {
    const part = bytes.subarray(0, size);
    const found = some.of(part);
    assert.match(found, /^[0-9a-f]{32}$/);
    assert.equal(some.of(Buffer.from(part)), found);
    assert.notEqual(new Fingerprints(newKey()).of(part), found);
    seen.add(found);
    if (size === 0) continue;
    const other = Buffer.from(part);
    other[size - 1]! ^= 1;
    assert.notEqual(some.of(other), found);
  }
  assert.equal(seen.size, 7);
});

test('fingerprints: those of the GCM specification', () => {
  // NIST SP 800-38D by McGrew and Viega, test case 1: no data at all under the key and nonce of zeros.
  assert.equal(new Fingerprints('0'.repeat(32)).of(Buffer.alloc(0)), '58e2fccefa7e3061367f1d57a4e7455a');
});

test('fingerprints: what is no key is refused', () => {
  for (const key of ['', '00', 'x'.repeat(32), '0'.repeat(34)])
    assert.throws(() => new Fingerprints(key), /a key of 32 hex digits/);
});
