// Compiles a filter to a test on rows. `deps` says what the test reads, so that the planner can run it once a node, once an
// item, or once a row.

import type { EntityName, FieldType } from '../../../../schemas/entities.ts';
import { fieldOf } from '../../../../schemas/entities.ts';
import { compareJson, equalJson, identityText, textForm } from '../../../json/compare.ts';
import { isNumber, type JsonValue, kindOf } from '../../../json/value.ts';
import type { StoredResource } from '../../../store/records/bodies.ts';
import type { StoredEvents } from '../../../store/records/event-record.ts';
import { wantedText } from '../../../store/records/fields.ts';
import { NODE_NUMBER } from '../../../store/records/node-record.ts';
import { pathMatcher } from '../../paths.ts';
import type { CompileRegex } from '../../regex/regex.ts';
import type { Filter } from '../../tree.ts';
import { type Access, accessOf, type EntityAccess, type Level, type Value } from '../row/access.ts';
import { type Traits, traitsOf } from '../row/entities.ts';
import { FactMember } from '../row/fact-member.ts';
import type { Row } from '../row/row.ts';
import { ALTERNATIVES_MIN, commonTexts, textsByField } from './alternatives.ts';
import { CodedTest, isOneOf, judgeOf, type Seek, seekAll, seekAny, storedTest } from './coded.ts';
import { documentTest, firstKeyTest, type JsonFilter } from './json-filter.ts';
import { dottedParameterTest, parameterTest } from './parameters.ts';
import { FALSE, HOLDS, negate, TRUE, type Truth, truthOf, UNKNOWN } from './truth.ts';
import { keyOf, type ValueSet } from './value-set.ts';

export const NODE = 1;
export const ITEM = 2;
export const SUB = 4;
const DEPS: Record<Level, number> = { node: NODE, item: ITEM, sub: SUB, row: NODE | ITEM };

export interface Predicate {
  readonly deps: number;
  test(row: Row): Truth;
  /** Where the codes of events tell which of them can pass. */
  readonly seek?: Seek;
  /** Of such: what `seek` finds passes. */
  readonly isExact?: boolean;
  /** Of a condition on one coded column of events. */
  readonly coded?: CodedTest;
}

/** Whether the row passes the condition. null: there is none. */
export const passes = (condition: Predicate | null, row: Row): boolean =>
  condition === null || condition.test(row) === TRUE;

/** What tests ask of the query that they belong to (context.ts). */
interface CompileContext {
  readonly options: {
    readonly now: number;
    readonly nodePurgeTtl: number;
    readonly edition: 'community' | 'enterprise';
  };
  readonly regex: CompileRegex;
  /** Results of subqueries, as far as they were evaluated. */
  readonly subqueries: ReadonlyMap<Filter, ValueSet>;
  /** Whether there is a node of that name, active or not. */
  hasNode(certname: string): boolean;
  /** To be called now and then: true when the caller should yield. Throws what ends the query. */
  tick(): boolean;
  /** The same, to be called for each of many. */
  tickRow(): boolean;
  /** An item of so many bytes is looked at: `tickRow` looks the sooner. */
  lookedAt(bytes: number): void;
}

export interface CompileScope {
  readonly ctx: CompileContext;
  readonly entity: EntityName;
  readonly traits: Traits;
  readonly access: EntityAccess;
  /** What filters read, as far as it was asked for. */
  readonly deps: WeakMap<Filter, number>;
}

export function scopeOf(ctx: CompileContext, entity: EntityName): CompileScope {
  return { ctx, entity, traits: traitsOf(entity), access: accessOf(entity, ctx.options.edition), deps: new WeakMap() };
}

export function accessFor(scope: CompileScope, field: string): Access {
  const access = scope.access.fields[field];
  if (access === undefined) throw new Error(`no access to ${scope.entity}.${field}`);
  return access;
}

type Of<K extends Filter['kind']> = K extends 'and' | 'or'
  ? Extract<Filter, { kind: 'and' | 'or' }>
  : Extract<Filter, { kind: K }>;
type Compilers = { [K in Filter['kind']]: (filter: Of<K>, scope: CompileScope) => Predicate };

export function compileFilter(filter: Filter, scope: CompileScope): Predicate {
  return (COMPILERS[filter.kind] as (filter: Filter, scope: CompileScope) => Predicate)(filter, scope);
}

