// Certificates and revocation lists that have expired or will soon, and what is said of them.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { expiryNotices } from '../../../server/tls/expiry.ts';
import type { SecureSettings } from '../../../server/tls/options.ts';
import { makeCertificates, opensslMissing } from './certificates.ts';

const DAY_MS = 24 * 3_600_000;

test('expiry: files that have run out, or will within 14 days, are told with the date', {
  skip: opensslMissing(),
}, (t) => {
  const made = makeCertificates();
  t.after(() => rmSync(made.folder, { recursive: true }));
  const settings: SecureSettings = {
    sslCert: made.path('server', 'pem'),
    sslKey: made.path('server', 'key'),
    sslCaCert: made.ca,
    sslCertChain: null,
    sslCrl: null,
    sslProtocols: ['TLSv1.3'],
    cipherSuites: null,
  };
  const file = made.path('server', 'pem');
  const end = Date.parse(new X509Certificate(readFileSync(file)).validTo);
  const date = new Date(end).toISOString().replace('.000', '');
  const own = (now: number) => expiryNotices(settings, now).filter((text) => text.startsWith('ssl-cert:'));
  assert.deepEqual(own(end - 14 * DAY_MS - 1), []);
  assert.deepEqual(own(end - 14 * DAY_MS), [
    `ssl-cert: ${file}: a certificate in it expires soon, at ${date}: then clients refuse this server`,
  ]);
  assert.deepEqual(own(end), [
    `ssl-cert: ${file}: a certificate in it has expired, at ${date}: clients refuse this server`,
  ]);
  assert.equal(expiryNotices(settings, end + DAY_MS).length, 2);
});

test('expiry: of several revocation lists the first to run out is told', { skip: opensslMissing() }, (t) => {
  const made = makeCertificates();
  t.after(() => rmSync(made.folder, { recursive: true }));
  const none = {
    sslCert: null,
    sslKey: null,
    sslCaCert: null,
    sslCertChain: null,
    sslProtocols: [],
    cipherSuites: null,
  };
  const { crl } = made.chain;
  const settings: SecureSettings = { ...none, sslCrl: crl };
  assert.match(
    expiryNotices(settings, Date.now()).join(),
    /^ssl-crl-path: .*chain\.crl: a revocation list in it expires soon, at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: then clients with certificates of its/,
  );
  assert.deepEqual(expiryNotices(settings, Date.now() - 13 * DAY_MS), []);
  made.expireLists();
  assert.deepEqual(expiryNotices(settings, Date.now()), [
    `ssl-crl-path: ${crl}: a revocation list in it has expired, at 2020-01-02T03:04:05Z: clients with certificates of its authority are refused`,
  ]);
});
