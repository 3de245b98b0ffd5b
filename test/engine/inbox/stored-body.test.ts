import assert from 'node:assert/strict';
import { truncateSync } from 'node:fs';
import { test } from 'node:test';
import { BodyReader, Unreadable } from '../../../engine/inbox/stored-body.ts';
import { type StoredBody, StreamCorrupt } from '../../../engine/inbox/stream.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { body, delivered, envelope, openTestLog } from './support.ts';

const stored = async (texts: readonly string[], segmentSizeMax = 1 << 20) => {
  const log = await openTestLog(temporaryDirectory(), { segmentSizeMax });
  const records = delivered(log);
  for (const text of texts) await log.append(envelope('n'), body(text));
  return { log, places: records.map((record) => log.locate(record)) };
};

const textsOf = (bodies: readonly Uint8Array[]): string[] => bodies.map((bytes) => Buffer.from(bytes).toString());

test('stored bodies: a batch is read in order, from several segments, the missing as nothing', async () => {
  const { log, places } = await stored(['one', '', 'three', 'x'.repeat(9000), 'five'], 200);
  assert.ok(new Set(places.map(({ file }) => file.path)).size > 1);
  assert.equal(structuredClone(places)[0]!.file.fd, places[0]!.file.fd, 'plain data');
  const reader = new BodyReader();
  assert.deepEqual(textsOf(reader.read(places)), ['one', '', 'three', 'x'.repeat(9000), 'five']);
  assert.deepEqual(textsOf(reader.read([places[4]!, null, places[0]!])), ['five', '', 'one']);
  assert.deepEqual(reader.read([]), []);
  await log.close();
});

test('stored bodies: memory is used again, but what one large command took is not kept', async () => {
  const { log, places } = await stored(['small', 'x'.repeat(5 << 20)], 64 << 20);
  const reader = new BodyReader();
  const memory = (): ArrayBufferLike => reader.read([places[0]!])[0]!.buffer;
  const first = memory();
  reader.rest();
  assert.equal(memory(), first);
  assert.equal(reader.read([places[1]!])[0]!.length, 5 << 20);
  reader.rest();
  assert.ok(memory().byteLength < 1 << 20);
  await log.close();
});

test('stored bodies: the first that cannot be read is named, and whether it ever can be', async () => {
  const { log, places } = await stored(['one', 'two', 'three']);
  const failure = (of: readonly StoredBody[]): Unreadable => {
    try {
      new BodyReader().read(of);
    } catch (error) {
      if (error instanceof Unreadable) return error;
      throw error;
    }
    throw new Error('all were read');
  };
  const [one, two, three] = places as [StoredBody, StoredBody, StoredBody];
  const other = failure([one, { ...two, seq: 7 }, { ...three, seq: 8 }]);
  assert.deepEqual([other.index, other.isDamaged, other.cause instanceof StreamCorrupt], [1, true, true]);
  assert.match(other.message, /offset \d+: seq 7 is not there any more/);
  const closed = failure([{ ...one, file: { ...one.file, fd: 2 ** 30 } }]);
  assert.deepEqual([closed.index, closed.isDamaged], [0, false]);
  assert.match(closed.message, /EBADF/);
  const huge = failure([{ ...one, bytes: 2 ** 50 }, two]);
  assert.deepEqual([huge.index, huge.isDamaged], [0, false]);
  truncateSync(three.file.path, three.offset + three.headSize + 1);
  assert.equal(failure([one, two, three]).index, 2);
  assert.deepEqual(textsOf(new BodyReader().read([one, two])), ['one', 'two']);
  await log.close();
});
