// What stands in a resource's signature (item-signatures.ts) for each of its parameters: a bit for its name, two for the name with the
// value, where that is a string, `true`, `false` or `null`. These are stored in one spelling each.

import { QUOTE } from '../../json/ascii.ts';
import { someMember } from '../../json/scan.ts';
import { storedText } from '../../json/stored.ts';
import { RESOURCE } from '../records/bodies.ts';
import type { Fields } from '../records/fields.ts';
import { Mark } from './item-signatures.ts';
import { HASH_START, hashOfBytes, mixed } from './mark-hash.ts';

/** Of `true`, `false`, `null`. */
const FIRST_OF_LITERALS = [...'tfn'].map((text) => text.charCodeAt(0));

function addName(hash: number, mark: Mark): void {
  mark.add(mixed(hash));
}

function addValue(hash: number, mark: Mark): void {
  const bits = mixed(hash);
  mark.add(bits);
  mark.add(bits >>> 6);
}

/** Adds the bits of all of a resource's parameters. */
export function signParameters({ record }: Fields, mark: Mark): void {
  const { bytes } = record;
  someMember(bytes, record.startOf(RESOURCE.parameters), record.endOf(RESOURCE.parameters), (key, value, valueEnd) => {
    const name = hashOfBytes(bytes, key, value - 1, HASH_START);
    addName(name, mark);
    const first = bytes[value]!;
    if (first === QUOTE || FIRST_OF_LITERALS.includes(first)) addValue(hashOfBytes(bytes, value, valueEnd, name), mark);
    return false;
  });
}

/** The bits that a resource with a parameter of that name has. `name`: text that UTF-8 can write. */
export function markOfName(name: string): Mark {
  const mark = new Mark();
  addName(hashOfName(name), mark);
  return mark;
}

/** The same, of a parameter whose value is that string or literal. `text`: its JSON text, as it is stored. */
export function markOfParameter(name: string, text: Uint8Array): Mark {
  const mark = markOfName(name);
  addValue(hashOfBytes(text, 0, text.length, hashOfName(name)), mark);
  return mark;
}

function hashOfName(name: string): number {
  const bytes = Buffer.from(storedText(name), 'utf8');
  return hashOfBytes(bytes, 0, bytes.length, HASH_START);
}
