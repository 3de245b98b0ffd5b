// PQL text to AST (spec/query.md 4). A hand-written recursive descent without a lexer: tokens are the grammar's
// own expressions, taken greedily and never re-split. PuppetDB's parser explores every alternative of a context-free
// grammar; here the first alternative that fits is taken, which gives the same trees because two alternatives never
// share more than a field, and a field's possible ends are all tried (see #fieldEnds).
//
// Every token that does not fit notes where it was looked for; the furthest such place is the error position. The
// expected items are collected in a second run that only failing texts pay for. No rule looks at a place twice with the
// same question, so time is linear in the text; nesting is bounded by `depthMax`.

import { Float, type JsonValue } from '../../json/value.ts';
import { badQuery, QueryError } from '../errors.ts';
import { parseJsonValue } from '../json-text.ts';
import { type Expectation, parseFailure } from './failure.ts';

/** Longest first, so that `factsets` is tried before `facts`. */
const ENTITIES = [
  'package_inventory',
  'fact_contents',
  'environments',
  'fact_paths',
  'inventory',
  'resources',
  'catalogs',
  'packages',
  'factsets',
  'reports',
  'events',
  'facts',
  'nodes',
  'edges',
] as const;
const DIRECTIONS = ['asc', 'desc'] as const;
const FUNCTIONS = ['to_string', 'count', 'avg', 'sum', 'min', 'max'] as const;
const DOCUMENTS = ['facts', 'trusted', 'parameters'] as const;

const WHITE = '[ \\t\\n\\v\\f\\r]';
const FIELD = /[a-zA-Z0-9_]+\??/y;
const DIGITS = /[0-9]+/y;
const QUOTED = new RegExp(`"[^\\n\\r\\u0085\\u2028\\u2029]*?"(?=\\.|${WHITE})`, 'y');
const BARE = /[^ \t\n\v\f\r.",[\]!<=>~]+(?:\[[0-9]+\])?/y;

// The same tokens as the error text shows them.
const SHOWN = {
  white: '#"\\s+"',
  field: '#"[a-zA-Z0-9_]+\\??"',
  digits: '#"[0-9]+"',
  quoted: '#"\\".*?\\"(?=\\.|\\s)"',
  bare: '#"[^\\s\\.\\",\\[\\]!<=>~]+(\\[\\d+\\])?"',
  match: '#"match\\(.*?\\)"',
  noDirection: 'NOT "asc" | "desc"',
} as const;

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);

type Ast = JsonValue;
type Clause = readonly Ast[];
/** What stands between the braces. */
interface Block {
  readonly filter: Ast | undefined;
  readonly groupBy: Clause | undefined;
  readonly paging: readonly Clause[];
}

/**
 * Compiles a PQL text to the AST it stands for, `["from", entity, ...]`. `depthMax`: deepest nesting of parentheses, negations, lists and
 * embedded queries.
 * Throws QueryError 400: `PQL parse error at ...`, or for a text that parses but holds an impossible value
 * (`For input string: "..."`, an unknown escape, paging inside a subquery).
 */
export function parsePql(text: string, depthMax: number): JsonValue {
  try {
    return parse(text, depthMax);
  } catch (error) {
    // The thread's stack may be smaller than depthMax needs; the parser has no state that outlives the call.
    if (error instanceof RangeError) throw tooDeep(depthMax);
    throw error;
  }
}

const tooDeep = (depthMax: number): QueryError => badQuery(`PQL query is nested deeper than ${depthMax} levels`);

function parse(text: string, depthMax: number): JsonValue {
  const parser = new Parser(text, depthMax, -1);
  const ast = parser.query();
  if (ast !== undefined) {
    if (parser.impossible !== null) throw parser.impossible;
    return ast;
  }
  const second = new Parser(text, depthMax, parser.furthest);
  second.query();
  throw parseFailure(text, parser.furthest, second.expected);
}

class Parser {
  readonly #text: string;
  readonly #depthMax: number;
  /** Offset whose misses are collected; -1 in the first run. */
  readonly #wanted: number;
  readonly #expected = new Map<string, Expectation>();
  #at = 0;
  #depth = 0;
  #furthest = 0;
  /** First value that has the right form and no meaning: reported once the whole text has parsed. */
  impossible: QueryError | null = null;
  // The last search for a `)` on a line: between `from` and `until` the answer is `close`.
  #close = { from: 0, until: -1, close: -1 };

