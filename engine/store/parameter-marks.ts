// What stands in a resource's signature (item-signatures.ts) for each of its parameters: a bit for its name, two for the name with the
// value, where that is a string, `true`, `false` or `null`. These are stored in one spelling each.

import { someMember } from '../json/scan.ts';
import { storedText } from '../json/stored.ts';
import { RESOURCE } from './bodies.ts';
import type { Fields } from './fields.ts';
import { Mark } from './item-signatures.ts';

const QUOTE = 0x22;
/** Of `true`, `false`, `null`. */
const FIRST_OF_LITERALS = [...'tfn'].map((text) => text.charCodeAt(0));

/** Of longer texts the first bytes decide, and how long they are. */
const BYTES_MAX = 48;
const START = 0x811c9dc5;

/** FNV-1a, continued from `hash`. */
function hashOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
  const size = end - start;
  const stop = size > BYTES_MAX ? start + BYTES_MAX : end;
  let all = Math.imul(hash ^ size, 0x01000193);
  for (let at = start; at < stop; at++) all = Math.imul(all ^ bytes[at]!, 0x01000193);
  return all;
}

/** The bits of FNV's results are not alike; those of this are. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return once ^ (once >>> 13);
}

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
    const name = hashOf(bytes, key, value - 1, START);
    addName(name, mark);
    const first = bytes[value]!;
    if (first === QUOTE || FIRST_OF_LITERALS.includes(first)) addValue(hashOf(bytes, value, valueEnd, name), mark);
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
  addValue(hashOf(text, 0, text.length, hashOfName(name)), mark);
  return mark;
}

function hashOfName(name: string): number {
  const bytes = Buffer.from(storedText(name), 'utf8');
  return hashOf(bytes, 0, bytes.length, START);
}
