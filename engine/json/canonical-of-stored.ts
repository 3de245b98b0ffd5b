// From stored text to canonical text (order K) without a value in between. The two differ in the order of keys and in how decimals
// are spelled; what is the same in both is taken over as it stands.

import { CLOSE_LIST, CLOSE_MAP, COMMA, OPEN_LIST, OPEN_MAP, POINT, QUOTE } from './ascii.ts';
import { canonicalK, compareK } from './canonical.ts';
import { behindString, parseJson } from './parse.ts';

/** The stored text that is read, and where. */
let text = '';
let at = 0;
/** Whether something of what was read is spelled otherwise in canonical text. */
let differs = false;

/** `canonicalK` of the value whose stored text this is. The text must be one. */
export function canonicalOfStored(stored: string): string {
  text = stored;
  at = 0;
  differs = false;
  return canonicalValue();
}

function canonicalValue(): string {
  const start = at;
  const first = text.charCodeAt(start);
  if (first === QUOTE) {
    at = stringEnd(start);
    return text.slice(start, at);
  }
  if (first === OPEN_LIST) return canonicalList();
  if (first === OPEN_MAP) return canonicalMap();
  let isDecimal = false;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_LIST || code === CLOSE_MAP) break;
    if (code === POINT) isDecimal = true;
  }
  if (at === start) throw new SyntaxError('a stored text lacks a value');
  const scalar = text.slice(start, at);
  if (!isDecimal) return scalar;
  const canonical = canonicalK(parseJson(scalar));
  differs ||= canonical !== scalar;
  return canonical;
}

function canonicalList(): string {
  const start = at;
  const before = differs;
  differs = false;
  const elements: string[] = [];
  at++;
  while (text.charCodeAt(at) !== CLOSE_LIST) {
    if (text.charCodeAt(at) === COMMA) at++;
    elements.push(canonicalValue());
  }
  at++;
  const canonical = differs ? `[${elements.join(',')}]` : text.slice(start, at);
  differs ||= before;
  return canonical;
}

function canonicalMap(): string {
  const start = at;
  const before = differs;
  differs = false;
  const members: Member[] = [];
  let isInOrder = true;
  at++;
  while (text.charCodeAt(at) !== CLOSE_MAP) {
    if (text.charCodeAt(at) === COMMA) at++;
    const opens = at;
    at = stringEnd(opens);
    const literal = text.slice(opens, at);
    const key = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
    at++;
    const last = members[members.length - 1];
    isInOrder &&= last === undefined || compareK(last.key, key) < 0;
    members.push({ key, text: `${literal}:${canonicalValue()}` });
  }
  at++;
  const isSame = isInOrder && !differs;
  differs = before || !isSame;
  if (isSame) return text.slice(start, at);
  if (!isInOrder) sortMembers(members);
  let canonical = '{';
  for (let index = 0; index < members.length; index++) {
    canonical += (index === 0 ? '' : ',') + (members[index] as Member).text;
  }
  return `${canonical}}`;
}

interface Member {
  readonly key: string;
  readonly text: string;
}

function sortMembers(members: Member[]): void {
  const { length } = members;
  if (length > FEW) {
    members.sort((a, b) => compareK(a.key, b.key));
    return;
  }
  for (let index = 1; index < length; index++) {
    const member = members[index] as Member;
    let place = index;
    for (; place > 0; place--) {
      const before = members[place - 1] as Member;
      if (compareK(before.key, member.key) <= 0) break;
      members[place] = before;
    }
    members[place] = member;
  }
}

/** Place behind the string whose opening quote is there. */
function stringEnd(opens: number): number {
  const end = behindString(text, opens + 1);
  if (end < 0) throw new SyntaxError('a stored text has a string without end');
  return end;
}

/** Up to so many, insertion takes less than a call of the general sort. */
const FEW = 24;