  constructor(text: string, depthMax: number, wanted: number) {
    this.#text = text;
    this.#depthMax = depthMax;
    this.#wanted = wanted;
  }

  get furthest(): number {
    return this.#furthest;
  }

  get expected(): Expectation[] {
    return [...this.#expected.values()];
  }

  /** The whole text, or undefined. */
  query(): Ast | undefined {
    this.#white();
    const from = this.#from();
    if (from === undefined) return undefined;
    let end = this.#at;
    while (isWhite(this.#text.charCodeAt(end))) end++;
    if (end === this.#text.length) return from;
    // Closing white space is one token that has to reach the end: the miss is at its start.
    this.#miss(this.#at, SHOWN.white, true);
    this.#miss(this.#at, ':end-of-string', false);
    return undefined;
  }

  // ---- queries ----

  #from(): Ast | undefined {
    const start = this.#at;
    for (const entity of ENTITIES) {
      this.#at = start;
      if (!this.#literal(entity)) continue;
      const columns = this.#projection();
      this.#white();
      const block = this.#block();
      if (block !== undefined) return fromClause(entity, columns, block);
    }
    this.#at = start;
    return undefined;
  }

  #subquery(): Ast | undefined {
    const start = this.#at;
    for (const entity of ENTITIES) {
      this.#at = start;
      if (!this.#literal(entity)) continue;
      this.#white();
      const block = this.#block();
      if (block === undefined) continue;
      const clauses = clausesOf(block);
      if (clauses.length > 1) {
        this.#impossible(
          `Wrong number of args (${clauses.length + 1}) passed to: puppetlabs.puppetdb.pql.transform/transform-subquery`,
        );
      }
      return ['subquery', entity, ...clauses];
    }
    this.#at = start;
    return undefined;
  }

  #projection(): Clause | undefined {
    const start = this.#at;
    this.#white();
    if (this.#literal('[')) {
      this.#white();
      const columns = this.#columns() ?? [];
      this.#white();
      if (this.#literal(']')) return columns;
    }
    this.#at = start;
    return undefined;
  }

  #block(): Block | undefined {
    if (!this.#literal('{')) return undefined;
    this.#enter();
    this.#white();
    const filter = this.#expression();
    this.#white();
    const groupBy = this.#groupBy();
    const paging: Clause[] = [];
    if (groupBy === undefined) {
      for (let clause = this.#paging(); clause !== undefined; clause = this.#paging()) {
        paging.push(clause);
        this.#white();
      }
    }
    this.#white();
    this.#depth--;
    return this.#literal('}') ? { filter, groupBy, paging } : undefined;
  }

  #groupBy(): Clause | undefined {
    const start = this.#at;
    if (this.#literal('group by') && this.#white()) {
      const columns = this.#columns();
      if (columns !== undefined) {
        // The grammar has white space here and behind the whole clause, so that more of it could have stood behind it.
        this.#white();
        return ['group_by', ...columns];
      }
    }
    this.#at = start;
    return undefined;
  }

  #paging(): Clause | undefined {
    const start = this.#at;
    for (const name of ['limit', 'offset'] as const) {
      if (this.#literal(name) && this.#white()) {
        const count = this.#integer();
        if (count !== undefined) return [name, count];
      }
      this.#at = start;
    }
    if (this.#literal('order by') && this.#white()) {
      const terms = this.#orderTerms();
      if (terms !== undefined) return ['order_by', terms];
    }
    this.#at = start;
    return undefined;
  }

  #orderTerms(): Clause | undefined {
    const first = this.#orderTerm();
    if (first === undefined) return undefined;
    const terms = [first];
    for (;;) {
      const start = this.#at;
      if (this.#literal(',')) {
        this.#white();
        const term = this.#orderTerm();
        if (term !== undefined) {
          terms.push(term);
          continue;
        }
      }
      this.#at = start;
      return terms;
    }
  }

