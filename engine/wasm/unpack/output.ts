// What both kinds of texts are written with.

import { copy } from '../common/memory';

// How texts end that are not written to their end: what is read is not what it should be, or there is no room.
export const DAMAGED: usize = 0;
export const FULL: usize = 1;

const SIZE: usize = 4;

/** Bytes of a text that the host has put down: its address and size lie at `entry`. */
export function pieceSize(entry: usize): usize {
  return load<u32>(entry, SIZE);
}

/** Copies such a text; the place behind it. */
export function writePiece(entry: usize, to: usize): usize {
  const size = pieceSize(entry);
  copy(to, load<u32>(entry), size);
  return to + size;
}
