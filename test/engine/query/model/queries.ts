// Random queries as clients write them: ASTs over every entity, built from the field tables and from values that the fleet
// really has, so that most conditions are true somewhere and false elsewhere. What the resolver refuses is thrown away.

import fc from 'fast-check';
import { textForm } from '../../../../engine/json/compare.ts';
import { Float, isArray, isObject, type JsonObject, type JsonValue } from '../../../../engine/json/value.ts';
import { relationBetween } from '../../../../engine/query/resolve/entities.ts';
import { type EntityName, entityNames, entityOf, type Field, findEntity } from '../../../../schemas/entities.ts';
import type { Cell, World } from './world.ts';

export interface Asked {
  readonly entity: EntityName;
  /** A filter or an `extract`; null: everything. */
  readonly body: JsonValue;
  /** As the root endpoint gets it, or as the entity's route does. */
  readonly form: 'root' | 'route';
  readonly activeFilter: boolean;
  readonly orderBy: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[];
  readonly limit: number | null;
  readonly offset: number | null;
  readonly includeFactsExpiration: boolean;
  readonly includePackageInventory: boolean;
  /** Events only: `distinct_resources` with these times. */
  readonly distinct: { readonly start: number; readonly end: number } | null;
}

type Arb = fc.Arbitrary<JsonValue>;

const QUERYABLE: readonly EntityName[] = entityNames().filter((name) => !entityOf(name).pseudo);

const isoOf = (ms: number): string => new Date(ms).toISOString();
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const ODD_VALUES: readonly JsonValue[] = [
  0,
  5,
  new Float(5),
  5.5,
  -3,
  9_007_199_254_740_993n,
  '5',
  '',
  'nope',
  true,
  false,
  [],
  {},
  ['a'],
  [1, 'a'],
  { a: 1 },
  { family: 'Debian' },
];
const ODD_TEXTS = ['', 'nope', '5', 'Linux', 'production', 'ü'];
const PATTERNS = ['', '.', '^[a-m]', '(?i)LINUX', '\\d', '^$', 'a|e', '[[:upper:]]', '5$', '^.{3}$', 'x?y', '\\.0$'];
const ORDERS = ['<', '<=', '>', '>='];

/** Values that the world has, by entity and field. */
class Pools {
  readonly #world: World;
  readonly #pools = new Map<string, readonly Cell[]>();

  constructor(world: World) {
    this.#world = world;
  }

