// docs/configure.md says what the table of settings says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settingsReference } from '../../../server/config/reference.ts';

test('docs/configure.md holds what `muster config --reference` prints', () => {
  const text = readFileSync(new URL('../../../docs/configure.md', import.meta.url), 'utf8');
  const held = /<!-- settings -->\n\n([\s\S]*)\n<!-- \/settings -->/.exec(text)?.[1];
  assert.equal(held, settingsReference());
});
