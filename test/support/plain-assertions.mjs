// Of an `assert.ok` that fails without a message Node shows the text of its argument, which it looks for in the file at the place where the
// code ran. That is a place in what tsx made of the file: it finds another expression, or seeks for minutes. Line and value are told anyway.

import assert, { AssertionError } from 'node:assert';

for (const asserting of [assert, assert.strict]) {
  const check = asserting.ok;
  asserting.ok = function ok(value, ...message) {
    if (value || message.length > 0) return check(value, ...message);
    const text = `the value is falsy: ${String(value) || "''"}`;
    throw new AssertionError({ message: text, actual: value, expected: true, operator: '==', stackStartFn: ok });
  };
}
