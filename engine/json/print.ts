// Plain compact JSON text of a value: keys as they are, Java spelling of doubles. For echoing what was read; identity and
// storage have their own texts (canonical.ts, stored.ts).

import { compactText } from './canonical.ts';
import type { JsonValue } from './value.ts';

/** Compact JSON text. What is nested deeper than `depthMax` becomes `…`; without it the parser that made the value bounds the nesting. */
export const printJson = (value: JsonValue, depthMax = Number.POSITIVE_INFINITY): string =>
  compactText(value, Object.keys, depthMax, () => '…');
