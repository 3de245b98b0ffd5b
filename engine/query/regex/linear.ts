// Matching in time linear in the text whatever the pattern: all ways to match advance together, one character at a time.
// No back references. Two machines share the work: where nothing but the characters themselves decides, sets of
// instructions become the states of an automaton built on the way (automaton.ts); where word edges, lines or look-around
// matter, or states would be too many, the sets are followed as they are. Look-around is decided before the main pass, for all places at once.

import { Automaton } from './automaton.ts';
import type { StepBudget } from './budget.ts';
import { NEWLINE, WORD } from './char-set.ts';
import { invalidRegex } from './errors.ts';
import { Op, PLACES, type Program, TEXT_END, TEXT_START } from './program.ts';

/** Instructions that one text may take: about two seconds. Only huge patterns on huge texts come near it. */
const STEPS_MAX = 200_000_000;
/** So many are told to the budget together. */
const STEPS_TOLD = 100_000;

export class LinearMatcher {
  readonly #automaton: Automaton | null;
  readonly #program: Program;
  readonly #budget: StepBudget;
  #simulation: Simulation | null = null;

  constructor(program: Program, budget: StepBudget) {
    this.#program = program;
    this.#budget = budget;
    const isPlain = program.op.every(
      (op, pc) => op !== Op.look && (op !== Op.place || (program.x[pc] as number) <= TEXT_END),
    );
    this.#automaton = isPlain ? new Automaton(program, budget) : null;
  }

  /** Throws QueryError 400 when the text costs too many steps, or all texts together. */
  test(text: string): boolean {
    const known = this.#automaton?.test(text) ?? null;
    if (known !== null) return known;
    this.#simulation ??= new Simulation(this.#program, this.#budget);
    return this.#simulation.test(text);
  }
}

/** Where look-around holds: one byte for each place of a text, 0 to its length. */
type PlaceTable = Uint8Array;

/** Decides look-around for the texts of the backtracking matcher, which cannot do it itself. */
export const lookTables = (program: Program, text: string, budget: StepBudget): readonly PlaceTable[] =>
  program.looks.map((look) => new Simulation(look.program, budget).table(text, look.negative));

class Simulation {
  readonly #program: Program;
  readonly #budget: StepBudget;
  /** Instructions waiting for a character, now and after it. */
  #current: number[] = [];
  #next: number[] = [];
  readonly #stack: number[] = [];
  /** Number of the round in which an instruction was last reached. */
  readonly #reached: Int32Array;
  #round = 0;
  #steps = 0;
  /** Of these the budget knows so many. */
  #told = 0;
  #text = '';
  #tables: readonly PlaceTable[] = [];

  constructor(program: Program, budget: StepBudget) {
    this.#program = program;
    this.#budget = budget;
    this.#reached = new Int32Array(program.op.length);
  }

  test(text: string): boolean {
    return this.#run(text, null);
  }

  /** The places where a match ends (read backwards: begins), or, negative, where none does. */
  table(text: string, negative: boolean): PlaceTable {
    const table = new Uint8Array(text.length + 1);
    this.#run(text, table);
    if (negative) for (let i = 0; i < table.length; i++) table[i] = 1 - (table[i] as number);
    return table;
  }

  /** A match may begin anywhere. With a table, marks where one ends and goes on; else stops at the first. */
  #run(text: string, table: PlaceTable | null): boolean {
    this.#text = text;
    this.#steps = 0;
    this.#told = 0;
    this.#tables = lookTables(this.#program, text, this.#budget);
    try {
      return this.#pass(text, table);
    } finally {
      this.#tell();
    }
  }

  #tell(): void {
    const steps = this.#steps - this.#told;
    this.#told = this.#steps;
    this.#budget.spend(steps);
  }

  #pass(text: string, table: PlaceTable | null): boolean {
    const { backwards } = this.#program;
    let position = backwards ? text.length : 0;
    this.#current.length = 0;
    this.#beginRound();
    for (;;) {
      // Those that a character brought here were added when it was read; now those that begin here.
      if (this.#add(0, position, this.#current)) this.#matched = true;
      if (this.#matched) {
        if (table === null) return true;
        table[position] = 1;
      }
      if (backwards ? position === 0 : position === text.length) return false;
      const code = backwards ? codeBefore(text, position) : (text.codePointAt(position) as number);
      const width = code > 0xffff ? 2 : 1;
      position += backwards ? -width : width;
      this.#advance(code, position);
    }
  }

  #matched = false;

  #beginRound(): void {
    this.#round++;
    this.#matched = false;
  }

  #advance(code: number, position: number): void {
    const { x, sets } = this.#program;
    const next = this.#next;
    next.length = 0;
    this.#beginRound();
    for (const pc of this.#current) {
      if (sets[x[pc] as number]?.has(code) && this.#add(pc + 1, position, next)) this.#matched = true;
    }
    this.#steps += this.#current.length;
    if (this.#steps > STEPS_MAX) throw invalidRegex('tooComplex');
    if (this.#steps - this.#told > STEPS_TOLD) this.#tell();
    this.#next = this.#current;
    this.#current = next;
  }

  /** Follows everything that consumes nothing; true: a match ends here. */
  #add(start: number, position: number, list: number[]): boolean {
    const { op, x, y } = this.#program;
    const stack = this.#stack;
    let matched = false;
    stack.push(start);
    for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
      if (this.#reached[pc] === this.#round) continue;
      this.#reached[pc] = this.#round;
      this.#steps++;
      switch (op[pc]) {
        case Op.set:
          list.push(pc);
          break;
        case Op.split:
          stack.push(y[pc] as number, x[pc] as number);
          break;
        case Op.jump:
          stack.push(x[pc] as number);
          break;
        case Op.place:
          if (isPlace(x[pc] as number, this.#text, position)) stack.push(pc + 1);
          break;
        case Op.look:
          if (this.#tables[x[pc] as number]?.[position] === 1) stack.push(pc + 1);
          break;
        default:
          matched = true;
      }
    }
    return matched;
  }
}

/** Code point that ends at a position greater than 0. */
function codeBefore(text: string, position: number): number {
  const code = text.codePointAt(position - 1) as number;
  if (position < 2 || code < 0xdc00 || code > 0xdfff) return code;
  const pair = text.codePointAt(position - 2) as number;
  return pair > 0xffff ? pair : code;
}

const isWordBefore = (text: string, position: number): boolean => position > 0 && WORD.has(codeBefore(text, position));
const isWordAfter = (text: string, position: number): boolean =>
  position < text.length && WORD.has(text.codePointAt(position) as number);

/** Whether the position is such a place. `place` indexes PLACES. */
export function isPlace(place: number, text: string, position: number): boolean {
  if (place === TEXT_START) return position === 0;
  if (place === TEXT_END) return position === text.length;
  switch (PLACES[place]) {
    case 'line-start':
      return position === 0 || text.charCodeAt(position - 1) === NEWLINE;
    case 'line-end':
      return position === text.length || text.charCodeAt(position) === NEWLINE;
    case 'word-start':
      return !isWordBefore(text, position) && isWordAfter(text, position);
    case 'word-end':
      return isWordBefore(text, position) && !isWordAfter(text, position);
    case 'word-edge':
      return isWordBefore(text, position) !== isWordAfter(text, position);
    default:
      return isWordBefore(text, position) === isWordAfter(text, position);
  }
}
