// Regular expressions as queries have them: PostgreSQL's dialect, tested against any number of texts. No pattern can keep
// a thread busy: a matcher is either linear in the text, or the JavaScript engine where its work is known to be small, or
// (back references) bounded by a budget of steps whose end is an error.
//
//   text -> parser -> tree -> chain of plain texts     `literal`    indexOf and its kin
//                          -> JavaScript RegExp        `native`     short texts, patterns without runaway
//                          -> automaton or simulation  `linear`     all others
//                          -> backtracking             `backtrack`  back references

import { concat, itemsOf, type Regex, type RegexNode } from './ast.ts';
import { BacktrackMatcher } from './backtrack.ts';
import { type StepBudget, unlimited } from './budget.ts';
import { invalidRegex } from './errors.ts';
import { LinearMatcher } from './linear.ts';
import { chainOf, prefixOf, testChain } from './literal.ts';
import { isSoonCompiled, mindsSurrogates, NATIVE_FLAGS, nativeLengthMax, nativeSource } from './native.ts';
import { parseRegex } from './parser.ts';
import { checkSize, compileProgram } from './program.ts';

export type MatcherKind = 'literal' | 'native' | 'linear' | 'backtrack';

export interface Matcher {
  readonly pattern: string;
  readonly kind: MatcherKind;
  /** What every text that matches begins with; empty: nothing that is known. */
  readonly prefix: string;
  /** Whether some part of the text matches. Throws QueryError 400 if the text would cost too much to decide. */
  test(text: string): boolean;
}

interface MatcherOptions {
  /** Use this way of matching and no other, if it can do the pattern: for tests and measurements. */
  readonly kind?: MatcherKind;
  /** What matching may cost, for all matchers that share it. Default: no bound but that of a text. */
  readonly budget?: StepBudget;
}

/** How code that needs patterns gets its matchers. */
export type CompileRegex = (pattern: string) => Matcher;

/** How code that refuses wrong patterns does so: `checkRegex`, or with a bound on what it takes. */
export type CheckRegex = (pattern: string) => void;

/** Characters of a pattern; PostgreSQL refuses those of some hundred thousand. */
const PATTERN_MAX = 100_000;

/** Throws QueryError 400 like compileRegex, as far as the pattern alone says it; compiles nothing. */
export function checkRegex(pattern: string): void {
  const { root } = parsed(pattern);
  if (chainOf(root) === null) checkSize(root);
}

function parsed(pattern: string): Regex {
  if (pattern.length > PATTERN_MAX) throw invalidRegex('tooComplex');
  return parseRegex(pattern);
}

/** Throws QueryError 400 `ERROR: invalid regular expression: <reason>`. */
export function compileRegex(pattern: string, options: MatcherOptions = {}): Matcher {
  const regex = parsed(pattern);
  const { kind, budget = unlimited() } = options;
  if (kind === 'backtrack' || regex.groups.size > 0) return backtrackMatcher(pattern, regex, budget);
  const prefix = prefixOf(regex.root);
  const root = trimAnyText(regex.root);
  const chain = chainOf(regex.root);
  if (chain !== null && (kind === undefined || kind === 'literal')) {
    return { pattern, kind: 'literal', prefix, test: (text) => testChain(chain, text) };
  }
  checkSize(root);
  if (kind === 'native') return nativeMatcher({ pattern, prefix }, root, Number.POSITIVE_INFINITY, budget);
  const lengthMax = kind === undefined && isSoonCompiled(root) ? nativeLengthMax(root, budget.left) : 0;
  if (lengthMax > 0) return nativeMatcher({ pattern, prefix }, root, lengthMax, budget);
  const linear = new LinearMatcher(compileProgram(root), budget);
  return { pattern, kind: 'linear', prefix, test: (text) => linear.test(text) };
}

function backtrackMatcher(pattern: string, { root, ignoreCase }: Regex, budget: StepBudget): Matcher {
  const matcher = new BacktrackMatcher(compileProgram(root, { captures: true }), ignoreCase, budget);
  return { pattern, kind: 'backtrack', prefix: prefixOf(root), test: (text) => matcher.test(text) };
}

const SURROGATE = /[\ud800-\udfff]/;

function nativeMatcher(
  known: Pick<Matcher, 'pattern' | 'prefix'>,
  root: RegexNode,
  lengthMax: number,
  budget: StepBudget,
): Matcher {
  const native = new RegExp(nativeSource(root), NATIVE_FLAGS);
  const isLimited = mindsSurrogates(root);
  const isCostly = lengthMax < Number.POSITIVE_INFINITY;
  let linear: LinearMatcher | null = null;
  return {
    ...known,
    kind: 'native',
    test: (text) => {
      if (text.length <= lengthMax && !(isLimited && SURROGATE.test(text))) {
        if (isCostly) budget.passes();
        return native.test(text);
      }
      linear ??= new LinearMatcher(compileProgram(root), budget);
      return linear.test(text);
    },
  };
}

/** A match may begin and end anywhere, so "anything" at either end says nothing; "at least n" is "n". */
function trimAnyText(root: RegexNode): RegexNode {
  const items = [...itemsOf(root)];
  const isStart = items[0]?.kind === 'place' && items[0].place === 'text-start';
  // After an anchor only "anything" without a minimum makes the anchor say nothing.
  if (isStart && atLeast(items[1]) === 0) items.splice(0, 2);
  else if (!isStart) shorten(items, 0);
  const lastItem = items.at(-1);
  const isEnd = lastItem?.kind === 'place' && lastItem.place === 'text-end';
  if (isEnd && atLeast(items.at(-2)) === 0) items.splice(-2, 2);
  else if (!isEnd) shorten(items, items.length - 1);
  return concat(items);
}

/** n of `.{n,}` over any character; null for anything else. */
function atLeast(node: RegexNode | undefined): number | null {
  if (node?.kind !== 'repeat' || node.max !== Number.POSITIVE_INFINITY) return null;
  return node.item.kind === 'set' && node.item.set.isAny ? node.min : null;
}

function shorten(items: RegexNode[], index: number): void {
  const node = items[index];
  const min = atLeast(node);
  if (node?.kind !== 'repeat' || min === null) return;
  items.splice(index, 1, ...(min === 0 ? [] : [{ ...node, max: min }]));
}
