// Matching with back references, which no linear method can do: tries one way after the other, on a stack of its own, and
// gives up with an error when a text has cost too many steps. A group that took no part matches nothing when referred to,
// unlike in JavaScript.

import type { StepBudget } from './budget.ts';
import { equalFolded } from './char-set.ts';
import { invalidRegex } from './errors.ts';
import { isPlace, lookTables } from './linear.ts';
import { Op, type Program } from './program.ts';

/** Instructions that one text may take: some tens of milliseconds, and what a pass over a long text takes anyway. */
const STEPS_MAX = 2_000_000;
const STEPS_PER_CHARACTER = 32;
/** What may be kept to go back to: some 250,000 characters of a repeated group. Beyond that an instruction costs many times as much. */
const STACK_MAX = 4_000_000;
const UNSET = -1;
/** On the stack, in place of an instruction: the two values below it restore a slot. */
const RESTORE = -1;

export class BacktrackMatcher {
  readonly #program: Program;
  readonly #ignoreCase: boolean;
  readonly #budget: StepBudget;
  readonly #slots: Int32Array;
  /** Pairs: position and instruction to go on with, or value and slot followed by RESTORE. */
  readonly #stack: number[] = [];
  #stepsLeft = 0;

  constructor(program: Program, ignoreCase: boolean, budget: StepBudget) {
    this.#program = program;
    this.#budget = budget;
    this.#ignoreCase = ignoreCase;
    this.#slots = new Int32Array(program.slotCount);
  }

  /** Throws QueryError 400 when the text costs too many steps, or all texts together. */
  test(text: string): boolean {
    // Beyond what all texts together may cost, the budget refuses the query.
    const stepsMax = Math.min(STEPS_MAX + STEPS_PER_CHARACTER * text.length, this.#budget.left);
    this.#stepsLeft = stepsMax;
    try {
      return this.#search(text);
    } finally {
      this.#budget.spend(stepsMax - this.#stepsLeft);
    }
  }

  #search(text: string): boolean {
    const tables = lookTables(this.#program, text, this.#budget);
    for (let start = 0; start <= text.length; start++) {
      const unit = text.charCodeAt(start);
      if (start > 0 && unit >= 0xdc00 && unit < 0xe000 && (text.codePointAt(start - 1) as number) > 0xffff) continue;
      if (this.#matchesAt(text, start, tables)) return true;
    }
    return false;
  }

  #matchesAt(text: string, start: number, tables: readonly Uint8Array[]): boolean {
    const { op, x, y, sets, groupSpans } = this.#program;
    const stack = this.#stack;
    stack.length = 0;
    this.#slots.fill(UNSET);
    let pc = 0;
    let position = start;
    for (;;) {
      if (--this.#stepsLeft < 0 || stack.length > STACK_MAX) throw invalidRegex('tooComplex');
      const operand = x[pc] as number;
      let fails = false;
      switch (op[pc]) {
        case Op.set: {
          const code = text.codePointAt(position);
          fails = code === undefined || !sets[operand]?.has(code);
          if (!fails) position += (code as number) > 0xffff ? 2 : 1;
          break;
        }
        case Op.split:
          stack.push(position, y[pc] as number);
          pc = operand;
          continue;
        case Op.jump:
          pc = operand;
          continue;
        case Op.place:
          fails = !isPlace(operand, text, position);
          break;
        case Op.look:
          fails = tables[operand]?.[position] !== 1;
          break;
        case Op.save:
          this.#set(operand, position);
          break;
        case Op.backReference: {
          const end = this.#copyEnd(text, operand, position);
          fails = end === UNSET;
          if (!fails) position = end;
          break;
        }
        case Op.tookPart:
          fails = this.#slots[operand * 2] === UNSET || this.#slots[operand * 2 + 1] === UNSET;
          break;
        case Op.loopStart: {
          const groups = groupSpans[y[pc] as number] as readonly number[];
          this.#stepsLeft -= groups.length;
          this.#set(operand, position);
          for (const group of groups) {
            this.#set(group * 2, UNSET);
            this.#set(group * 2 + 1, UNSET);
          }
          break;
        }
        case Op.loopEnd:
          if (this.#slots[operand] === position) {
            pc = y[pc] as number;
            continue;
          }
          break;
        default:
          return true;
      }
      if (!fails) {
        pc++;
        continue;
      }
      for (;;) {
        const top = stack.pop();
        if (top === undefined) return false;
        if (top !== RESTORE) {
          pc = top;
          position = stack.pop() as number;
          break;
        }
        const slot = stack.pop() as number;
        this.#slots[slot] = stack.pop() as number;
      }
    }
  }

  #set(slot: number, value: number): void {
    this.#stack.push(this.#slots[slot] as number, slot, RESTORE);
    this.#slots[slot] = value;
  }

  /** Where a copy of the group that begins at the position ends; UNSET: there is none. */
  #copyEnd(text: string, group: number, position: number): number {
    const from = this.#slots[group * 2] as number;
    const to = this.#slots[group * 2 + 1] as number;
    if (from === UNSET || to === UNSET) return UNSET;
    const length = to - from;
    this.#stepsLeft -= length;
    if (position + length > text.length) return UNSET;
    for (let i = 0; i < length; i++) {
      const a = text.charCodeAt(from + i);
      const b = text.charCodeAt(position + i);
      if (a !== b && !(this.#ignoreCase && equalFolded(a, b))) return UNSET;
    }
    return position + length;
  }
}
