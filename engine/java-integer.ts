// Integers as Java reads them from texts of clients.

/** Digits beyond 16 bits are none to Java. */
const JAVA_INTEGER = /^[+-]?(?:(?![\u{10000}-\u{10ffff}])\p{Nd})+$/u;
const NOT_ASCII = /[^\x00-\x7f]/g;

/** A text that is an integer of Java, of any size, in the digits of any script; NaN for other texts. */
export function javaInteger(text: string): number {
  return JAVA_INTEGER.test(text) ? Number(text.replace(NOT_ASCII, digitOf)) : Number.NaN;
}

/** The digits of a script stand beside each other, and no two scripts' do: the distance to the first is the value. */
function digitOf(digit: string): string {
  const code = digit.charCodeAt(0);
  let value = 0;
  while (/\p{Nd}/u.test(String.fromCharCode(code - value - 1))) value++;
  return String(value);
}
