// package-lock.json is good for `npm ci` anywhere: on every platform, from every registry.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Locked {
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> };

test('lockfile: every package of every platform is in it', () => {
  const missing: string[] = [];
  for (const [place, { dependencies, optionalDependencies }] of Object.entries(packages)) {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const places = [`${place}/node_modules/${name}`, `node_modules/${name}`];
      if (!places.some((candidate) => Object.hasOwn(packages, candidate))) missing.push(`${place} needs ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('lockfile: no address of a registry is in it', () => {
  assert.deepEqual(
    Object.values(packages).filter(({ resolved }) => resolved !== undefined),
    [],
  );
});
