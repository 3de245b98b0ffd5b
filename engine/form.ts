// `application/x-www-form-urlencoded` the way PuppetDB's form decoder reads it: `+` is a space, a name without `=` has an
// empty value, what has a broken percent escape is absent as a whole, a repeated name collects its values. A text without any
// `=` is no form: it has no names.

/** Several: the name came more than once. */
export type FormValue = string | readonly string[];

/** Names in order of their first appearance. */
export function parseForm(text: string): Map<string, FormValue> {
  const form = new Map<string, string | string[]>();
  if (!text.includes('=')) return form;
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decodeComponent(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decodeComponent(part.slice(equals + 1));
    if (name === null || value === null) continue;
    const known = form.get(name);
    if (known === undefined) form.set(name, value);
    else if (Array.isArray(known)) known.push(value);
    else form.set(name, [known, value]);
  }
  return form;
}

/** One decoded name or value; bytes that are no UTF-8 become U+FFFD; null when a percent escape is broken. */
function decodeComponent(text: string): string | null {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  if (!hasWellFormedEscapes(spaced)) return null;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // The escapes are well formed, so it is the UTF-8 that is not.
    const bytes = Buffer.from(spaced, 'utf8');
    let length = 0;
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === 0x25) {
        bytes[length++] = Number.parseInt(bytes.toString('latin1', at + 1, at + 3), 16);
        at += 2;
      } else {
        bytes[length++] = bytes[at] as number;
      }
    }
    return bytes.toString('utf8', 0, length);
  }
}

const BROKEN_ESCAPE = /%(?![0-9a-fA-F]{2})/;

/** Whether every `%` is followed by two hexadecimal digits. */
export const hasWellFormedEscapes = (text: string): boolean => !BROKEN_ESCAPE.test(text);
