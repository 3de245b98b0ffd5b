// A deterministic automaton over a program without word edges, lines and look-around, built as texts demand it: a state is
// a set of waiting instructions, a column a class of characters that no set of the pattern tells apart. Both tables are
// bounded; when they are full the automaton starts afresh in the middle of the text and stays linear. A text in which
// nearly every character leads to a state that was not known yet is given back: following the instructions costs less then.

import { type StepBudget, spend } from './budget.ts';
import type { CharSet } from './char-set.ts';
import { Op, type Program, TEXT_START } from './program.ts';

const STATES_MAX = 4096;
/** A text may demand so many new states, and beyond that one for so many characters. */
const NEW_MAX = 1024;
const CHARACTERS_A_STATE = 16;
/** What making a state costs for each instruction that is reached, in steps (budget.ts): they are put in order, and remembered as a text. */
const STATE_COST = 4;
const CODES_MAX = 65_536;

interface State {
  /** Instructions waiting for a character. */
  readonly waiting: readonly number[];
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
  #states = new Map<string, State>();
  #start: State | null = null;
  /** States made for the present text. */
  #made = 0;
  readonly #reached: Uint8Array;
  /** Whether a match may begin after the first character: where not, a state that waits for nothing is final. */
  readonly #restarts: boolean;

  constructor(program: Program, budget: StepBudget) {
    this.#program = program;
    this.#budget = budget;
    this.#alphabet = new Alphabet(program.sets);
    this.#reached = new Uint8Array(program.op.length);
    const later = this.#closure([0], false, true);
    this.#restarts = later.matched || later.waiting.length > 0;
  }

  /** null: the text demands too many states. */
  test(text: string): boolean | null {
    let state = (this.#start ??= this.#state([], true));
    const { length } = text;
    this.#made = 0;
    for (let i = 0; i < length; i++) {
      if (state.matched) return true;
      let code = text.charCodeAt(i);
      if (code >= 0xd800 && code < 0xdc00) {
        code = text.codePointAt(i) as number;
        if (code > 0xffff) i++;
      }
      const column = this.#alphabet.column(code);
      state = state.next[column] ?? this.#follow(state, code, column);
      if (this.#made > NEW_MAX && this.#made * CHARACTERS_A_STATE > i) return null;
      if (state.waiting.length === 0 && !this.#restarts && !state.matched && i + 1 < length) return false;
    }
    return state.matchedAtEnd;
  }

  #follow(state: State, code: number, column: number): State {
    const { x, sets } = this.#program;
    const kernel: number[] = [];
    for (const pc of state.waiting) if (sets[x[pc] as number]?.has(code)) kernel.push(pc + 1);
    const next = this.#state(kernel, false);
    state.next[column] = next;
    return next;
  }

  /** The state after the instructions of `kernel` were reached, with another match beginning here. */
  #state(kernel: readonly number[], isStart: boolean): State {
    const starts = [...kernel, 0];
    const { waiting, matched } = this.#closure(starts, isStart, false);
    const matchedAtEnd = this.#closure(starts, isStart, true).matched;
    const key = `${matched ? 'm' : matchedAtEnd ? 'e' : ''}${waiting.join()}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      if (this.#states.size >= STATES_MAX) {
        // The states of old are garbage once the text has left them: nothing leads back to them.
        this.#states = new Map();
        this.#start = null;
      }
      state = { waiting, matched, matchedAtEnd, next: [] };
      this.#states.set(key, state);
      this.#made++;
    }
    return state;
  }

  #closure(starts: readonly number[], isStart: boolean, isEnd: boolean): { waiting: number[]; matched: boolean } {
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
    spend(this.#budget, seen.length * STATE_COST);
    return { waiting: waiting.sort((a, b) => a - b), matched };
  }
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
