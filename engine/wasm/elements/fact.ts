// A fact, `"name":value`, as canonical text (ingest/read/facts.ts, json/canonical.ts in order S) and as it is stored, where that needs no values
// (plain.ts).

import { OPEN_BRACE, OPEN_BRACKET } from '../common/characters';
import {
  begin,
  isAscii,
  isRoomFor,
  ORDER_S,
  ORDER_STORED,
  otherStart,
  readTo,
  textStart,
  writeKey,
  writeValue,
  writtenTo,
} from './plain';

// What is told, where the host wants it: bytes of the text, of the name with its quotes, and of the value as it is stored; 0: as in the text.
const SIZE: usize = 0;
const NAME_SIZE: usize = 4;
const STORED_SIZE: usize = 8;

/** false when it is no JSON, when something in it is unusual, or there is no room. */
export function writeFact(start: usize, size: usize, result: usize): bool {
  if (!isRoomFor(size, 0)) return false;
  const text = textStart();
  begin(start, text, ORDER_S, 0);
  if (!writeKey()) return false;
  const value = writtenTo();
  if (!writeValue(1) || readTo() !== start + size) return false;
  const end = writtenTo();
  if (!isAscii(text, end)) return false;
  store<u32>(result + SIZE, u32(end - text));
  store<u32>(result + NAME_SIZE, u32(value - text - 1));
  store<u32>(result + STORED_SIZE, 0);
  const first = load<u8>(value);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return true;
  begin(value, otherStart(), ORDER_STORED, 0);
  if (!writeValue(1)) return false;
  store<u32>(result + STORED_SIZE, u32(writtenTo() - otherStart()));
  return true;
}
