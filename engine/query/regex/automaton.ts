// A deterministic automaton over a program without word edges, lines and look-around, built as texts demand it: a state is
// a set of waiting instructions, a column a class of characters that no set of the pattern tells apart. Both tables are
// bounded; when they are full the automaton starts afresh in the middle of the text and stays linear. A text in which
// nearly every character leads to a state that was not known yet is given back: following the instructions costs less then.

import type { StepBudget } from './budget.ts';
import type { CharSet } from './char-set.ts';
import { Op, type Program, TEXT_END, TEXT_START } from './program.ts';

const STATES_MAX = 4096;
/** Instructions that all states together may wait for: 16 MB. */
const WAITING_MAX = 4 << 20;
/** A text may demand so many states that were not known yet, with so many instructions reached, and beyond that one for so many characters. */
const FOLLOWED_MAX = 1024;
const REACHED_MAX = 1 << 18;
const CHARACTERS_A_STATE = 16;
/** Instructions that may be reached for one text in any case: about two seconds. */
const TEXT_MAX = 50_000_000;
/** What finding a following state costs for each instruction that is reached, in steps (budget.ts). */
const STATE_COST = 4;
const CODES_MAX = 65_536;

interface State {
  /** Instructions waiting for a character, ascending. */
  readonly waiting: Int32Array;
  /** A match has ended here. */
  readonly matched: boolean;
  /** A match ends here if the text does. */
  readonly matchedAtEnd: boolean;
  /** Following state by column; holes are not known yet. */
  readonly next: State[];
}

export class Automaton {
  readonly #program: Program;
  readonly #budget: StepBudget;
  readonly #alphabet: Alphabet;
  /** By a hash of what they wait for. */
  #states = new Map<number, State[]>();
  #stateCount = 0;
  #waiting = 0;
  #start: State | null = null;
  /** Of the present text: following states that were not known yet, and instructions reached on the way to them. */
  #followed = 0;
  #reachedCount = 0;
  readonly #reached: Uint8Array;
  /** Whether the end of the text decides anything. */
  readonly #hasEnd: boolean;
  /** Whether a match may begin after the first character: where not, a state that waits for nothing is final. */
  readonly #restarts: boolean;

  constructor(program: Program, budget: StepBudget) {
    this.#program = program;
    this.#budget = budget;
    this.#alphabet = new Alphabet(program.sets);
    this.#reached = new Uint8Array(program.op.length);
    this.#hasEnd = program.op.some((op, pc) => op === Op.place && program.x[pc] === TEXT_END);
    const later = this.#closure([0], false, true);
    this.#restarts = later.matched || later.waiting.length > 0;
  }

  /** null: finding the states that the text demands costs more than following the instructions. */
  test(text: string): boolean | null {
    this.#followed = 0;
    this.#reachedCount = 0;
    let state = (this.#start ??= this.#state([0], true));
    const { length } = text;
    for (let i = 0; i < length; i++) {
      if (state.matched) return true;
      let code = text.charCodeAt(i);
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(i) as number;
        if (code > 0xffff) i++;
      }
      const column = this.#alphabet.column(code);
      const next = state.next[column];
      if (next === undefined) {
        state = this.#follow(state, code, column);
        if (this.#isCostly(i)) return null;
      } else state = next;
      if (state.waiting.length === 0 && !this.#restarts && !state.matched && i + 1 < length) return false;
    }
    return state.matchedAtEnd;
  }

  /** Whether following the instructions would have cost less, of a text up to there. */
  #isCostly(place: number): boolean {
    if (this.#reachedCount > TEXT_MAX) return true;
    const isMuch = this.#followed > FOLLOWED_MAX || this.#reachedCount > REACHED_MAX;
    return isMuch && this.#followed * CHARACTERS_A_STATE > place;
  }

  #follow(state: State, code: number, column: number): State {
    const { x, sets } = this.#program;
    const kernel: number[] = [];
    const { waiting } = state;
    for (let i = 0; i < waiting.length; i++) {
      const pc = waiting[i] as number;
      if (sets[x[pc] as number]?.has(code)) kernel.push(pc + 1);
    }
    // Another match may begin here.
    kernel.push(0);
    const next = this.#state(kernel, false);
    this.#followed++;
    state.next[column] = next;
    return next;
  }

  /** The state after the instructions of `kernel` were reached. */
  #state(kernel: readonly number[], isStart: boolean): State {
    const { waiting, matched } = this.#closure(kernel, isStart, false);
    const matchedAtEnd = matched || (this.#hasEnd && this.#closure(kernel, isStart, true).matched);
    let hash = waiting.length * 4 + (matched ? 2 : 0) + (matchedAtEnd ? 1 : 0);
    for (let i = 0; i < waiting.length; i++) hash = Math.imul(hash ^ (waiting[i] as number), 0x01000193);
    for (const state of this.#states.get(hash) ?? []) {
      if (state.matched === matched && state.matchedAtEnd === matchedAtEnd && isEqual(state.waiting, waiting))
        return state;
    }
    if (this.#stateCount >= STATES_MAX || this.#waiting + waiting.length > WAITING_MAX) {
      // The states of old are garbage once the text has left them: nothing leads back to them.
      this.#states = new Map();
      this.#stateCount = 0;
      this.#waiting = 0;
      this.#start = null;
    }
    const state: State = { waiting, matched, matchedAtEnd, next: [] };
    const others = this.#states.get(hash);
    if (others === undefined) this.#states.set(hash, [state]);
    else others.push(state);
    this.#stateCount++;
    this.#waiting += waiting.length;
    return state;
  }

  #closure(starts: readonly number[], isStart: boolean, isEnd: boolean): { waiting: Int32Array; matched: boolean } {
    const { op, x, y } = this.#program;
    const waiting: number[] = [];
    const stack = [...starts];
    const seen: number[] = [];
    let matched = false;
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (this.#reached[pc] === 1) continue;
      this.#reached[pc] = 1;
      seen.push(pc);
      switch (op[pc]) {
        case Op.set:
          waiting.push(pc);
          break;
        case Op.split:
          stack.push(y[pc] as number, x[pc] as number);
          break;
        case Op.jump:
          stack.push(x[pc] as number);
          break;
        case Op.place:
          if (x[pc] === TEXT_START ? isStart : isEnd) stack.push(pc + 1);
          break;
        default:
          matched = true;
      }
    }
    for (const pc of seen) this.#reached[pc] = 0;
    this.#reachedCount += seen.length;
    this.#budget.spend(seen.length * STATE_COST);
    return { waiting: Int32Array.from(waiting).sort(), matched };
  }
}

function isEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Numbers the classes of characters that the sets of a program do not tell apart. */
class Alphabet {
  readonly #sets: readonly CharSet[];
  readonly #ascii = new Int32Array(128).fill(-1);
  readonly #others = new Map<number, number>();
  readonly #columns = new Map<string, number>();

  constructor(sets: readonly CharSet[]) {
    this.#sets = sets;
  }

  column(code: number): number {
    const known = code < 128 ? (this.#ascii[code] as number) : (this.#others.get(code) ?? -1);
    return known >= 0 ? known : this.#classify(code);
  }

  #classify(code: number): number {
    let signature = '';
    for (const set of this.#sets) signature += set.has(code) ? '1' : '0';
    let column = this.#columns.get(signature);
    if (column === undefined) {
      column = this.#columns.size;
      this.#columns.set(signature, column);
    }
    if (code < 128) this.#ascii[code] = column;
    else {
      if (this.#others.size >= CODES_MAX) this.#others.clear();
      this.#others.set(code, column);
    }
    return column;
  }
}
