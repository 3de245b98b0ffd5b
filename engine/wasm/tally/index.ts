// AssemblyScript, not TypeScript: compiled to WebAssembly by build.mjs. Counts events by one or two of their coded columns
// (query/exec/count/event-kernel.ts), report by report, from the columns that store/records/event-record.ts describes.
//
//   kinds  u32 of each status that counts, in the order in which their texts were numbered: the count that such events add to, and the one
//          that those add to which are no corrective changes, and those which are. The latter two are the first where that is not told apart.

import { grown, NUMBER } from './room';
import { countsOf, forgetSubjects, subjectCount, subjectCounts, subjectTexts } from './subjects';
import { forgetTexts, numberOfText, setSeed, textBytes, textCount, textEnds } from './texts';

export { numberOfText, setSeed, subjectCount, subjectCounts, subjectTexts, textBytes, textCount, textEnds };

const HEAD: usize = 9;
const TIME: usize = 8;
const COLUMNS: usize = 7;
const KIND: usize = 3 * NUMBER;
const SLACK: usize = 64;
/** There is one column only. */
const NONE: u32 = 0xffffffff;

/** The columns that events are counted by, and those that tell what they count for. */
let firstColumn: u32 = NONE;
let lastColumn: u32 = 0;
let statusColumn: u32 = 0;
let changeColumn: u32 = 0;
let kinds: usize = 0;
/** The number of the text that corrective changes have; those of statuses are below it. */
let corrective: u32 = 0;

/** The report's columns, and what is in them. */
let columns: usize = 0;
let columnsRoom: usize = 0;
let events: u32 = 0;
/** Bytes of a code. */
let width: usize = 2;
let codes: usize = 0;
let codeCount: u32 = 0;
let ends: usize = 0;
let texts: usize = 0;
let textsSize: u32 = 0;
/** By code: the number of its text + 1, or 0. */
let numbers: usize = 0;
let numbersRoom: u32 = 0;

/** Forgets what was counted. Then texts of statuses that count and of corrective changes are to be numbered (`numberOfText`). */
export function begin(first: u32, last: u32, status: u32, change: u32, kindCount: u32): void {
  firstColumn = first;
  lastColumn = last;
  statusColumn = status;
  changeColumn = change;
  forgetTexts();
  forgetSubjects(kindCount);
}

/** `table`: kinds of statuses, as many as there are texts but one. */
export function setKinds(table: usize): void {
  kinds = table;
  corrective = textCount - 1;
}

/** Memory of that size, for good. */
export function take(size: usize): usize {
  return grown(0, 0, size);
}

/** Where the columns of a report are to be put. */
export function roomFor(size: usize): usize {
  if (size + SLACK > columnsRoom) {
    columnsRoom = (size + SLACK) * 2;
    columns = grown(0, 0, columnsRoom);
  }
  return columns;
}

/** Turns to the report whose columns were put there. Traps when they are not what they should be. */
export function open(size: usize): void {
  width = load<u8>(columns) === 1 ? 4 : 2;
  events = load<u32>(columns, 1);
  codeCount = load<u32>(columns, 5);
  // What is damaged may say so many that their bytes have more than 32 bits.
  const head = u64(HEAD) + u64(events) * (TIME + COLUMNS * width) + u64(codeCount) * NUMBER;
  if (head > u64(size)) unreachable();
  codes = columns + HEAD + usize(events) * TIME;
  ends = codes + usize(events) * COLUMNS * width;
  texts = ends + usize(codeCount) * NUMBER;
  textsSize = u32(columns + size - texts);
  if (codeCount > numbersRoom) {
    numbersRoom = codeCount * 2;
    numbers = grown(0, 0, usize(numbersRoom) * NUMBER);
  } else memory.fill(numbers, 0, usize(codeCount) * NUMBER);
}

/** Where a column's codes begin; none of one that there is not. */
function columnAt(column: u32): usize {
  return codes + usize(column) * events * width;
}

function codeAt(column: usize, index: u32): u32 {
  return width === 4 ? load<u32>(column + usize(index) * 4) : u32(load<u16>(column + usize(index) * 2));
}

/** Of the text that a code of the report stands for. */
function numberAt(code: u32): u32 {
  if (code >= codeCount) unreachable();
  const place = numbers + usize(code) * NUMBER;
  const known = load<u32>(place);
  if (known !== 0) return known - 1;
  const start: u32 = code === 0 ? 0 : load<u32>(ends + usize(code - 1) * NUMBER);
  const end = load<u32>(ends + usize(code) * NUMBER);
  if (end < start || end > textsSize) unreachable();
  const number = numberOfText(texts + start, end - start);
  store<u32>(place, number + 1);
  return number;
}

function increase(counts: usize, kind: u32): void {
  const place = counts + usize(kind) * NUMBER;
  store<u32>(place, load<u32>(place) + 1);
}

/** Counts the report's events from one to before another. */
export function count(from: u32, to: u32): void {
  if (to > events) unreachable();
  const hasFirst = firstColumn !== NONE;
  const firsts = columnAt(hasFirst ? firstColumn : lastColumn);
  const lasts = columnAt(lastColumn);
  const statuses = columnAt(statusColumn);
  const changes = columnAt(changeColumn);
  let counts: usize = 0;
  let first: u32 = 0;
  let last: u32 = 0;
  let status: u32 = NONE;
  let kind: usize = 0;
  for (let index = from; index < to; index++) {
    // The events of a resource lie side by side: they have its codes.
    const nextFirst = codeAt(firsts, index);
    const nextLast = codeAt(lasts, index);
    if (counts === 0 || nextFirst !== first || nextLast !== last) {
      first = nextFirst;
      last = nextLast;
      const number = numberAt(last);
      counts = countsOf(hasFirst ? numberAt(first) : number, number);
    }
    const nextStatus = codeAt(statuses, index);
    if (nextStatus !== status) {
      status = nextStatus;
      const number = numberAt(status);
      kind = number < corrective ? kinds + usize(number) * KIND : 0;
    }
    if (kind === 0) continue;
    const whole = load<u32>(kind);
    increase(counts, whole);
    const intentional = load<u32>(kind, NUMBER);
    if (intentional === whole) continue;
    const isCorrective = numberAt(codeAt(changes, index)) === corrective;
    increase(counts, isCorrective ? load<u32>(kind, 2 * NUMBER) : intentional);
  }
}
