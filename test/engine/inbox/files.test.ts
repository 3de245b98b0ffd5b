import assert from 'node:assert/strict';
import { constants, readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { diskFiles, type LogFile, syncing, writeAll } from '../../../engine/inbox/files.ts';
import { temporaryDirectory } from '../../support/directories.ts';

test('log files: the system makes each write durable', { skip: process.platform !== 'linux' }, async () => {
  const path = join(temporaryDirectory(), 'segment');
  for (const flags of ['wx+', 'r+'] as const) {
    const file = (await diskFiles.open(path, flags)) as FileHandle;
    const [, octal] = /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${file.fd}`, 'utf8'))!;
    assert.equal(Number.parseInt(octal!, 8) & constants.O_DSYNC, constants.O_DSYNC, flags);
    await file.close();
  }
  await assert.rejects(diskFiles.open(path, 'wx+'), { code: 'EEXIST' });
});

test('log files: where it does not, a sync follows each write, and a write is as good as its sync', async () => {
  const path = join(temporaryDirectory(), 'segment');
  const real = await open(path, 'wx+');
  const calls: string[] = [];
  const noted = new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        calls.push(String(name));
        return value.apply(target, parameters);
      };
    },
  }) as LogFile;
  const file = syncing(noted);
  await writeAll(file, [Buffer.from('one, '), Buffer.from('two')], 0);
  assert.deepEqual(calls, ['writev', 'datasync']);
  const read = Buffer.alloc(8);
  await file.read(read, 0, 8, 0);
  assert.equal(read.toString(), 'one, two');
  await file.truncate(3);
  assert.equal((await file.stat()).size, 3);
  const broken = { writev: async () => 3, datasync: () => Promise.reject(new Error('EIO')) };
  const failing = syncing(Object.assign(Object.create(noted), broken) as LogFile);
  await assert.rejects(failing.writev([Buffer.from('abc')], 0), /EIO/);
  await file.close();
});

test('log files: a write that writes nothing has failed', async () => {
  let left = 1;
  const file = { writev: async () => ({ bytesWritten: left-- > 0 ? 2 : 0 }) } as unknown as LogFile;
  await assert.rejects(writeAll(file, [Buffer.from('abc')], 0), /wrote nothing/);
});
