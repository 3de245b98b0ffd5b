// Plain compact JSON text of a value: keys as they are, Java spelling of doubles. For echoing what was read; identity and
// storage have their own texts (canonical.ts, stored.ts).

import { javaDouble, numberText, quote } from './canonical.ts';
import { Float, type JsonObject, type JsonValue } from './value.ts';

/** Compact JSON text. What is nested deeper than `depthMax` becomes `…`; without it the parser that made the value bounds the nesting. */
export function printJson(value: JsonValue, depthMax = Number.POSITIVE_INFINITY): string {
  switch (typeof value) {
    case 'string':
      return quote(value);
    case 'number':
      return numberText(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return value.toString();
    default:
  }
  if (value === null) return 'null';
  if (value instanceof Float) return javaDouble(value.value);
  if (depthMax === 0) return '…';
  if (Array.isArray(value)) {
    let text = '[';
    for (let index = 0; index < value.length; index++) {
      if (index > 0) text += ',';
      text += printJson(value[index] as JsonValue, depthMax - 1);
    }
    return `${text}]`;
  }
  const object = value as JsonObject;
  let text = '{';
  for (const key of Object.keys(object)) {
    if (text.length > 1) text += ',';
    text += `${quote(key)}:${printJson(object[key] as JsonValue, depthMax - 1)}`;
  }
  return `${text}}`;
}
