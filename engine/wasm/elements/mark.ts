// `"\u0001"` stands for the certname in texts of elements: no JSON has it.

import { QUOTE } from '../common/characters';

/** As a word, which may be written where nothing stands behind it yet. */
const MARK: u32 = 0x00220122;
export const MARK_SIZE: usize = 3;
/** What stands in a mark and nowhere else. */
export const MARK_CODE: u8 = 1;

export function putMark(to: usize): void {
  store<u32>(to, MARK);
}

export function isMark(at: usize): bool {
  return load<u8>(at) === QUOTE && load<u8>(at + 1) === MARK_CODE;
}
