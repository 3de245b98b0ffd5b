// Values as PuppetDB prints them inside messages (Clojure notation, Java number formats). Clients see these texts in
// errors, so they are matched; nothing else may depend on this notation.

import { javaDouble } from '../../json/canonical.ts';
import { Float, isArray, isObject, type JsonValue } from '../../json/value.ts';

function numberText(value: number | bigint | Float): string {
  if (value instanceof Float) return javaDouble(value.value);
  if (typeof value === 'bigint' || Number.isInteger(value)) return String(value);
  return javaDouble(value);
}

const isNumeric = (value: JsonValue): value is number | bigint | Float =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof Float;

/** The value inside a structure: strings quoted, null as `nil`, maps with keyword keys. */
export function printClojure(value: JsonValue): string {
  if (value === null) return 'nil';
  if (typeof value === 'string') return `"${value.replace(/[\\"]/g, '\\$&')}"`;
  if (typeof value === 'boolean') return String(value);
  if (isNumeric(value)) return numberText(value);
  if (isArray(value)) return `[${value.map(printClojure).join(' ')}]`;
  if (!isObject(value)) return '';
  return `{${Object.entries(value)
    .map(([key, item]) => `:${key} ${printClojure(item)}`)
    .join(', ')}}`;
}

/** The value standing alone in a message: strings raw, null as `null`, numbers with thousands separators. */
export function printAlone(value: JsonValue): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return value.toLocaleString('en-US');
  if (isNumeric(value)) {
    const plain = value instanceof Float ? value.value : value;
    return plain.toLocaleString('en-US', { maximumFractionDigits: 3 });
  }
  return printClojure(value);
}

/** The value turned into a text, as Clojure's `str` does: strings raw, null empty. Not grouped. */
export function textOf(value: JsonValue): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : printClojure(value);
}