  #orderTerm(): Ast | undefined {
    if (this.#atDirection()) return undefined;
    const field = this.#field();
    if (field === undefined) return undefined;
    const start = this.#at;
    if (this.#white()) {
      for (const direction of DIRECTIONS) {
        if (!this.#literal(direction)) continue;
        this.#white();
        return [field, direction];
      }
    }
    this.#at = start;
    this.#white();
    return field;
  }

  /** No field begins like a direction, which the grammar finds out by looking for one. */
  #atDirection(): boolean {
    const start = this.#at;
    const missing = DIRECTIONS.filter((direction) => !this.#text.startsWith(direction, start));
    for (const direction of missing) this.#miss(start, direction, false);
    if (missing.length === DIRECTIONS.length) return false;
    this.#miss(start, SHOWN.noDirection, false);
    return true;
  }

  // ---- columns ----

  #columns(): Ast[] | undefined {
    const first = this.#column();
    if (first === undefined) return undefined;
    const columns = [first];
    for (let start = this.#at; this.#comma(); start = this.#at) {
      const column = this.#column();
      if (column === undefined) {
        this.#at = start;
        break;
      }
      columns.push(column);
    }
    return columns;
  }

  #column(): Ast | undefined {
    return this.#function() ?? this.#field();
  }

  #function(): Ast | undefined {
    const start = this.#at;
    for (const name of FUNCTIONS) {
      if (!this.#literal(name)) continue;
      this.#white();
      if (this.#literal('(')) {
        this.#white();
        const args = this.#arguments();
        this.#white();
        if (this.#literal(')')) return ['function', name, ...args];
      }
      break;
    }
    this.#at = start;
    return undefined;
  }

  /** A field or a text, then texts; possibly nothing. */
  #arguments(): Ast[] {
    const first = this.#field() ?? this.#string();
    if (first === undefined) return [];
    const args: Ast[] = [first];
    for (let start = this.#at; this.#comma(); start = this.#at) {
      const argument = this.#string();
      if (argument === undefined) {
        this.#at = start;
        break;
      }
      args.push(argument);
    }
    return args;
  }

  /** A comma with white space around it. */
  #comma(): boolean {
    const start = this.#at;
    this.#white();
    if (this.#literal(',')) {
      this.#white();
      return true;
    }
    this.#at = start;
    return false;
  }

  // ---- expressions ----

  #expression(): Ast | undefined {
    const first = this.#conjunction();
    if (first === undefined) return undefined;
    let terms: Ast[] | null = null;
    for (let start = this.#at; this.#joined('or'); start = this.#at) {
      const next = this.#conjunction();
      if (next === undefined) {
        this.#at = start;
        break;
      }
      terms = appendTerm(terms ?? appendTerm(['or'], first), next);
    }
    return terms ?? first;
  }

  #conjunction(): Ast | undefined {
    const first = this.#negation();
    if (first === undefined) return undefined;
    let terms: Ast[] | null = null;
    for (let start = this.#at; this.#joined('and'); start = this.#at) {
      const next = this.#negation();
      if (next === undefined) {
        this.#at = start;
        break;
      }
      terms = appendTerm(terms ?? appendTerm(['and'], first), next);
    }
    return terms ?? first;
  }

  /** A word with white space on both sides. */
  #joined(word: 'or' | 'and'): boolean {
    const start = this.#at;
    if (this.#white() && this.#literal(word) && this.#white()) return true;
    this.#at = start;
    return false;
  }

  #negation(): Ast | undefined {
    const start = this.#at;
    let count = 0;
    while (this.#literal('!')) {
      this.#enter();
      count++;
      this.#white();
    }
    let ast = this.#primary();
    this.#depth -= count;
    if (ast === undefined) {
      this.#at = start;
      return undefined;
    }
    for (; count > 0; count--) ast = ['not', ast];
    return ast;
  }

  #primary(): Ast | undefined {
    const start = this.#at;
    if (this.#literal('(')) {
      this.#enter();
      this.#white();
      const inner = this.#expression();
      this.#depth--;
      if (inner !== undefined) {
        this.#white();
        if (this.#literal(')')) return inner;
      }
      this.#at = start;
      return undefined;
    }
    for (const end of this.#fieldEnds()) {
      this.#at = end;
      const condition = this.#condition(this.#text.slice(start, end));
      if (condition !== undefined) return condition;
    }
    this.#at = start;
    return this.#listMembership() ?? this.#subquery();
  }

  #listMembership(): Ast | undefined {
    const start = this.#at;
    if (this.#literal('[')) {
      this.#white();
      const columns = this.#columns();
      if (columns !== undefined) {
        this.#white();
        if (this.#literal(']')) {
          this.#white();
          if (this.#literal('in')) {
            const source = this.#source();
            if (source !== undefined) return ['in', columns, source];
          }
        }
      }
    }
    this.#at = start;
    return undefined;
  }

  /** What follows a field: an operator and its operand. */
  #condition(field: string): Ast | undefined {
    this.#white();
    const start = this.#at;
    switch (this.#text.charCodeAt(start)) {
      case 0x7e: // ~
        if (this.#literal('~>')) {
          this.#white();
          const patterns = this.#list(() => this.#string());
          return patterns && ['~>', field, patterns];
        }
        return this.#literal('~') ? this.#operand('~', field, () => this.#string()) : undefined;
      case 0x3c: // <
      case 0x3e: {
        const op = this.#text.slice(start, this.#text.charCodeAt(start + 1) === 0x3d ? start + 2 : start + 1);
        this.#at = start + op.length;
        return this.#operand(op, field, () => this.#number() ?? this.#string());
      }
      case 0x3d: // =
        this.#at = start + 1;
        return this.#operand('=', field, () => this.#value());
      case 0x21: {
        const op = this.#literal('!=') ? '=' : this.#literal('!~') ? '~' : null;
        if (op === null) break;
        const condition = this.#operand(op, field, () => this.#value());
        return condition && ['not', condition];
      }
      case 0x69: // i
        if (this.#literal('in')) {
          const source = this.#source();
          return source && ['in', field, source];
        }
        if (this.#literal('is null')) return ['null?', field, true];
        if (this.#literal('is not null')) return ['null?', field, false];
        break;
      default:
    }
    if (this.#wanted === start) for (const op of OPERATORS) this.#miss(start, op, false);
    else this.#miss(start, '~', false);
    return undefined;
  }

  /** What an operator is followed by. */
  #operand(op: string, field: string, rule: () => Ast | undefined): Ast | undefined {
    this.#white();
    const value = rule();
    return value === undefined ? undefined : [op, field, value];
  }

  /** Right side of `in`: a query or a list of values. */
  #source(): Ast | undefined {
    this.#white();
    // As behind `group by`.
    this.#white();
    const from = this.#from();
    if (from !== undefined) return from;
    const values = this.#list(() => this.#value());
    return values && ['array', values];
  }

  // ---- values ----

  #value(): Ast | undefined {
    return this.#string() ?? this.#number() ?? this.#boolean() ?? this.#list(() => this.#value());
  }

  #boolean(): boolean | undefined {
    if (this.#literal('true')) return true;
    if (this.#literal('false')) return false;
    return undefined;
  }

  /** One or more items in brackets. */
  #list(item: () => Ast | undefined): Ast[] | undefined {
    const start = this.#at;
    if (!this.#literal('[')) return undefined;
    this.#enter();
    this.#white();
    const first = item();
    if (first !== undefined) {
      const items = [first];
      for (let before = this.#at; this.#comma(); before = this.#at) {
        const next = item();
        if (next === undefined) {
          this.#at = before;
          break;
        }
        items.push(next);
      }
      this.#white();
      if (this.#literal(']')) {
        this.#depth--;
        return items;
      }
    }
    this.#depth--;
    this.#at = start;
    return undefined;
  }

  #string(): string | undefined {
    const text = this.#text;
    const start = this.#at;
    if (!this.#literal('"') && !this.#literal("'")) return undefined;
    const quote = text.charCodeAt(start);
    let escaped = false;
    let at = this.#at;
    for (;;) {
      const unit = text.charCodeAt(at);
      if (unit === quote) break;
      if (Number.isNaN(unit) || (unit === 0x5c && !isEscapable(text.charCodeAt(at + 1)))) {
        this.#miss(at, text.charAt(start), false);
        this.#at = start;
        return undefined;
      }
      if (unit === 0x5c) escaped = true;
      at += unit === 0x5c ? 2 : 1;
    }
    this.#at = at + 1;
    const inner = text.slice(start + 1, at);
    if (!escaped) return inner;
    return quote === 0x27 ? inner.replaceAll("\\'", "'") : this.#unescape(inner);
  }

  /** Double-quoted texts have the escapes of JSON. */
  #unescape(inner: string): string {
    try {
      return parseJsonValue(`"${inner}"`, this.#depthMax) as string;
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      this.impossible ??= error;
      return '';
    }
  }

  /** An integer, or digits on both sides of a point. */
  #number(): Ast | undefined {
    const start = this.#at;
    this.#literal('-');
    if (!this.#token(DIGITS, SHOWN.digits)) {
      this.#at = start;
      return undefined;
    }
    const integerEnd = this.#at;
    if (!this.#literal('.') || !this.#token(DIGITS, SHOWN.digits)) {
      this.#at = integerEnd;
      return this.#toInteger(this.#text.slice(start, integerEnd));
    }
    const fractionEnd = this.#at;
    if (this.#literal('E') || this.#literal('e')) {
      if (!this.#literal('-')) this.#literal('+');
      if (!this.#token(DIGITS, SHOWN.digits)) this.#at = fractionEnd;
    }
    const value = Number(this.#text.slice(start, this.#at));
    return Number.isInteger(value) || !Number.isFinite(value) ? new Float(value) : value;
  }

  #integer(): Ast | undefined {
    const start = this.#at;
    this.#literal('-');
    if (this.#token(DIGITS, SHOWN.digits)) return this.#toInteger(this.#text.slice(start, this.#at));
    this.#at = start;
    return undefined;
  }

  #toInteger(digits: string): number | bigint {
    const value = Number(digits);
    if (Number.isSafeInteger(value)) return value + 0;
    // 19 digits suffice; the text may be as long as the request.
    const exact = digits.replace(/^(-?)0+/, '$1').length > 20 ? INT64_MAX + 1n : BigInt(digits);
    if (exact > INT64_MAX || exact < INT64_MIN) this.#impossible(`For input string: "${digits}"`);
    return exact;
  }

  // ---- fields ----

  #field(): string | undefined {
    const start = this.#at;
    const ends = this.#fieldEnds();
    if (ends.length === 0) return undefined;
    // With several ends the one that is followed by what can follow a column; else the longest.
    const end = ends.find((e) => ends.length === 1 || this.#closesColumn(e)) ?? ends[0] ?? start;
    this.#at = end;
    return this.#text.slice(start, end);
  }

  #closesColumn(end: number): boolean {
    let at = end;
    while (isWhite(this.#text.charCodeAt(at))) at++;
    const unit = this.#text.charCodeAt(at);
    return unit === 0x2c || unit === 0x5d || unit === 0x29 || unit === 0x7d;
  }

  /** Where a field that starts here can end, longest first; `match(...)` also reads as a plain name. */
  #fieldEnds(): readonly number[] {
    const text = this.#text;
    const start = this.#at;
    const plain = this.#token(FIELD, SHOWN.field) ? this.#at : -1;
    this.#at = start;
    let dot = -1;
    for (const document of DOCUMENTS) {
      if (plain < 0 || !this.#literal(document)) {
        if (plain < 0) this.#miss(start, document, false);
        continue;
      }
      if (this.#literal('.')) dot = this.#at;
      this.#at = start;
    }
    if (plain < 0) return [];
    if (dot < 0) return [plain];

    const ends: number[] = [];
    const seen = new Set<number>();
    const open = [dot];
    for (let segment = open.pop(); segment !== undefined; segment = open.pop()) {
      const choices = this.#segmentEnds(segment);
      for (const end of choices) {
        if (text.charCodeAt(end) !== 0x2e) {
          this.#miss(end, '.', false);
          ends.push(end);
        } else if (!seen.has(end)) {
          seen.add(end);
          open.push(end + 1);
        }
      }
    }
    if (ends.length === 0) return [plain];
    return ends.length === 1 ? ends : [...new Set(ends)].sort((a, b) => b - a);
  }

  #segmentEnds(start: number): readonly number[] {
    const text = this.#text;
    if (text.charCodeAt(start) === 0x22) {
      const quoted = matchAt(QUOTED, text, start);
      if (quoted >= 0) return [quoted];
    }
    const bare = matchAt(BARE, text, start);
    const close = text.startsWith('match(', start) ? this.#nextClose(start + 6) : -1;
    if (bare < 0) {
      this.#miss(start, SHOWN.quoted, false);
      this.#miss(start, SHOWN.bare, false);
      this.#miss(start, SHOWN.match, false);
      return [];
    }
    return close < 0 || close + 1 === bare ? [bare] : [bare, close + 1];
  }

  /** The first `)` at or after `from` on its line, or -1. */
  #nextClose(from: number): number {
    const known = this.#close;
    if (from >= known.from && from <= known.until) return known.close;
    let at = from;
    let unit = this.#text.charCodeAt(at);
    while (!Number.isNaN(unit) && unit !== 0x29 && !isLineEnd(unit)) unit = this.#text.charCodeAt(++at);
    this.#close = { from, until: at, close: unit === 0x29 ? at : -1 };
    return this.#close.close;
  }

  // ---- tokens ----

  #literal(literal: string): boolean {
    if (this.#text.startsWith(literal, this.#at)) {
      this.#at += literal.length;
      return true;
    }
    this.#miss(this.#at, literal, false);
    return false;
  }

  #token(pattern: RegExp, shown: string): boolean {
    const end = matchAt(pattern, this.#text, this.#at);
    if (end >= 0) {
      this.#at = end;
      return true;
    }
    this.#miss(this.#at, shown, false);
    return false;
  }

  /** White space, if there is any: true when there was. */
  #white(): boolean {
    const start = this.#at;
    while (isWhite(this.#text.charCodeAt(this.#at))) this.#at++;
    if (this.#at > start) return true;
    this.#miss(start, SHOWN.white, false);
    return false;
  }

  #miss(offset: number, item: string, atEnd: boolean): void {
    if (offset > this.#furthest) this.#furthest = offset;
    if (offset === this.#wanted) this.#expected.set(atEnd ? `${item}$` : item, { item, atEnd });
  }

  #impossible(message: string): void {
    this.impossible ??= badQuery(message);
  }

  #enter(): void {
    if (++this.#depth > this.#depthMax) throw tooDeep(this.#depthMax);
  }
}

const OPERATORS = ['~', '~>', '>=', '<=', '<', '>', '=', '!=', '!~', 'in', 'is null', 'is not null'] as const;

/** An `extract` takes the filter and the grouping in; without one they follow the entity as they are. */
function fromClause(entity: string, columns: Clause | undefined, block: Block): Ast {
  if (columns === undefined) return ['from', entity, ...clausesOf(block)];
  const { filter, groupBy, paging } = block;
  const extract: Ast[] = ['extract', columns];
  if (filter !== undefined) extract.push(filter);
  if (groupBy !== undefined) extract.push(groupBy);
  return ['from', entity, extract, ...paging];
}

function clausesOf(block: Block): Ast[] {
  const clauses: Ast[] = [];
  if (block.filter !== undefined) clauses.push(block.filter);
  if (block.groupBy !== undefined) clauses.push(block.groupBy);
  for (const clause of block.paging) clauses.push(clause);
  return clauses;
}

/** A chain inside a chain of the same word is spliced in. */
function appendTerm(terms: Ast[], term: Ast): Ast[] {
  if (Array.isArray(term) && term[0] === terms[0]) for (let i = 1; i < term.length; i++) terms.push(term[i]);
  else terms.push(term);
  return terms;
}

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const isWhite = (unit: number): boolean => unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);

const isLineEnd = (unit: number): boolean =>
  unit === 0x0a || unit === 0x0d || unit === 0x85 || unit === 0x2028 || unit === 0x2029;

/** What may follow a backslash: anything but a line end and the end of the text. */
const isEscapable = (unit: number): boolean => !Number.isNaN(unit) && !isLineEnd(unit);
