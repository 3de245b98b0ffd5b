// When the files that HTTPS needs expire. OpenSSL loads expired ones without a word, and then nobody can connect; so the start and
// each reload tell, also some time before.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { DAY_MS } from '../../engine/time.ts';
import { settingRows } from '../../schemas/config.ts';
import { elements, inside, SEQUENCE } from './der.ts';
import { CERTIFICATE, REVOCATION_LIST, type SecureSettings } from './options.ts';

/** How long before the end it is told: time to have new ones made. */
const SOON_MS = 14 * DAY_MS;

interface Kind {
  readonly setting: 'sslCert' | 'sslCertChain' | 'sslCaCert' | 'sslCrl';
  readonly block: RegExp;
  /** Epoch milliseconds of the end of one of the blocks; null or NaN: it has none. */
  readonly endOf: (pem: string) => number | null;
  readonly what: string;
  readonly effect: string;
}

const endOfCertificate = (pem: string): number => Date.parse(new X509Certificate(pem).validTo);

const kinds: readonly Kind[] = [
  {
    setting: 'sslCert',
    block: CERTIFICATE,
    endOf: endOfCertificate,
    what: 'a certificate',
    effect: 'clients refuse this server',
  },
  {
    setting: 'sslCertChain',
    block: CERTIFICATE,
    endOf: endOfCertificate,
    what: 'a certificate',
    effect: 'clients refuse this server',
  },
  {
    setting: 'sslCaCert',
    block: CERTIFICATE,
    endOf: endOfCertificate,
    what: 'a certificate',
    effect: 'clients with certificates of that authority are refused',
  },
  {
    setting: 'sslCrl',
    block: REVOCATION_LIST,
    endOf: endOfList,
    what: 'a revocation list',
    effect: 'clients with certificates of its authority are refused',
  },
];

/** A line for each file of which something has expired, or will soon. `now`: epoch milliseconds. The files have been read before. */
export function expiryNotices(settings: SecureSettings, now: number): string[] {
  const notices: string[] = [];
  for (const { setting, block, endOf, what, effect } of kinds) {
    const file = settings[setting];
    if (file === null) continue;
    const blocks = readFileSync(file, 'utf8').match(block) ?? [];
    const ends = blocks.map(endOf).filter((end) => end !== null && !Number.isNaN(end)) as number[];
    const end = Math.min(...ends);
    if (end - now > SOON_MS) continue;
    const date = new Date(end).toISOString().replace('.000', '');
    const told = end <= now ? `has expired, at ${date}:` : `expires soon, at ${date}: then`;
    notices.push(`${settingRows[setting].name}: ${file}: ${what} in it ${told} ${effect}`);
  }
  return notices;
}

/** UTCTime and GeneralizedTime. */
const TIMES: ReadonlySet<number> = new Set([0x17, 0x18]);

/** When the next list has to be there: the second time of the list's body (RFC 5280, 5.1). Node reads no lists. */
function endOfList(pem: string): number | null {
  try {
    const bytes = Buffer.from(pem.replace(/-----[^-]*-----/g, ''), 'base64');
    const [list] = elements(bytes);
    const [body] = elements(inside(list, SEQUENCE));
    const [, next] = elements(inside(body, SEQUENCE)).filter(({ tag }) => TIMES.has(tag));
    return next === undefined ? null : timeOf(Buffer.from(next.bytes).toString('latin1'));
  } catch {
    // OpenSSL has read it, so it is one that has something unusual in it.
    return null;
  }
}

/** `261129152451Z`, whose years are from 1950 on, or `20261129152451Z`. */
function timeOf(text: string): number {
  const [, year = '', month, day, hour, minute, second] =
    /^(\d\d|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  const whole = year.length === 4 ? year : `${Number(year) < 50 ? 20 : 19}${year}`;
  return Date.parse(`${whole}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