/** What the filter reads, as `deps` of what is compiled of it; each part is compiled for it once at most, however often it is asked for. */
export function depsOf(filter: Filter, scope: CompileScope): number {
  let deps = scope.deps.get(filter);
  if (deps === undefined) {
    if (filter.kind === 'and' || filter.kind === 'or') {
      deps = filter.args.reduce((all, arg) => all | depsOf(arg, scope), 0);
    } else deps = filter.kind === 'not' ? depsOf(filter.arg, scope) : compileFilter(filter, scope).deps;
    scope.deps.set(filter, deps);
  }
  return deps;
}

const constant = (truth: Truth): Predicate => ({ deps: 0, test: () => truth });
const isNull = (value: Value): value is null => value === null;

function onField(field: string, scope: CompileScope, test: (value: Value) => Truth): Predicate {
  const { level, value: get, column, stored, isPlain, isNothing } = accessFor(scope, field);
  if (isNothing === true) return constant(test(null));
  if (column !== undefined) return onCodes(new CodedTest(column, judgeOf(test)));
  const ofRow = (row: Row): Truth => test(get(row));
  // Events and reports have the same texts again and again, while the body of an item is looked at once.
  const comeAgain = level === 'sub' || (level === 'item' && scope.traits.shape === 'report' && isPlain === true);
  return { deps: DEPS[level], test: comeAgain && stored !== undefined ? storedTest(stored, ofRow) : ofRow };
}

const onCodes = (coded: CodedTest): Predicate => ({
  deps: SUB,
  test: (row) => coded.of(row.sub as StoredEvents),
  seek: (events, from, to) => coded.seek(events, from, to),
  isExact: true,
  coded,
});

/** More texts than that are found faster in a set. */
const TEXTS_MAX = 4;

/** More values of other kinds than that, too. */
const OTHERS_MAX = 16;

/** Whether a field is one of the texts, without making its value; null where that is not possible, or not worth while. */
function onText(field: string, scope: CompileScope, texts: readonly string[], onNull: Truth): Predicate | null {
  const { level, equals, column } = accessFor(scope, field);
  if (texts.length > TEXTS_MAX) return null;
  const wanted = texts.map(wantedText);
  if (column !== undefined) return onCodes(new CodedTest(column, isOneOf(wanted, onNull)));
  if (equals === undefined) return null;
  return {
    deps: DEPS[level],
    test(row) {
      for (let i = 0; i < wanted.length; i++) {
        const isEqual = equals(row, wanted[i]!);
        if (isEqual === null) return onNull;
        if (isEqual) return TRUE;
      }
      return FALSE;
    },
  };
}

