// From the text of a regular expression to its tree. The grammar is PostgreSQL's: constraints (anchors, word edges, look
// around) take no quantifier, groups inside look around do not capture, back references name a group that is closed.

import { alternate, concat, EMPTY, type Regex, type RegexNode } from './ast.ts';
import { ANY, CharSet, type ClassTerm, foldRanges, isClassName, NEWLINE, NOT_NEWLINE } from './char-set.ts';
import { collatingElement } from './collating-names.ts';
import { invalidRegex } from './errors.ts';
import { Lexer, type Token } from './lexer.ts';

const REPETITION_MAX = 255;
/** Nesting of parentheses; the tree's walkers are recursive. */
const DEPTH_MAX = 500;

/** Throws QueryError 400 with PostgreSQL's reason for what is not a regular expression. */
export function parseRegex(pattern: string): Regex {
  return new Parser(pattern).parse();
}

class Parser {
  readonly #lexer: Lexer;
  #token: Token;
  #groupCount = 0;
  #depth = 0;
  readonly #closedGroups = new Set<number>();
  readonly #usedGroups = new Set<number>();
  /** Nodes of single characters, which may come again a hundred thousand times. */
  readonly #chars = new Map<number, RegexNode>();

  constructor(pattern: string) {
    this.#lexer = new Lexer(pattern);
    this.#token = this.#lexer.next(0);
  }

  parse(): Regex {
    const root = this.#alternatives(false);
    if (this.#token.type !== 'end') throw invalidRegex('parentheses');
    return {
      root: dropGroups(root, this.#usedGroups),
      groups: this.#usedGroups,
      ignoreCase: this.#lexer.options.ignoreCase,
    };
  }

  #advance(): void {
    this.#token = this.#lexer.next(this.#groupCount);
  }

  #sees(type: Token['type']): boolean {
    return this.#token.type === type;
  }

