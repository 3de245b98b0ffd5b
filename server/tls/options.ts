// From settings to what node:tls takes: certificates read from disk, protocol range, cipher names.

import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { getCiphers, type SecureContextOptions, type SecureVersion } from 'node:tls';
import type { Settings } from '../../schemas/config.ts';

/** What can change with a reload. */
export type SecureSettings = Pick<
  Settings,
  'sslCert' | 'sslKey' | 'sslCaCert' | 'sslCertChain' | 'sslCrl' | 'sslProtocols' | 'cipherSuites'
>;

const DEFAULT_CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'DHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'DHE-RSA-AES128-GCM-SHA256',
];

/** Reads all files anew. Throws Error with a text for people when a file or name is of no use. */
export function secureContextOptions(settings: SecureSettings): SecureContextOptions {
  if (settings.sslCert === null || settings.sslKey === null || settings.sslCaCert === null) {
    throw new Error('HTTPS needs ssl-cert, ssl-key and ssl-ca-cert');
  }
  const { cipherSuites } = settings;
  const ciphers = (cipherSuites?.length ? cipherSuites : DEFAULT_CIPHERS).map(cipherName);
  const certificate = readFileSync(settings.sslCert, 'utf8');
  const key = readFileSync(settings.sslKey);
  if (!/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/.test(certificate))
    throw new Error(`ssl-cert ${settings.sslCert}: no certificate in it`);
  const own = usable('ssl-cert', settings.sslCert, () => new X509Certificate(certificate));
  const ownKey = usable('ssl-key', settings.sslKey, () => privateKey(key));
  // OpenSSL compares them only when they are of the same algorithm.
  if (!own.checkPrivateKey(ownKey)) {
    throw new Error(`ssl-key ${settings.sslKey} is not the key of the certificate in ssl-cert ${settings.sslCert}`);
  }
  return {
    cert:
      settings.sslCertChain === null
        ? certificate
        : firstOf(certificate) + certificates('ssl-cert-chain', settings.sslCertChain),
    key,
    ca: certificates('ssl-ca-cert', settings.sslCaCert),
    ...(settings.sslCrl === null ? {} : { crl: revocationLists(settings.sslCrl) }),
    ...protocolRange(settings.sslProtocols, ciphers),
    ciphers: ciphers.join(':'),
    honorCipherOrder: true,
    // Without parameters no suite with DHE can be agreed on.
    dhparam: 'auto',
    // No resumption: a resumed session would skip the checks of revocation and expiry.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
}

function usable<T>(setting: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${setting} ${file}: ${(error as Error).message}`);
  }
}

/** A key without a passphrase: nobody is there to be asked for one. */
function privateKey(pem: Buffer): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    const text = pem.toString('latin1');
    if (!text.includes('PRIVATE KEY-----')) throw new Error('no private key in it');
    throw text.includes('ENCRYPTED') ? new Error('it is encrypted; a key without a passphrase is needed') : error;
  }
}

export const CERTIFICATE = /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END \1CERTIFICATE-----/g;

/** The text of a file of certificates, of which there has to be one: with none, nobody could come in. */
function certificates(setting: string, file: string): string {
  const text = readFileSync(file, 'utf8');
  const found = text.match(CERTIFICATE);
  if (found === null) throw new Error(`${setting} ${file}: no certificate in it`);
  for (const one of found) usable(setting, file, () => new X509Certificate(one));
  return text;
}

export const REVOCATION_LIST = /-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----/g;

/** One of each authority, the root included: Node takes one of a text, and OpenSSL asks for all that the chain needs. */
function revocationLists(file: string): string[] {
  const lists = readFileSync(file, 'utf8').match(REVOCATION_LIST);
  if (lists === null) throw new Error(`ssl-crl-path ${file}: no certificate revocation list in it`);
  return lists;
}

function firstOf(certificates: string): string {
  const end = '-----END CERTIFICATE-----';
  const index = certificates.indexOf(end);
  return index < 0 ? certificates : `${certificates.slice(0, index + end.length)}\n`;
}

/** TLS versions that are offered. */
export const TLS_VERSIONS: readonly string[] = ['TLSv1.2', 'TLSv1.3'];
/** Taken without effect, because old files name them. */
export const OLD_TLS_VERSIONS: readonly string[] = ['TLSv1', 'TLSv1.1'];
/** The oldest first. */
const VERSIONS = [...OLD_TLS_VERSIONS, ...TLS_VERSIONS] as readonly SecureVersion[];

/**
 * OpenSSL takes a range: the oldest and the newest that are named. Of TLS 1.3 it offers its own suites where none of that version is among
 * those that are wanted, so the version is not offered then, as with Java.
 */
function protocolRange(
  protocols: readonly string[],
  ciphers: readonly string[],
): { minVersion: SecureVersion; maxVersion: SecureVersion } {
  const has13 = ciphers.some((name) => name.startsWith('TLS_'));
  const named = VERSIONS.filter((version) => protocols.includes(version) && (version !== 'TLSv1.3' || has13));
  if (!has13 && protocols.includes('TLSv1.3') && !protocols.includes('TLSv1.2')) {
    throw new Error('cipher-suites: none of them is one of TLSv1.3, and ssl-protocols does not name TLSv1.2');
  }
  const [oldest] = named;
  const newest = named.at(-1);
  if (oldest === undefined || newest === undefined) throw new Error('ssl-protocols names no TLS version');
  if (OLD_TLS_VERSIONS.includes(newest))
    throw new Error(`ssl-protocols: none older than TLSv1.2 is offered, and ${newest} is the newest named`);
  return { minVersion: oldest, maxVersion: newest };
}

/**
 * OpenSSL's name for a cipher suite that may be written in OpenSSL's or in Java's way:
 * `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`. Names of TLS 1.3 are the same in both.
 * Throws Error for one that OpenSSL does not have.
 */
export function cipherName(name: string): string {
  const written = name.trim();
  const match = /^(?:TLS|SSL)_(.+)_WITH_(.+)$/i.exec(written);
  const openssl = match === null ? written : `${exchangeName(match[1]!)}${algorithmName(match[2]!)}`;
  if (getCiphers().includes(openssl.toLowerCase())) return openssl;
  throw new Error(`cipher-suites: "${name}" is not known`);
}

function exchangeName(exchange: string): string {
  return exchange.toUpperCase() === 'RSA' ? '' : `${exchange.toUpperCase().replaceAll('_', '-')}-`;
}

function algorithmName(algorithm: string): string {
  const upper = algorithm.toUpperCase();
  const joined = upper.replace(/^(AES|CAMELLIA|ARIA)_(128|256)/, '$1$2').replace('_CBC', '');
  return joined.replace('CHACHA20_POLY1305_SHA256', 'CHACHA20-POLY1305').replaceAll('_', '-');
}
