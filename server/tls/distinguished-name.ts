// Distinguished names as proxies write them into `X-Client-DN`: as RFC 2253 has it (`CN=web1,O=Example\, Inc.`, what nginx sends), or as
// OpenSSL did once (`/O=Example/CN=web1`).

/**
 * One `TYPE=value` of the RFC's form, and what ends it: quoted, or with backslashes before what would mean something. Blanks are matched
 * in one way only, however many there are.
 */
const PAIR = /\s*([\w.-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"\s*|((?:\\.|[^,;+"\\\s])(?:\\.|[^,;+"\\])*)?)([,;+]|$)/gsy;

/** The common name; null when there is none, or more than one, or the text is no distinguished name. */
export function commonNameOf(text: string): string | null {
  const names = text.startsWith('/') ? slashed(text) : listed(text);
  return names !== null && names.length === 1 && names[0] !== '' ? names[0]! : null;
}

const slashed = (text: string): string[] =>
  text
    .split('/')
    .filter((part) => /^CN=/i.test(part))
    .map((part) => part.slice('CN='.length).trim());

function listed(text: string): string[] | null {
  const names: string[] = [];
  for (const match of text.matchAll(PAIR)) {
    const [, type, quoted, plain, separator] = match;
    if (type!.toUpperCase() === 'CN') names.push(unescaped(quoted ?? trimmed(plain ?? '')));
    if (separator === '') return names;
  }
  return null;
}

/** Without the blanks behind it, but for one that a backslash keeps. */
function trimmed(text: string): string {
  const short = text.trimEnd();
  let backslashes = 0;
  while (short[short.length - 1 - backslashes] === '\\') backslashes++;
  return text.slice(0, short.length + (backslashes % 2));
}

/** `\,` is a comma, `\C3\A9` the bytes of an e with an accent. */
function unescaped(text: string): string {
  return text.replace(/(?:\\[\da-fA-F]{2})+|\\(.)/gs, (whole, char: string | undefined) =>
    char === undefined ? Buffer.from(whole.replaceAll('\\', ''), 'hex').toString('utf8') : char,
  );
}
