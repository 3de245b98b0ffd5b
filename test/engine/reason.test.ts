// What people are told of the system's errors.

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileAndReason } from '../../engine/reason.ts';

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
