import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envelopeOf, fieldsOf } from '../../../engine/inbox/envelope.ts';
import { envelope } from './support.ts';

test('envelope: its fields have one order, which is stored', () => {
  const full = envelope('n', { uuid: 'u', producerTimestamp: 3, gzip: true, size: 4 });
  assert.deepEqual(fieldsOf(full, 1), ['u', 'replace facts', 5, 'n', 1_700_000_000_000, 3, 1, 4]);
  for (const gzip of [1, true]) assert.deepEqual(envelopeOf(fieldsOf(full, gzip)), full);
  const least = envelope('n');
  for (const gzip of [0, false]) assert.deepEqual(envelopeOf(fieldsOf(least, gzip)), least);
});

test('envelope: what are not the fields of one are none', () => {
  const fields = fieldsOf(envelope('n'), 0);
  assert.equal(envelopeOf(fields.slice(1)), null);
  assert.equal(envelopeOf([...fields, 1]), null);
  for (const index of [0, 1, 2, 3, 4, 5, 7]) assert.equal(envelopeOf(fields.with(index, {})), null, String(index));
});
