// The tree as instructions of a small machine, for the matchers that are written here. Counted repetitions are unrolled, so
// the size of a program is bounded by refusing the pattern. One program serves both directions: read backwards, the items
// of each concatenation come in reverse order, which is how look-ahead is decided for all places of a text in one pass.

import { itemsOf, type Place, type RegexNode } from './ast.ts';
import type { CharSet } from './char-set.ts';
import { invalidRegex } from './errors.ts';

export const Op = {
  /** Consumes a character of `sets[x]`. */
  set: 0,
  /** Goes on at both x and y; x is preferred. */
  split: 1,
  jump: 2,
  /** Goes on if the place is `PLACES[x]`. */
  place: 3,
  /** Goes on if look-around x holds here. */
  look: 4,
  match: 5,
  // The rest is for the backtracking matcher only.
  /** Stores the position in slot x. */
  save: 6,
  /** Consumes a copy of group x. */
  backReference: 7,
  /** Stores the position in slot x, and forgets the groups of `groupSpans[y]`. */
  loopStart: 8,
  /** If nothing was consumed since slot x was set, leaves the loop: goes on at y instead of the next instruction. */
  loopEnd: 9,
  /** Goes on if group x took part. */
  tookPart: 10,
} as const;

export const PLACES: readonly Place[] = [
  'text-start',
  'text-end',
  'line-start',
  'line-end',
  'word-start',
  'word-end',
  'word-edge',
  'not-word-edge',
];
export const TEXT_START = 0;
export const TEXT_END = 1;

interface Look {
  readonly program: Program;
  readonly negative: boolean;
}

export interface Program {
  readonly op: readonly number[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly sets: readonly CharSet[];
  readonly looks: readonly Look[];
  /** The groups that each loop, and each copy of a repeated item, forgets when it begins. */
  readonly groupSpans: readonly (readonly number[])[];
  /** Slots: two for each group from 0 on, then one for each loop. */
  readonly slotCount: number;
  readonly backwards: boolean;
}

const SIZE_MAX = 100_000;

/** Size of the program without making it: for refusing a pattern early. Throws when it is too large. */
export function checkSize(node: RegexNode): void {
  if (sizeOf(node) > SIZE_MAX) throw invalidRegex('tooComplex');
}

/** How many instructions a program of the tree has, about; without groups no fewer than the characters that one way to match looks at, loops apart. */
export function sizeOf(node: RegexNode): number {
  switch (node.kind) {
    case 'concat':
      return node.items.reduce((size, item) => size + sizeOf(item), 0);
    case 'alternate':
      return node.items.reduce((size, item) => size + 2 + sizeOf(item), 0);
    case 'repeat':
      return (sizeOf(node.item) + 2) * (Number.isFinite(node.max) ? node.max : node.min + 1);
    case 'look':
      return 1 + sizeOf(node.item);
    case 'group':
      return 2 + sizeOf(node.item);
    default:
      return 1;
  }
}

interface ProgramOptions {
  readonly backwards?: boolean;
  /** Keeps groups and guards loops: for the backtracking matcher. */
  readonly captures?: boolean;
}

/** Throws QueryError 400 when the program would be too large. */
export function compileProgram(root: RegexNode, options: ProgramOptions = {}): Program {
  checkSize(root);
  return new Compiler(options, groupCountOf(root)).compile(root);
}

/** Highest group that is set or referred to; a group can be gone that something still refers to: `(a){0}\1`. */
function groupCountOf(node: RegexNode): number {
  switch (node.kind) {
    case 'concat':
    case 'alternate':
      return node.items.reduce((count, item) => Math.max(count, groupCountOf(item)), 0);
    case 'repeat':
      return groupCountOf(node.item);
    case 'group':
      return Math.max(node.group, groupCountOf(node.item));
    case 'back-reference':
      return node.group;
    default:
      return 0;
  }
}

function visitGroups(node: RegexNode, visit: (group: number) => void): void {
  if (node.kind === 'group') visit(node.group);
  if (node.kind === 'concat' || node.kind === 'alternate') for (const item of node.items) visitGroups(item, visit);
  if (node.kind === 'repeat' || node.kind === 'group') visitGroups(node.item, visit);
}

class Compiler {
  readonly #op: number[] = [];
  readonly #x: number[] = [];
  readonly #y: number[] = [];
  readonly #sets: CharSet[] = [];
  readonly #setIndexes = new Map<string, number>();
  readonly #looks: Look[] = [];
  readonly #groupSpans: number[][] = [];
  readonly #backwards: boolean;
  readonly #captures: boolean;
  #slotCount: number;

