// Files of certificates and keys: which are of no use, and what is said of them.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type SecureSettings, secureContextOptions } from '../../../server/tls/options.ts';
import { makeCertificates, opensslMissing } from './certificates.ts';

test('certificates: a file of no use is named, with its setting', { skip: opensslMissing() }, (t) => {
  const made = makeCertificates();
  t.after(() => rmSync(made.folder, { recursive: true }));
  const good: SecureSettings = {
    sslCert: made.path('server', 'pem'),
    sslKey: made.path('server', 'key'),
    sslCaCert: made.ca,
    sslCertChain: null,
    sslCrl: null,
    sslProtocols: ['TLSv1.3', 'TLSv1.2'],
    cipherSuites: null,
  };
  const refusal = (changes: Partial<SecureSettings>): string => {
    try {
      secureContextOptions({ ...good, ...changes });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const file = (name: string, text: string): string => {
    writeFileSync(join(made.folder, name), text);
    return join(made.folder, name);
  };
  assert.equal(refusal({}), '');
  assert.equal(refusal({ sslCertChain: made.ca }), '');
  const empty = file('empty.pem', '');
  assert.equal(refusal({ sslCaCert: empty }), `ssl-ca-cert ${empty}: no certificate in it`);
  const key = made.path('server', 'key');
  assert.equal(refusal({ sslCaCert: key }), `ssl-ca-cert ${key}: no certificate in it`);
  assert.equal(refusal({ sslCertChain: key }), `ssl-cert-chain ${key}: no certificate in it`);
  const broken = file('broken.pem', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  assert.match(refusal({ sslCaCert: broken }), /^ssl-ca-cert .*broken\.pem: error/);
  const encrypted = join(made.folder, 'encrypted.key');
  execFileSync('openssl', ['pkcs8', '-topk8', '-passout', 'pass:secret', '-in', key, '-out', encrypted], {
    stdio: 'ignore',
  });
  assert.match(refusal({ sslKey: encrypted }), /^ssl-key .*: it is encrypted; a key without a passphrase is needed$/);
  assert.match(refusal({ sslProtocols: ['TLSv1', 'TLSv1.1'] }), /^ssl-protocols: none older than TLSv1\.2 is offered/);
  assert.equal(refusal({ sslCert: key }), `ssl-cert ${key}: no certificate in it`);
  assert.equal(refusal({ sslKey: made.ca }), `ssl-key ${made.ca}: no private key in it`);
  const only12 = { ...good, cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'] };
  assert.equal(secureContextOptions(only12).maxVersion, 'TLSv1.2');
  assert.equal(secureContextOptions(good).maxVersion, 'TLSv1.3');
  assert.match(refusal({ ...only12, sslProtocols: ['TLSv1.3'] }), /^cipher-suites: none of them is one of TLSv1\.3/);
  // Behind the server's own certificate the chain stands as ssl-cert-chain has it, whatever else is in ssl-cert.
  const [own, authority] = [made.path('server', 'pem'), made.ca].map((path) => readFileSync(path, 'utf8'));
  const both = { ...good, sslCert: file('both.pem', `${own}${authority}`) };
  const certificates = (settings: SecureSettings) =>
    String(secureContextOptions(settings).cert).match(/-----BEGIN[^-]+-----[^-]+-----END/g);
  assert.equal(certificates(both)?.length, 2);
  assert.deepEqual(certificates({ ...both, sslCertChain: made.ca }), certificates(both));
  const { ciphers } = secureContextOptions(good);
  assert.equal(secureContextOptions({ ...good, cipherSuites: [] }).ciphers, ciphers);
});
