// Certificates for a server that is measured over TLS, and for its clients, made with the openssl program: Node cannot make any itself.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Who asks over TLS, and whom it trusts. PEM texts. */
export interface Identity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** Arguments of `muster start`. */
  readonly serverArgs: readonly string[];
  readonly client: Identity;
}

/** Reads them from their files. Throws what the system says of one that cannot be read. */
export const identityOf = (ca: string, cert: string, key: string): Identity => ({
  ca: readFileSync(ca, 'utf8'),
  cert: readFileSync(cert, 'utf8'),
  key: readFileSync(key, 'utf8'),
});

/** Kinds of keys, as openssl takes them: as Puppet's authority issues them, smaller, and on a curve. */
export const keyKinds: Readonly<Record<string, readonly string[]>> = {
  'rsa:4096': ['rsa:4096'],
  'rsa:2048': ['rsa:2048'],
  ec: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
};

/** Made in `folder`, valid for a day, with keys of that kind: one of `keyKinds`. Throws where there is no openssl. */
export function makeCertificates(folder: string, keys: readonly string[]): Certificates {
  const path = (name: string, kind: string): string => join(folder, `${name}.${kind}`);
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const newKey = (name: string): string[] => ['-newkey', ...keys, '-nodes', '-keyout', path(name, 'key')];
  openssl('req', '-x509', ...newKey('ca'), '-subj', '/CN=ca', '-days', '1', '-out', path('ca', 'pem'));
  const issue = (name: string, extension: string): void => {
    const request = path(name, 'csr');
    openssl('req', '-new', ...newKey(name), '-subj', `/CN=${name}.example.com`, '-out', request);
    writeFileSync(path(name, 'ext'), `${extension}\n`);
    const authority = ['-CA', path('ca', 'pem'), '-CAkey', path('ca', 'key'), '-CAcreateserial', '-days', '1'];
    openssl('x509', '-req', '-in', request, ...authority, '-extfile', path(name, 'ext'), '-out', path(name, 'pem'));
  };
  issue('server', 'subjectAltName = IP:127.0.0.1');
  issue('client', 'basicConstraints = CA:FALSE');
  const files = ['--ssl-cert', path('server', 'pem'), '--ssl-key', path('server', 'key')];
  return {
    serverArgs: ['--https', '127.0.0.1:0', ...files, '--ssl-ca-cert', path('ca', 'pem')],
    client: identityOf(path('ca', 'pem'), path('client', 'pem'), path('client', 'key')),
  };
}
