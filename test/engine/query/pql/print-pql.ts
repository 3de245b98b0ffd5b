// Prints an AST as PQL, for round trips. Only what PQL can express; strings go out double-quoted.

import { Float, type JsonValue } from '../../../../engine/json/value.ts';

type List = readonly JsonValue[];
const list = (value: JsonValue | undefined): List => value as List;

export function printPql(ast: JsonValue): string {
  return printFrom(list(ast));
}

function printFrom(from: List): string {
  let rest = from.slice(2).map(list);
  let projection = '';
  let filters: List[] = [];
  if (rest[0]?.[0] === 'extract') {
    projection = `[${list(rest[0][1]).map(printColumn).join(' , ')} ]`;
    filters = rest[0].slice(2).map(list);
    rest = rest.slice(1);
  }
  const clauses = [...filters, ...rest].map((clause) => printClause(clause));
  return `${String(from[1])}${projection}{ ${clauses.join(' ')} }`;
}

function printClause(clause: List): string {
  switch (clause[0]) {
    case 'group_by':
      return `group by ${clause.slice(1).map(printColumn).join(' , ')}`;
    case 'limit':
    case 'offset':
      return `${clause[0]} ${String(clause[1])}`;
    case 'order_by':
      return `order by ${list(clause[1])
        .map((term) => (Array.isArray(term) ? `${term[0]} ${term[1]}` : String(term)))
        .join(' , ')}`;
    default:
      return printFilter(clause);
  }
}

function printFilter(clause: List): string {
  const [op, left, right] = clause;
  switch (op) {
    case 'and':
    case 'or':
      return `(${clause
        .slice(1)
        .map((c) => printFilter(list(c)))
        .join(` ${op} `)})`;
    case 'not':
      return `!${printFilter(list(left))}`;
    case 'null?':
      return `${String(left)} is ${right ? '' : 'not '}null`;
    case 'subquery':
      return `${String(left)}{ ${right === undefined ? '' : printFilter(list(right))} }`;
    case 'in': {
      const source = list(right);
      const target = Array.isArray(left) ? `[${left.map(printColumn).join(' , ')} ]` : String(left);
      return `${target} in ${source[0] === 'array' ? printValue(source[1] ?? null) : printFrom(source)}`;
    }
    default:
      return `${String(left)} ${String(op)} ${printValue(right ?? null)}`;
  }
}

function printColumn(column: JsonValue): string {
  if (typeof column === 'string') return column;
  const [, name, ...args] = list(column);
  const [first, ...texts] = args;
  const shown = first === undefined ? [] : [String(first), ...texts.map(printValue)];
  return `${String(name)}(${shown.join(' , ')} )`;
}

function printValue(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`;
  if (value instanceof Float) return Number.isInteger(value.value) ? `${value.value}.0` : String(value.value);
  if (typeof value === 'string') return JSON.stringify(value);
  return String(value);
}
