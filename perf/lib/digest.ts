// A digest of an answer, so that a server cannot become fast by answering less. It does not depend on the order of rows,
// keys and array items, which servers choose as they like, nor on fields that the server makes up when a command arrives.

import { createHash } from 'node:crypto';

/** Set by the clock of the server. */
const OWN_FIELDS = new Set(['receive_time', 'report_receive_time', 'facts_timestamp', 'catalog_timestamp', 'id']);

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).sort().join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    // The time of a factset and of a metric are the server's, that of an event is not.
    if (OWN_FIELDS.has(key) || (key === 'timestamp' && ('facts' in value || 'request' in value))) continue;
    parts.push(`${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key])}`);
  }
  return `{${parts.join(',')}}`;
}

/** Sum of the rows' digests: 64 bits, 16 hexadecimal digits. */
export class RowDigest {
  rows = 0;
  #high = 0;
  #low = 0;

  add(row: unknown): void {
    const hash = createHash('sha1').update(canonical(row)).digest();
    this.rows++;
    const low = this.#low + hash.readUInt32BE(0);
    this.#low = low >>> 0;
    this.#high = (this.#high + hash.readUInt32BE(4) + (low > 0xffffffff ? 1 : 0)) >>> 0;
  }

  toString(): string {
    return this.#high.toString(16).padStart(8, '0') + this.#low.toString(16).padStart(8, '0');
  }
}

/** Digest and rows of a parsed answer; an answer that is one object is one row. */
export function digestOf(answer: unknown): { readonly digest: string; readonly rows: number } {
  const digest = new RowDigest();
  if (Array.isArray(answer)) for (const row of answer) digest.add(row);
  else digest.add(answer);
  return { digest: digest.toString(), rows: digest.rows };
}

/** Short digest of texts or bytes in their order. */
export function digestOfParts(parts: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha1');
  for (const part of parts) hash.update(part);
  return hash.digest('hex').slice(0, 16);
}
