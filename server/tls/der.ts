// The bytes of certificates, and of what belongs to them, as values with their types (DER, X.690).

/** A value with its type: `bytes` is what is inside. */
export interface Element {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

export const SEQUENCE = 0x30;

/** What is in an element of that type. Throws when it is none. */
export function inside(element: Element | undefined, tag: number): Uint8Array {
  if (element?.tag !== tag) throw new Error('not a certificate');
  return element.bytes;
}

/** The elements that stand one after the other. Throws when the bytes are none. */
export function elements(bytes: Uint8Array): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at]!;
    const lead = bytes[at + 1] ?? Number.NaN;
    const start = at + 2 + (lead > 0x80 ? lead & 0x7f : 0);
    let size = lead;
    if (lead > 0x80) {
      size = 0;
      for (const byte of bytes.subarray(at + 2, start)) size = size * 256 + byte;
    }
    // A length that is left open, or leads out of what there is, is not DER.
    if (lead === 0x80 || !(start + size <= bytes.length)) throw new Error('not a certificate');
    found.push({ tag, bytes: bytes.subarray(start, start + size) });
    at = start + size;
  }
  return found;
}