  constructor(options: ProgramOptions, groupCount: number) {
    this.#backwards = options.backwards ?? false;
    this.#captures = options.captures ?? false;
    this.#slotCount = (groupCount + 1) * 2;
  }

  compile(root: RegexNode): Program {
    this.#node(root);
    this.#emit(Op.match);
    return {
      op: this.#op,
      x: this.#x,
      y: this.#y,
      sets: this.#sets,
      looks: this.#looks,
      groupSpans: this.#groupSpans,
      slotCount: this.#slotCount,
      backwards: this.#backwards,
    };
  }

  #emit(op: number, x = 0, y = 0): number {
    this.#x.push(x);
    this.#y.push(y);
    return this.#op.push(op) - 1;
  }

  get #here(): number {
    return this.#op.length;
  }

  #node(node: RegexNode): void {
    switch (node.kind) {
      case 'set':
        this.#emit(Op.set, this.#setIndex(node.set));
        return;
      case 'concat': {
        const items = this.#backwards ? [...itemsOf(node)].reverse() : node.items;
        for (const item of items) this.#node(item);
        return;
      }
      case 'alternate':
        this.#alternate(node.items);
        return;
      case 'repeat':
        this.#repeat(node.item, node.min, node.max);
        return;
      case 'place':
        this.#emit(Op.place, PLACES.indexOf(node.place));
        return;
      case 'look': {
        const program = compileProgram(node.item, { backwards: node.ahead });
        this.#emit(Op.look, this.#looks.push({ program, negative: node.negative }) - 1);
        return;
      }
      case 'group':
        this.#emit(Op.save, node.group * 2);
        this.#node(node.item);
        this.#emit(Op.save, node.group * 2 + 1);
        return;
      case 'back-reference':
        this.#emit(Op.backReference, node.group);
        return;
      case 'took-part':
        this.#emit(Op.tookPart, node.group);
        return;
    }
  }

  #setIndex(set: CharSet): number {
    let index = this.#setIndexes.get(set.source);
    if (index === undefined) {
      index = this.#sets.push(set) - 1;
      this.#setIndexes.set(set.source, index);
    }
    return index;
  }

  #alternate(items: readonly RegexNode[]): void {
    const jumps: number[] = [];
    for (const [i, item] of items.entries()) {
      if (i === items.length - 1) {
        this.#node(item);
        break;
      }
      const split = this.#emit(Op.split, this.#here + 1);
      this.#node(item);
      jumps.push(this.#emit(Op.jump));
      this.#y[split] = this.#here;
    }
    for (const jump of jumps) this.#x[jump] = this.#here;
  }

  #repeat(item: RegexNode, min: number, max: number): void {
    if (Number.isFinite(max)) {
      for (let i = 0; i < min; i++) this.#copy(item);
      const splits: number[] = [];
      for (let i = min; i < max; i++) {
        splits.push(this.#emit(Op.split, this.#here + 1));
        this.#copy(item);
      }
      for (const split of splits) this.#y[split] = this.#here;
      return;
    }
    for (let i = 0; i < min; i++) this.#copy(item);
    const split = this.#emit(Op.split, this.#here + 1);
    if (this.#captures) {
      const slot = this.#slotCount++;
      this.#emit(Op.loopStart, slot, this.#groupSpan(item));
      this.#node(item);
      const end = this.#emit(Op.loopEnd, slot);
      this.#emit(Op.jump, split);
      this.#y[end] = this.#here;
    } else {
      this.#node(item);
      this.#emit(Op.jump, split);
    }
    this.#y[split] = this.#here;
  }

  /** One of several copies of a repeated item: each begins without what the one before had captured. */
  #copy(item: RegexNode): void {
    if (this.#captures) {
      const span = this.#groupSpan(item);
      if (this.#groupSpans[span]?.length !== 0) this.#emit(Op.loopStart, this.#slotCount++, span);
    }
    this.#node(item);
  }

  #groupSpan(item: RegexNode): number {
    const groups: number[] = [];
    visitGroups(item, (group) => groups.push(group));
    return this.#groupSpans.push(groups) - 1;
  }
}