  #alternatives(isInLook: boolean): RegexNode {
    const branches = [this.#branch(isInLook)];
    while (this.#token.type === 'or') {
      this.#advance();
      branches.push(this.#branch(isInLook));
    }
    return alternate(branches);
  }

  #branch(isInLook: boolean): RegexNode {
    const items: RegexNode[] = [];
    for (;;) {
      const { type } = this.#token;
      if (type === 'or' || type === 'end') break;
      if (type === 'close' && (this.#depth > 0 || !this.#closeIsPlain)) break;
      items.push(this.#item(isInLook));
    }
    return concat(items);
  }

  /** A closing parenthesis without an opening one stands for itself in the extended dialect only. */
  get #closeIsPlain(): boolean {
    return this.#lexer.options.dialect === 'extended';
  }

  #item(isInLook: boolean): RegexNode {
    const token = this.#token;
    switch (token.type) {
      case 'place':
        this.#advance();
        return { kind: 'place', place: token.place };
      case 'look': {
        this.#advance();
        const item = this.#enclosed(true);
        return { kind: 'look', ahead: token.ahead, negative: token.negative, item };
      }
      default:
        return withGroup(token, this.#quantified(this.#atom(token, isInLook)));
    }
  }

  #atom(token: Token, isInLook: boolean): RegexNode {
    switch (token.type) {
      case 'char':
        this.#advance();
        return this.#charNode(token.code);
      case 'close':
        this.#advance();
        return this.#charNode(41);
      case 'class':
        this.#advance();
        return { kind: 'set', set: new CharSet([], [token]) };
      case 'any':
        this.#advance();
        return { kind: 'set', set: this.#lexer.options.newlineStops ? NOT_NEWLINE : ANY };
      case 'bracket-open':
        return { kind: 'set', set: this.#bracket(token.negated) };
      case 'open':
        return this.#group(token.captures && !isInLook, isInLook);
      case 'back-reference':
        if (isInLook || !this.#closedGroups.has(token.group)) throw invalidRegex('backReference');
        this.#usedGroups.add(token.group);
        this.#advance();
        return { kind: 'back-reference', group: token.group };
      default:
        throw invalidRegex('quantifier');
    }
  }

  #charNode(code: number): RegexNode {
    let node = this.#chars.get(code);
    if (node === undefined) {
      node = { kind: 'set', set: new CharSet(this.#folded([code, code])) };
      this.#chars.set(code, node);
    }
    return node;
  }

  #folded(ranges: readonly number[]): readonly number[] {
    return this.#lexer.options.ignoreCase ? foldRanges(ranges) : ranges;
  }

  #group(captures: boolean, isInLook: boolean): RegexNode {
    const group = captures ? ++this.#groupCount : 0;
    this.#advance();
    const item = this.#enclosed(isInLook);
    if (!captures) return item;
    this.#closedGroups.add(group);
    return { kind: 'group', group, item };
  }

  /** Alternatives up to a closing parenthesis, which is taken. */
  #enclosed(isInLook: boolean): RegexNode {
    if (++this.#depth > DEPTH_MAX) throw invalidRegex('tooComplex');
    const item = this.#alternatives(isInLook);
    if (this.#token.type !== 'close') throw invalidRegex('parentheses');
    this.#depth--;
    this.#advance();
    return item;
  }

  #quantified(item: RegexNode): RegexNode {
    switch (this.#token.type) {
      case 'star':
        this.#advance();
        return { kind: 'repeat', item, min: 0, max: Number.POSITIVE_INFINITY };
      case 'plus':
        this.#advance();
        return { kind: 'repeat', item, min: 1, max: Number.POSITIVE_INFINITY };
      case 'question':
        this.#advance();
        return { kind: 'repeat', item, min: 0, max: 1 };
      case 'bound-open': {
        this.#advance();
        const [min, max] = this.#bound();
        if (max === 0) return EMPTY;
        return min === 1 && max === 1 ? item : { kind: 'repeat', item, min, max };
      }
      default:
        return item;
    }
  }

  #bound(): [min: number, max: number] {
    const min = this.#count();
    let max = min;
    if (this.#token.type === 'comma') {
      this.#advance();
      max = this.#sees('digit') ? this.#count() : Number.POSITIVE_INFINITY;
    }
    if (!this.#sees('bound-close') || min > max) throw invalidRegex('repetition');
    this.#advance();
    return [min, max];
  }

  #count(): number {
    let count = 0;
    while (this.#token.type === 'digit') {
      count = count * 10 + this.#token.digit;
      if (count > REPETITION_MAX) throw invalidRegex('repetition');
      this.#advance();
    }
    return count;
  }

  #bracket(negated: boolean): CharSet {
    const ranges: number[] = [];
    const terms: ClassTerm[] = [];
    this.#advance();
    while (this.#token.type !== 'bracket-close') this.#bracketPart(ranges, terms);
    this.#advance();
    if (negated && this.#lexer.options.newlineStops) ranges.push(NEWLINE, NEWLINE);
    return new CharSet(this.#folded(ranges), terms, negated);
  }

  #bracketPart(ranges: number[], terms: ClassTerm[]): void {
    const token = this.#token;
    this.#advance();
    if (token.type === 'class') {
      terms.push(token);
      return;
    }
    if (token.type === 'bracket-name' && token.mark === ':') {
      terms.push(this.#classTerm(closedName(token)));
      return;
    }
    const low = bracketChar(token);
    if (token.type === 'bracket-name' && token.mark === '=') {
      ranges.push(low, low);
      return;
    }
    let high = low;
    if (this.#token.type === 'range') {
      this.#advance();
      // A second dash ends the range as a character.
      high = this.#token.type === 'range' ? 45 : bracketChar(this.#token, true);
      this.#advance();
    }
    if (low > high) throw invalidRegex('range');
    ranges.push(low, high);
  }

  #classTerm(name: string): ClassTerm {
    if (!isClassName(name)) throw invalidRegex('characterClass');
    const isCase = name === 'lower' || name === 'upper';
    return { name: isCase && this.#lexer.options.ignoreCase ? 'alpha' : name, complement: false };
  }
}

function closedName({ name }: BracketName): string {
  if (name === null) throw invalidRegex('brackets');
  return name;
}
type BracketName = Extract<Token, { type: 'bracket-name' }>;

function bracketChar(token: Token, isRangeEnd = false): number {
  if (token.type === 'char') return token.code;
  if (token.type === 'bracket-name' && (token.mark === '.' || !isRangeEnd)) {
    const code = collatingElement(closedName(token));
    if (code === null) throw invalidRegex('collating');
    return code;
  }
  throw invalidRegex('range');
}

/** PostgreSQL looks for the group of a reference first: if that took no part there is no match, even of zero repetitions. */
function withGroup(token: Token, node: RegexNode): RegexNode {
  if (token.type !== 'back-reference' || node.kind !== 'repeat' || node.min > 0) return node;
  return concat([{ kind: 'took-part', group: token.group }, node]);
}

/** Removes the groups that nothing refers to. */
function dropGroups(node: RegexNode, used: ReadonlySet<number>): RegexNode {
  switch (node.kind) {
    case 'concat':
      return concat(node.items.map((item) => dropGroups(item, used)));
    case 'alternate':
      return { ...node, items: node.items.map((item) => dropGroups(item, used)) };
    case 'repeat':
      return { ...node, item: dropGroups(node.item, used) };
    case 'look':
      return { ...node, item: dropGroups(node.item, used) };
    case 'group': {
      const item = dropGroups(node.item, used);
      return used.has(node.group) ? { ...node, item } : item;
    }
    default:
      return node;
  }
}
