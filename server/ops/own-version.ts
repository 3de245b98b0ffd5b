import { readFileSync } from 'node:fs';

/** Muster's own version: that in package.json, which lies two folders up from here and from the built program. */
export function ownVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
