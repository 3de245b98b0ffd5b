// Hashes from which the bits of marks are taken (item-signatures.ts, report-marks.ts).

/** Of longer texts the first bytes decide, and how long they are. */
const BYTES_MAX = 48;
const PRIME = 0x01000193;
export const HASH_START = 0x811c9dc5;

/** FNV-1a, continued from `hash`. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number, hash: number): number {
  const size = end - start;
  const stop = size > BYTES_MAX ? start + BYTES_MAX : end;
  let all = Math.imul(hash ^ size, PRIME);
  for (let at = start; at < stop; at++) all = Math.imul(all ^ bytes[at]!, PRIME);
  return all;
}

/** The same of a text's UTF-16 code units, all of them. */
export function hashOfText(text: string): number {
  let hash = HASH_START;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME);
  return hash;
}

/** The bits of FNV's results are not alike; those of this are. */
export function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return once ^ (once >>> 13);
}
