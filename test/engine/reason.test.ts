// What people are told of the system's errors.

import assert from 'node:assert/strict';
import { closeSync, copyFileSync, openSync, readFileSync, readSync } from 'node:fs';
import { it } from 'node:test';
import { fileAndReason, messageOf, named, naming } from '../../engine/reason.ts';

const told = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    return fileAndReason(error);
  }
  return assert.fail('no error');
};

it('an error is told with its file, that of a copy with both, as it may be about either', () => {
  assert.equal(
    told(() => readFileSync('/nowhere/a')),
    '/nowhere/a: no such file or directory',
  );
  assert.equal(
    told(() => copyFileSync('/dev/null', '/nowhere/b')),
    '/dev/null to /nowhere/b: no such file or directory',
  );
  assert.equal(fileAndReason(new Error('else')), 'else');
});

it('an error about a file that is open says which one', async () => {
  const file = openSync('/', 'r');
  const work = () => readSync(file, Buffer.alloc(1));
  assert.equal(told(work), 'illegal operation on a directory');
  assert.equal(
    told(() => naming('/a', work)),
    '/a: illegal operation on a directory',
  );
  await assert.rejects(
    naming('/a', async () => work()),
    { message: "EISDIR: illegal operation on a directory, read '/a'", path: '/a' },
  );
  closeSync(file);
  assert.equal(
    told(() => naming('/a', () => readFileSync('/nowhere/b'))),
    '/nowhere/b: no such file or directory',
  );
});

it('errors that Node does not know are told in words', () => {
  const unknown = 'Unknown system error -116';
  const error = Object.assign(new Error(`${unknown}: ${unknown}, write`), {
    code: unknown,
    errno: -116,
    syscall: 'write',
  });
  assert.equal(messageOf(named(error, '/a')), "ESTALE: stale file handle, write '/a'");
  assert.equal(fileAndReason(error), '/a: stale file handle');
});