const COMPILERS: Compilers = {
  and: (filter, scope) => conjunction(filter.args.map((arg) => compileFilter(arg, scope))),
  or: (filter, scope) => byText(filter, scope) ?? disjunction(filter.args.map((arg) => compileFilter(arg, scope))),
  not(filter, scope) {
    const { deps, test, coded } = compileFilter(filter.arg, scope);
    if (coded !== undefined) return onCodes(coded.negated());
    return { deps, test: (row) => negate(test(row)) };
  },
  const: (filter) => constant(filter.value === null ? UNKNOWN : truthOf(filter.value)),
  eq(filter, scope) {
    const wanted = filter.value;
    const onNull: Truth = filter.nullSafe ? FALSE : UNKNOWN;
    if (typeof wanted === 'string') {
      const isText = onText(filter.field, scope, [wanted], onNull);
      if (isText !== null) return isText;
    }
    return onField(filter.field, scope, (value) => (isNull(value) ? onNull : truthOf(value === wanted)));
  },
  order(filter, scope) {
    const holds = HOLDS[filter.op];
    const limit = filter.value;
    return onField(filter.field, scope, (value) => (isNull(value) ? UNKNOWN : truthOf(holds(value as number, limit))));
  },
  regex(filter, scope) {
    const matcher = scope.ctx.regex(filter.pattern);
    const onNull: Truth = filter.nullIsFalse ? FALSE : UNKNOWN;
    const type = typeOf(scope.entity, filter.field);
    if (type === 'V') {
      return onField(filter.field, scope, (value) => {
        const text = textForm(value as JsonValue);
        return text === null ? onNull : truthOf(matcher.test(text));
      });
    }
    if (type === 'A') {
      return onField(filter.field, scope, (value) =>
        truthOf(!isNull(value) && (value as string[]).some((v) => matcher.test(v))),
      );
    }
    return onField(filter.field, scope, (value) => (isNull(value) ? onNull : truthOf(matcher.test(value as string))));
  },
  member(filter, scope) {
    const wanted = filter.value;
    if (scope.traits.dictionary === 'resources' && !isCertname(wanted, scope.ctx)) {
      return { deps: ITEM, test: (row) => truthOf((row.body as StoredResource).tags.includes(wanted)) };
    }
    return onField(filter.field, scope, (value) =>
      isNull(value) ? UNKNOWN : truthOf((value as string[]).includes(wanted)),
    );
  },
  'path-eq'(filter, scope) {
    const wanted = new Set(filter.paths.map((path) => JSON.stringify(path)));
    return onPath(filter.field, scope, (path) => wanted.has(JSON.stringify(path)));
  },
  'path-match'(filter, scope) {
    return onPath(filter.field, scope, pathMatcher(filter.pattern, scope.ctx.regex));
  },
  in(filter, scope) {
    const values = new Set<string | number>(filter.values);
    if (values.size === 0) return constant(FALSE);
    const texts = [...values].filter((value) => typeof value === 'string');
    const isText = texts.length === values.size ? onText(filter.field, scope, texts, UNKNOWN) : null;
    if (isText !== null) return isText;
    return onField(filter.field, scope, (value) =>
      isNull(value) ? UNKNOWN : truthOf(values.has(value as string | number)),
    );
  },
  null: (filter, scope) => onField(filter.field, scope, (value) => truthOf(isNull(value))),
  'value-in'(filter, scope) {
    const texts = new Set<string>();
    const others: JsonValue[] = [];
    for (const value of filter.values) {
      if (typeof value === 'string') texts.add(value);
      else others.push(value);
    }
    const identities = others.length > OTHERS_MAX ? new Set(others.map(identityText)) : null;
    return onField(filter.field, scope, (value) => {
      if (typeof value === 'string') return truthOf(texts.has(value));
      if (identities !== null) return truthOf(identities.has(identityText(value as JsonValue)));
      for (const other of others) if (equalJson(value as JsonValue, other)) return TRUE;
      return FALSE;
    });
  },
  'value-order'(filter, scope) {
    const holds = HOLDS[filter.op];
    const limit = filter.value;
    return onField(filter.field, scope, (value) =>
      truthOf(isNumber(value as JsonValue) && holds(compareJson(value as JsonValue, limit), 0)),
    );
  },
  json: (filter, scope) =>
    filter.root === 'parameters'
      ? { deps: ITEM, test: dottedParameterTest(filter, scope.ctx.regex) }
      : onFacts(filter, scope),
  parameter: (filter, scope) => ({ deps: ITEM, test: parameterTest(filter, scope.ctx.regex) }),
  'jsonb-typeof'(filter, scope) {
    return onField(filter.field, scope, (value) => truthOf(kindOf(value as JsonValue) === filter.type));
  },
  'in-query'(filter, scope) {
    const set = scope.ctx.subqueries.get(filter);
    if (set === undefined) throw new Error('subquery was not evaluated before its use');
    const access = filter.fields.map((field) => accessFor(scope, field));
    const types = filter.fields.map((field) => typeOf(scope.entity, field));
    const deps = access.reduce((all, a) => all | DEPS[a.level], 0);
    const nodes = set.nodes;
    if (nodes !== null) return { deps, test: (row) => truthOf(nodes[row.part]!.has(row.nodeId)) };
    const tuple = new Array<string | null>(access.length);
    if (access.length === 1 && access[0]!.column !== undefined)
      return onField(filter.fields[0]!, scope, (value) => set.has([keyOf(value, types[0]!, types[0]!)]));
    return {
      deps,
      test(row) {
        for (let i = 0; i < access.length; i++) tuple[i] = keyOf(access[i]!.value(row), types[i]!, types[i]!);
        return set.has(tuple);
      },
    };
  },
  'node-state'(filter, scope) {
    const { now, nodePurgeTtl } = scope.ctx.options;
    const horizon = nodePurgeTtl === 0 ? Number.NEGATIVE_INFINITY : now - nodePurgeTtl;
    const wantsActive = filter.state === 'active';
    return {
      deps: NODE,
      test(row) {
        const deactivated = row.node.number(NODE_NUMBER.deactivated);
        const expired = row.node.number(NODE_NUMBER.expired);
        if (wantsActive) return truthOf(deactivated === null && expired === null);
        return truthOf((deactivated !== null && deactivated > horizon) || (expired !== null && expired > horizon));
      },
    };
  },
};