  of(entity: EntityName, field: string): readonly Cell[] {
    const key = `${entity}.${field}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      const cells = this.#world.rows(entity).map((row) => row.cells[field] ?? null);
      const distinct = new Map(cells.map((cell) => [cell === null ? '' : `${typeof cell} ${textForm(cell)}`, cell]));
      this.#pools.set(key, (pool = [...distinct.values()].filter((cell) => cell !== null)));
    }
    return pool;
  }
}

const pick = <T>(list: readonly T[]): fc.Arbitrary<T> => fc.nat({ max: list.length - 1 }).map((i) => list[i]!);

/** Mostly one of the pool, sometimes one of the others. */
const mostly = (pool: readonly JsonValue[], others: readonly JsonValue[]): Arb =>
  pool.length === 0
    ? pick(others)
    : fc.oneof({ weight: 5, arbitrary: pick(pool) }, { weight: 1, arbitrary: pick(others) });

/** Patterns that have to do with the texts. */
function patternFor(texts: readonly string[]): fc.Arbitrary<string> {
  if (texts.length === 0) return pick(PATTERNS);
  const ofText = fc.tuple(pick(texts), fc.nat({ max: 5 })).map(([text, how]) => {
    const part = escaped([...text].slice(0, 3).join(''));
    return [
      `^${part}`,
      part,
      `${escaped([...text].slice(-3).join(''))}$`,
      `^${escaped(text)}$`,
      `(?i)${part.toUpperCase()}`,
      `${part}|x`,
    ][how]!;
  });
  return fc.oneof({ weight: 3, arbitrary: ofText }, { weight: 1, arbitrary: pick(PATTERNS) });
}

const textsOf = (cells: readonly Cell[]): string[] =>
  cells.flatMap((cell) => (isArray(cell) ? cell.flat() : [cell])).filter((cell) => typeof cell === 'string');

const listOf = (value: Arb): Arb => fc.array(value, { maxLength: 4 });

// ---- dotted fields ----

/** A path through the document, with names quoted where they must be; ends somewhere inside, or just outside. */
function dottedPath(
  document: JsonObject,
  turns: readonly number[],
): { readonly text: string; readonly value: JsonValue } {
  let text = '';
  let at: JsonValue = document;
  for (const turn of turns) {
    if (isObject(at)) {
      const keys: string[] = Object.keys(at);
      if (keys.length === 0) break;
      const key: string = keys[turn % keys.length]!;
      const quoted = key === '' || /[."[\]]/.test(key) || turn % 7 === 0;
      if (key === '' || key.includes('"')) break;
      text += quoted ? `."${key}"` : `.${key}`;
      at = at[key]!;
    } else if (isArray(at)) {
      if (at.length === 0) break;
      const index: number = turn % (at.length + 1);
      text += turn % 2 === 0 && text !== '' && !text.endsWith('"') ? `[${index}]` : `.${index}`;
      at = at[index] ?? null;
    } else break;
    if (turn % 3 === 0) break;
  }
  return { text, value: at };
}

const STRAY_PATHS = [
  '.nope',
  '.kernel',
  '.os.nope',
  '.os.family',
  '.arr[0]',
  '.arr.0',
  '.h.5',
  '.1',
  '.mixed',
  '.mixed[0]',
  '.num',
  '.os.release.minor',
  '.h.x.y',
  '.arr[2]',
];

function dottedField(pools: Pools, entity: 'inventory' | 'resources', root: string) {
  const documents = pools.of(entity, root).filter(isObject);
  const stray = fc.tuple(pick(STRAY_PATHS), pick(ODD_VALUES)).map(([text, value]) => ({ text: root + text, value }));
  if (documents.length === 0) return stray;
  const walked = fc
    .tuple(pick(documents), fc.array(fc.nat({ max: 1000 }), { minLength: 1, maxLength: 4 }))
    .map(([document, turns]) => dottedPath(document, turns))
    .map(({ text, value }) => ({ text: text === '' ? `${root}.nope` : root + text, value }));
  return fc.oneof({ weight: 5, arbitrary: walked }, { weight: 1, arbitrary: stray });
}

const MATCHES = [
  'match("k.*")',
  'match("^os$")',
  'os.match("f.*|n.*")',
  'arr.match("[01]")',
  'h.match("5|y")',
  'match("nothing")',
];

function dottedClause(pools: Pools, entity: 'inventory' | 'resources'): Arb {
  const roots = entity === 'inventory' ? ['facts', 'facts', 'trusted'] : ['parameters'];
  const field = fc.oneof(...roots.map((root) => dottedField(pools, entity, root)));
  const ops = ['=', '=', '=', ...ORDERS, '~', '~', 'null?', 'null?'];
  const usual = fc
    .tuple(field, pick(ops), pick(ODD_VALUES), fc.boolean(), patternFor([]))
    .map(([{ text, value }, op, other, isOwn, pattern]): JsonValue => {
      if (op === 'null?') return [op, text, isOwn];
      if (op === '~') return [op, text, pattern];
      return [op, text, isOwn ? value : other];
    });
  if (entity === 'resources') return usual;
  const matched = fc
    .tuple(pick(MATCHES), pick(['=', '~', '<']), pick(['Linux', 'a', 5, 'Debian', 'five', {}]))
    .map(([text, op, value]): JsonValue => [op, `facts.${text}`, op === '~' ? String(value) : value]);
  return fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: matched });
}

// ---- conditions on one field ----

/** A path that some fact has, or nearly. */
function pathArb(pools: Pools): Arb {
  const known = pools.of('fact_contents', 'path');
  return fc.oneof(
    { weight: 4, arbitrary: mostly(known, [['nope']]) },
    { weight: 1, arbitrary: pick<JsonValue>([['h', 5], ['h', '5'], ['arr', 0], ['arr', '0'], ['os'], ['1']]) },
  );
}

const PATH_PATTERNS: readonly JsonValue[] = [
  ['os', '.*'],
  ['o', 'family'],
  ['arr', '1'],
  ['arr', 0],
  ['arr', '[01]'],
  ['.*', '.*'],
  ['^h$', '5'],
  ['.+', '.*', '.{1,3}'],
  ['[a-k].*'],
  ['arr', '.*', 'c', 0],
];

function fieldClause(pools: Pools, entity: EntityName, field: Field): Arb {
  const { name } = field;
  const pool = pools.of(entity, name === 'tag' ? 'tags' : name);
  const nullTest = fc.boolean().map((flag): JsonValue => ['null?', name, flag]);
  const isNull = fc.constant<JsonValue>(['=', name, null]);
  const rare = fc.oneof(nullTest, isNull);
  const usual = usualClause(pools, field, pool);
  return usual === null ? rare : fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: rare });
}

function usualClause(pools: Pools, { name, type, store }: Field, pool: readonly Cell[]): Arb | null {
  const clause = (op: string, value: Arb): Arb => value.map((v): JsonValue => [op, name, v]);
  const inArray = (value: Arb): Arb => listOf(value).map((values): JsonValue => ['in', name, ['array', values]]);
  switch (type) {
    case 'S': {
      if (store === 'boolean') return clause('=', fc.boolean());
      if (store === 'timestamp') return null;
      const value = mostly(pool, ODD_TEXTS);
      return fc.oneof(clause('=', value), clause('=', value), clause('~', patternFor(textsOf(pool))), inArray(value));
    }
    case 'B':
      return clause('=', fc.boolean());
    case 'N': {
      const value = mostly(pool, [0, 3, 5.5, new Float(10)]);
      return fc.oneof(clause('=', value), ...ORDERS.map((op) => clause(op, value)));
    }
    case 'T': {
      const value = mostly(pool, [0, 1_795_219_868_000]).map((ms) => isoOf(ms as number));
      return fc.oneof(clause('=', value), ...ORDERS.map((op) => clause(op, value)), inArray(value));
    }
    case 'A': {
      const texts = textsOf(pool);
      return fc.oneof(clause('=', mostly(texts, ['nope', 'FILE', 5])), clause('~', patternFor(texts)));
    }
    case 'PA':
    case 'PE': {
      const path = pathArb(pools);
      const forms = [clause('=', path), clause('~>', pick(PATH_PATTERNS)), inArray(path)];
      return fc.oneof(...forms, ...(type === 'PE' ? [clause('~', patternFor(['os#~family', 'arr#~0']))] : []));
    }
    case 'V': {
      const value = mostly(pool, ODD_VALUES);
      const isTyped = pick(['number', 'string', 'boolean', 'null', 'array', 'object']);
      return fc.oneof(
        clause('=', value),
        clause('~', patternFor(textsOf(pool))),
        inArray(value),
        ...ORDERS.map((op) =>
          clause(
            op,
            mostly(
              pool.filter((v) => typeof v === 'number'),
              [1, 5],
            ),
          ),
        ),
        isTyped.map((t): JsonValue => ['=', ['function', 'jsonb_typeof', name], t]),
      );
    }
    case 'J':
      return name === 'facts' || name === 'trusted' || name === 'parameters'
        ? clause(
            '=',
            pick<JsonValue>([{}, { kernel: 'Linux' }, { ensure: 'present' }, { arr: ['b'] }, { mode: '0644' }]),
          )
        : null;
    case 'X':
      return null;
  }
}

// ---- special forms ----

const FACT_NAMES = [
  'kernel',
  'uptime_seconds',
  'mixed',
  'os.family',
  'arr[0]',
  'dot.ted',
  'is_virtual',
  'flt',
  'nope',
  '1',
  'h.5',
];

function nodeClause(pools: Pools): Arb {
  const facts = pools.of('facts', 'value');
  const texts = facts.filter((value) => typeof value === 'string' || typeof value === 'boolean');
  const fact = fc
    .tuple(pick(FACT_NAMES), mostly(texts, ['nope']))
    .map(([name, value]): JsonValue => ['=', ['fact', name], value]);
  const numeric = fc
    .tuple(pick(FACT_NAMES), pick(['=', ...ORDERS]), pick([5, 1000, 0.5, new Float(5), 1500]))
    .map(([name, op, value]): JsonValue => [op, ['fact', name], value]);
  const regex = fc
    .tuple(pick(FACT_NAMES), patternFor(textsOf(facts)))
    .map(([name, r]): JsonValue => ['~', ['fact', name], r]);
  const among = fc
    .tuple(pick(FACT_NAMES), pick<JsonValue>([['Linux', 'five', '5'], [5, 1000], [true], [0.5, 1.5]]))
    .map(([name, values]): JsonValue => ['in', ['fact', name], ['array', values]]);
  const state = pick<JsonValue>([
    ['=', 'node_state', 'active'],
    ['=', 'node_state', 'inactive'],
    ['=', 'node_state', 'ANY'],
    ['=', ['node', 'active'], true],
    ['=', ['node', 'active'], false],
    ['or', ['=', ['node', 'active'], true], ['=', ['node', 'active'], false]],
  ]);
  return fc.oneof(fact, numeric, regex, among, state);
}

function parameterClause(pools: Pools): Arb {
  const values = pools.of('resources', 'parameters').flatMap((p) => Object.values(p as JsonObject));
  const names = ['ensure', 'mode', 'num', 'list', 'hash', 'owner', 'nope'];
  const equal = fc
    .tuple(pick(names), mostly(values, ODD_VALUES))
    .map(([n, v]): JsonValue => ['=', ['parameter', n], v]);
  const regex = fc
    .tuple(pick(names), pick(['pres.*', '5', '.*', '06[0-9]+']))
    .map(([n, r]): JsonValue => ['~', ['parameter', n], r]);
  return fc.oneof(equal, regex);
}

// ---- subqueries ----

/** The ids behind latest_report_id are the store's own and equal nothing that a client could know. */
const SELECTABLE: readonly EntityName[] = entityNames().filter(
  (name) => name !== 'fact_names' && name !== 'latest_report_id',
);
const selectName = (entity: EntityName): string => (entity === 'resource_params' ? 'params' : entity);

/** Pairs of fields that can be compared. */
function columnPairs(outer: EntityName, inner: EntityName): [string, string][] {
  const usable = (name: EntityName): Field[] =>
    entityOf(name).fields.filter(
      (f) => f.queryable && f.requires === null && f.name !== 'tag' && !f.name.endsWith('_value'),
    );
  const isText = (f: Field): boolean => f.type === 'S' && f.store === 'text';
  return usable(outer).flatMap((a) =>
    usable(inner)
      .filter((b) => {
        if (a.type === 'J' || b.type === 'J') return false;
        if (a.type === 'V' || b.type === 'V') return a.type === b.type || isText(a) || isText(b) || a.type === 'N';
        if (a.type === 'PA' || a.type === 'PE') return b.type === 'PA' || b.type === 'PE';
        return a.type === b.type && a.store === b.store;
      })
      .map((b): [string, string] => [a.name, b.name]),
  );
}

/** `in` with a subquery, in all the ways to write one, and implicit relations. */
function subqueryClause(outer: EntityName, filterOf: (entity: EntityName) => Arb): Arb {
  const related = SELECTABLE.filter((inner) => relationBetween(outer, inner) !== undefined);
  const implicit =
    related.length === 0
      ? []
      : [pick(related).chain((inner) => filterOf(inner).map((filter): JsonValue => ['subquery', inner, filter]))];
  const explicit = pick(SELECTABLE).chain((inner) => {
    const pairs = columnPairs(outer, inner);
    if (pairs.length === 0) return fc.constant<JsonValue>(['=', 'type', 'any']);
    const natural = pairs.filter(([a, b]) => a === b);
    const pair =
      natural.length === 0
        ? pick(pairs)
        : fc.oneof({ weight: 3, arbitrary: pick(natural) }, { weight: 1, arbitrary: pick(pairs) });
    const chosen = fc.uniqueArray(pair, { minLength: 1, maxLength: 2, selector: ([a]) => a });
    return fc
      .tuple(chosen, filterOf(inner), fc.nat({ max: 3 }), fc.nat({ max: 6 }), fc.nat({ max: 2 }), fc.boolean())
      .map(([columns, filter, form, limit, offset, isDescending]): JsonValue => {
        const fields = columns.map(([a]) => a);
        const inside = columns.map(([, b]) => b);
        const outside: JsonValue = fields.length === 1 ? fields[0]! : fields;
        const select: JsonValue = [`select_${selectName(inner)}`, filter];
        if (form === 0) return ['in', outside, ['extract', inside.length === 1 ? inside[0]! : inside, select]];
        if (form === 1) return ['in', fields, ['extract', inside, select]];
        if (inner === 'resource_params') return ['in', fields, ['extract', inside, select]];
        const from: JsonValue = ['from', inner, ['extract', inside, filter]];
        if (form === 2) return ['in', fields, from];
        // Rows that are equal in what they are ordered by are equal in what they give.
        const order = inside.map((name): JsonValue => [name, isDescending ? 'desc' : 'asc']);
        return ['in', fields, [...from, ['order_by', order], ['limit', limit], ['offset', offset]]];
      });
  });
  return fc.oneof(...implicit, explicit);
}

// ---- filters ----

/** Any filter on the entity. `depth`: levels of logic, `nested`: levels of subqueries. */
function filterArb(world: World): (entity: EntityName, depth: number, nested: number) => Arb {
  const pools = new Pools(world);
  const arb = (entity: EntityName, depth: number, nested: number): Arb => {
    const { fields, hasCertname } = entityOf(entity);
    const usual = fields
      .filter((f) => f.queryable && f.requires === null)
      .map((field) => fieldClause(pools, entity, field));
    const leaves: fc.WeightedArbitrary<JsonValue>[] = [{ weight: 8, arbitrary: fc.oneof(...usual) }];
    if (entity === 'inventory' || entity === 'resources')
      leaves.push({ weight: 8, arbitrary: dottedClause(pools, entity) });
    if (entity === 'resources') leaves.push({ weight: 2, arbitrary: parameterClause(pools) });
    if (hasCertname) leaves.push({ weight: 2, arbitrary: nodeClause(pools) });
    if (fields.some((f) => f.name === 'type'))
      leaves.push({ weight: 1, arbitrary: fc.constant<JsonValue>(['=', 'type', 'any']) });
    if (nested > 0)
      leaves.push({
        weight: 4,
        arbitrary: fc.constant(null).chain(() => subqueryClause(entity, (inner) => arb(inner, 1, nested - 1))),
      });
    const leaf = fc.oneof(...leaves);
    if (depth === 0) return leaf;
    const below = fc.constant(null).chain(() => arb(entity, depth - 1, nested));
    const logic = (op: string): Arb =>
      fc.array(below, { minLength: 1, maxLength: 3 }).map((args): JsonValue => [op, ...args]);
    return fc.oneof(
      { weight: 3, arbitrary: leaf },
      { weight: 2, arbitrary: logic('and') },
      { weight: 2, arbitrary: logic('or') },
      { weight: 2, arbitrary: below.map((arg): JsonValue => ['not', arg]) },
    );
  };
  return arb;
}

// ---- projections ----

const MASKS = ['YYYY-MM', 'DD HH24:MI', 'MS'];

function columnsArb(pools: Pools, entity: EntityName): Arb {
  const { fields } = entityOf(entity);
  const names: Arb[] = fields
    .filter((f) => f.projectable && f.requires === null)
    .map((f) => fc.constant<JsonValue>(f.name));
  if (entity === 'inventory' || entity === 'resources') {
    const root = entity === 'inventory' ? 'facts' : 'parameters';
    names.push(dottedField(pools, entity, root).map(({ text }): JsonValue => text));
  }
  return fc.uniqueArray(fc.oneof(...names), { minLength: 1, maxLength: 5, selector: (c) => String(c).toLowerCase() });
}

function functionArb(entity: EntityName): Arb {
  const { fields } = entityOf(entity);
  const projectable = fields.filter((f) => f.projectable && f.requires === null);
  const calls: Arb[] = [fc.constant<JsonValue>(['function', 'count'])];
  const call = (fn: string, usable: readonly Field[]): void => {
    if (usable.length > 0) calls.push(pick(usable).map((f): JsonValue => ['function', fn, f.name]));
  };
  call(
    'count',
    projectable.filter((f) => f.type !== 'X' && f.type !== 'J'),
  );
  const numbers = projectable.filter((f) => f.type === 'N' || f.type === 'V');
  for (const fn of ['sum', 'avg']) call(fn, numbers);
  for (const fn of ['min', 'max'])
    call(
      fn,
      projectable.filter((f) => /^[SNTVA]$/.test(f.type) && f.store !== 'boolean'),
    );
  return fc.oneof(...calls);
}

/** Columns, functions and a grouping clause that go together. */
function groupedArb(
  pools: Pools,
  entity: EntityName,
): fc.Arbitrary<{ columns: JsonValue[]; groupBy: JsonValue[] | null }> {
  const { fields } = entityOf(entity);
  const groupable = fields.filter(
    (f) => f.requires === null && f.projectable && f.type !== 'X' && (f.type !== 'J' || entity !== 'factsets'),
  );
  const times = fields.filter((f) => f.store === 'timestamp' && f.projectable && f.requires === null);
  const keys: Arb[] = groupable.map((f) => fc.constant<JsonValue>(f.name));
  if (entity === 'inventory' || entity === 'resources') {
    keys.push(
      dottedField(pools, entity, entity === 'inventory' ? 'facts' : 'parameters').map(({ text }): JsonValue => text),
    );
  }
  const masked: Arb =
    times.length === 0
      ? fc.constant(null)
      : fc.option(
          fc.tuple(pick(times), pick(MASKS)).map(([f, mask]): JsonValue => ['function', 'to_string', f.name, mask]),
        );
  return fc
    .tuple(
      fc.uniqueArray(fc.oneof(...keys), { maxLength: 3, selector: (c) => String(c).toLowerCase() }),
      fc.array(functionArb(entity), { maxLength: 3 }),
      masked,
      fc.nat({ max: 4 }),
    )
    .map(([names, functions, mask, form]) => {
      if (names.length === 0 && mask === null) return { columns: functions, groupBy: null };
      // A field need not be shown to be grouped by; a member of a document must be.
      const shown = form === 0 ? names.filter((n) => String(n).includes('.')) : names;
      const calls = mask === null ? functions : [mask, ...functions];
      const groupBy = mask === null ? names : [...names, ['function', 'to_string']];
      return { columns: [...shown, ...calls], groupBy: groupBy as JsonValue[] };
    });
}

// ---- queries ----

/** Entities with more ways to be executed come more often. */
const ASKED: readonly EntityName[] = [...QUERYABLE, 'inventory', 'inventory', 'nodes', 'resources', 'facts', 'reports'];

/** Queries of the root and of entity routes. */
export function queryArb(world: World): fc.Arbitrary<Asked> {
  const pools = new Pools(world);
  const filterOf = filterArb(world);
  return pick(ASKED).chain((entity) => {
    const filter: Arb = fc.oneof(
      { weight: 1, arbitrary: fc.constant(null) },
      { weight: 6, arbitrary: filterOf(entity, 3, 2) },
    );
    const columns = columnsArb(pools, entity);
    const body: fc.Arbitrary<{ body: JsonValue; groupBy: readonly JsonValue[] | null }> = fc.oneof(
      filter.map((f) => ({ body: f, groupBy: null })),
      fc.tuple(columns, filter).map(([c, f]) => ({ body: extract(c, f, null), groupBy: null })),
      fc
        .tuple(groupedArb(pools, entity), filter)
        .map(([g, f]) => ({ body: extract(g.columns, f, g.groupBy), groupBy: g.groupBy })),
    );
    const orderable = (findEntity(entity)?.fields ?? []).filter(
      (f) => f.queryable && f.requires === null && f.name !== 'tag' && f.type !== 'J',
    );
    const order = fc.uniqueArray(
      fc.record({ field: pick(orderable.map((f) => f.name)), order: fc.constantFrom('asc' as const, 'desc' as const) }),
      { maxLength: 3, selector: (term) => term.field },
    );
    return fc
      .record({
        entity: fc.constant(entity),
        shaped: body,
        form: fc.constantFrom('root' as const, 'route' as const),
        activeFilter: fc.boolean().map((flag) => flag && entityOf(entity).hasCertname),
        orderBy: order,
        limit: fc.option(fc.integer({ min: 1, max: 30 })),
        offset: fc.option(fc.nat({ max: 10 })),
        includeFactsExpiration: fc.boolean(),
        includePackageInventory: fc.boolean(),
        distinct: fc.constant(null),
      })
      .map(
        ({ shaped, orderBy, ...rest }): Asked => ({
          ...rest,
          body: shaped.body,
          // Groups are ordered by what they are grouped by.
          orderBy: shaped.groupBy === null ? orderBy : orderBy.filter(({ field }) => shaped.groupBy!.includes(field)),
        }),
      );
  });
}

function extract(columns: JsonValue, filter: JsonValue, groupBy: readonly JsonValue[] | null): JsonValue {
  const parts: JsonValue[] = ['extract', columns];
  if (filter !== null) parts.push(filter);
  if (groupBy !== null) parts.push(['group_by', ...groupBy]);
  return parts;
}

// ---- events ----

const NEVER_NULL = ['certname', 'report', 'environment', 'resource_type', 'resource_title', 'status'];
const NULLABLE = ['property', 'message', 'file', 'containing_class'];

/** A filter in the older language that events have with `distinct_resources`. */
function distinctFilterArb(pools: Pools): fc.Arbitrary<JsonValue> {
  const clause = (op: string, field: string, value: Arb): Arb => value.map((v): JsonValue => [op, field, v]);
  const of = (field: string): readonly Cell[] => pools.of('events', field);
  const texts = [...NEVER_NULL, ...NULLABLE].flatMap((field) => {
    const equal = clause('=', field, mostly(of(field), ['nope']));
    return field === 'report' ? [equal] : [equal, clause('~', field, patternFor(textsOf(of(field))))];
  });
  const leaves = [
    ...texts,
    ...NULLABLE.map((field) => fc.constant<JsonValue>(['=', field, null])),
    clause('=', 'line', mostly(of('line'), [99])),
    clause('=', 'new_value', pick<JsonValue>(['present', 5, null, true])),
    clause('=', 'latest_report?', fc.boolean()),
    clause('=', 'corrective_change', fc.boolean()),
    ...ORDERS.map((op) =>
      clause(
        op,
        'timestamp',
        mostly(of('timestamp'), [0]).map((ms) => isoOf(ms as number)),
      ),
    ),
    pick<JsonValue>([
      ['in', 'certname', ['extract', 'certname', ['select_resources', ['=', 'type', 'File']]]],
      ['in', 'certname', ['extract', 'certname', ['select_facts', ['=', 'name', 'kernel']]]],
      ['in', 'resource_title', ['extract', 'title', ['select_resources', ['=', 'tag', 'apache']]]],
    ]),
  ];
  const leaf = fc.oneof(...leaves);
  return fc.oneof(
    { weight: 2, arbitrary: leaf },
    { weight: 1, arbitrary: leaf.map((arg): JsonValue => ['not', arg]) },
    { weight: 1, arbitrary: fc.tuple(pick(['and', 'or']), leaf, leaf).map(([op, a, b]): JsonValue => [op, a, b]) },
    { weight: 1, arbitrary: fc.constant(null) },
  );
}

/** Two moments of the fleet's events, the earlier one first. */
function spanArb(pools: Pools): fc.Arbitrary<{ start: number; end: number }> {
  const times = pools.of('events', 'timestamp') as readonly number[];
  return fc.tuple(pick(times), pick(times)).map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }));
}

/** Events with `distinct_resources`. */
export function distinctArb(world: World): fc.Arbitrary<Asked> {
  const pools = new Pools(world);
  const order = fc.record({
    field: pick(['timestamp', 'certname', 'resource_title', 'property', 'new_value', 'containing_class']),
    order: fc.constantFrom('asc' as const, 'desc' as const),
  });
  return fc.record({
    entity: fc.constant('events' as const),
    body: distinctFilterArb(pools),
    form: fc.constant('route' as const),
    activeFilter: fc.constant(false),
    orderBy: fc.uniqueArray(order, { maxLength: 2, selector: (term) => term.field }),
    limit: fc.option(fc.integer({ min: 1, max: 30 })),
    offset: fc.option(fc.nat({ max: 10 })),
    includeFactsExpiration: fc.constant(false),
    includePackageInventory: fc.constant(false),
    distinct: spanArb(pools),
  });
}

export interface AskedCounts {
  readonly summarizeBy: string;
  readonly countBy: 'resource' | 'certname';
  readonly query: JsonValue;
  readonly countsFilter: JsonValue;
  readonly orderBy: readonly { readonly field: string; readonly order: 'asc' | 'desc' }[];
  readonly limit: number | null;
  readonly offset: number | null;
  readonly distinct: { readonly start: number; readonly end: number } | null;
}

const SUMMARIES = {
  certname: ['certname'],
  resource: ['resource_type', 'resource_title'],
  containing_class: ['containing_class'],
};

/** Event counts of all kinds. */
export function countsArb(world: World): fc.Arbitrary<AskedCounts> {
  const pools = new Pools(world);
  const counts =
    world.edition === 'community'
      ? ['failures', 'successes', 'noops', 'skips']
      : ['failures', 'skips', 'intentional_successes', 'corrective_successes', 'intentional_noops', 'corrective_noops'];
  const usual = filterArb(world)('events', 1, 1);
  return pick(['certname', 'resource', 'containing_class'] as const).chain((summarizeBy) =>
    fc
      .record({
        summarizeBy: fc.constant(summarizeBy),
        countBy: fc.constantFrom('resource' as const, 'certname' as const),
        usual: fc.option(usual),
        older: distinctFilterArb(pools),
        countsFilter: fc.option(fc.tuple(pick(['=', ...ORDERS]), pick(counts), fc.nat({ max: 4 }))),
        orderBy: fc.uniqueArray(
          fc.record({
            field: pick([...counts, ...SUMMARIES[summarizeBy]]),
            order: fc.constantFrom('asc' as const, 'desc' as const),
          }),
          { maxLength: 2, selector: (term) => term.field },
        ),
        limit: fc.option(fc.integer({ min: 1, max: 10 })),
        offset: fc.option(fc.nat({ max: 3 })),
        distinct: fc.option(spanArb(pools)),
      })
      .map(({ usual: query, older, ...rest }) => ({ ...rest, query: rest.distinct === null ? query : older })),
  );
}