/** Whether a tag of that text can be a node's own (see own-tag.ts): then the shared body does not tell. */
export const isCertname = (text: string, ctx: CompileContext): boolean => ctx.hasNode(text);

export function typeOf(entity: EntityName, field: string): FieldType {
  return fieldOf(entity, field)?.type ?? 'S';
}

export function conjunction(args: readonly Predicate[]): Predicate {
  const seeks = seeksOf(args);
  return combined(args, FALSE, seeks.length > 0 ? seekAll(seeks) : undefined);
}

function disjunction(args: readonly Predicate[]): Predicate {
  const seeks = seeksOf(args);
  return combined(args, TRUE, seeks.length > 0 && seeks.length === args.length ? seekAny(seeks) : undefined);
}

/**
 * Many alternatives that all compare one text field with texts of their own: a row is tested with those of its text only, for the others
 * are false. Null where they are few or do not.
 */
function byText(filter: Of<'or'>, scope: CompileScope): Predicate | null {
  const { args } = filter;
  const field = args.length < ALTERNATIVES_MIN ? null : tellingField(args, scope);
  if (field === null) return null;
  const compiled = args.map((arg) => compileFilter(arg, scope));
  const groups = new Map<string, Predicate[]>();
  for (const [i, arg] of args.entries()) {
    for (const text of textsByField(arg).get(field)!) {
      const group = groups.get(text);
      if (group === undefined) groups.set(text, [compiled[i]!]);
      else group.push(compiled[i]!);
    }
  }
  const tests = new Map<string, Predicate['test']>();
  for (const [text, group] of groups) tests.set(text, disjunction(group).test);
  // Where the field is null each of them may be unknown.
  const whole = disjunction(compiled).test;
  const { value: get } = accessFor(scope, field);
  return {
    deps: depsOf(filter, scope),
    test(row) {
      const value = get(row);
      if (isNull(value)) return whole(row);
      const test = tests.get(value as string);
      return test === undefined ? FALSE : test(row);
    },
  };
}

/** The field that all of them compare with texts, of several the one with the most different ones; null: there is none. */
function tellingField(args: readonly Filter[], { entity, access }: CompileScope): string | null {
  // Codes of events are decided once each, all conditions on them together.
  const isServed = (field: string): boolean =>
    typeOf(entity, field) === 'S' && access.fields[field]?.column === undefined;
  let best: string | null = null;
  let most = 0;
  for (const [field, texts] of commonTexts(args, isServed)) {
    if (texts.size <= most) continue;
    best = field;
    most = texts.size;
  }
  return best;
}

/** `decisive`: the truth of one of them that decides for all. */
function combined(args: readonly Predicate[], decisive: Truth, seek: Seek | undefined): Predicate {
  if (args.length === 1) return args[0]!;
  const tests = args.map((a) => a.test);
  const otherwise = negate(decisive);
  return {
    deps: args.reduce((all, a) => all | a.deps, 0),
    ...(seek !== undefined && { seek, isExact: args.every(({ isExact }) => isExact) }),
    test(row) {
      let result = otherwise;
      for (let i = 0; i < tests.length; i++) {
        const truth = tests[i]!(row);
        if (truth === decisive) return decisive;
        if (truth === UNKNOWN) result = UNKNOWN;
      }
      return result;
    },
  };
}

const seeksOf = (args: readonly Predicate[]): readonly Seek[] =>
  args.flatMap(({ seek }) => (seek === undefined ? [] : [seek]));

/** Fields of path type. */
function onPath(field: string, scope: CompileScope, test: (path: readonly (string | number)[]) => boolean): Predicate {
  // Leaves that are alike share one path.
  let last: Value = null;
  let verdict: Truth = FALSE;
  return onField(field, scope, (value) => {
    if (value !== last) {
      verdict = truthOf(test(value as readonly (string | number)[]));
      last = value;
    }
    return verdict;
  });
}

function onFacts(filter: JsonFilter, scope: CompileScope): Predicate {
  if (filter.parts.length === 0) {
    const test = documentTest(filter, scope.ctx.regex);
    return onField(filter.root, scope, (value) => test(value as JsonValue));
  }
  const { first, missing, path, judge } = firstKeyTest(filter, scope.ctx.regex);
  const member = new FactMember(first, path, (bytes) => scope.ctx.lookedAt(bytes));
  return {
    deps: NODE,
    test(row) {
      const item = member.item(row);
      return item === 0 ? missing : judge(member.find(row, item));
    },
  };
}
