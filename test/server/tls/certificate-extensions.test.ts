// Extensions as they are in certificates that the openssl program made, and bytes that are none.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { extensionIds, readExtensions } from '../../../server/tls/certificate-extensions.ts';
import { elements, SEQUENCE } from '../../../server/tls/der.ts';
import { type Certificates, makeCertificates, opensslMissing } from './certificates.ts';

describe('certificate extensions', { skip: opensslMissing() }, () => {
  let certificates: Certificates;
  before(() => {
    certificates = makeCertificates();
  });
  after(() => rmSync(certificates.folder, { recursive: true }));
  const der = (name: string) => new X509Certificate(readFileSync(certificates.path(name, 'pem'))).raw;

  test('texts by number, alternative names by kind; what is no text is left out', () => {
    const { texts, alternativeNames } = readExtensions(der('extended'));
    assert.deepEqual(
      [...texts],
      [
        [extensionIds.get('pp_role'), 'db'],
        [extensionIds.get('pp_owner'), 'Zoë'],
        ['1.3.6.1.4.1.34380.1.2.300000', 'own'],
        ['2.999.1', 'joint'],
        [extensionIds.get('pp_cli_auth'), 'true'],
      ],
    );
    assert.deepEqual(Object.fromEntries(alternativeNames), {
      'dns-name': ['alias.example.com'],
      ip: ['192.0.2.7', '2001:db8:0:0:0:0:0:7'],
      uri: ['urn:x'],
      'rfc822-name': ['a@example.com'],
    });
  });

  test('a certificate without them has none', () => {
    const { texts, alternativeNames } = readExtensions(der('right'));
    assert.equal(texts.size + alternativeNames.size, 0);
  });

  test('bytes that are cut or changed are read or refused', () => {
    const whole = der('extended');
    for (let end = 0; end < whole.length; end++) {
      assert.throws(() => readExtensions(whole.subarray(0, end)), /not a certificate/, `cut at ${end}`);
    }
    let refused = 0;
    for (let at = 0; at < whole.length; at++) {
      for (const value of [0, 0x30, 0x7f, 0x80, 0x84, 0xff]) {
        const changed = Buffer.from(whole);
        changed[at] = value;
        try {
          readExtensions(changed);
        } catch (error) {
          assert.match((error as Error).message, /^not a certificate$/, `byte ${at} set to ${value}`);
          refused++;
        }
      }
    }
    assert.ok(refused > 0);
  });
});

test('certificate extensions: a length that is left open is none', () => {
  const open = Buffer.concat([Buffer.from([SEQUENCE, 0x80]), Buffer.alloc(0x80)]);
  assert.throws(() => elements(open), /not a certificate/);
});

test('certificate extensions: names and numbers as Puppet registers them', () => {
  assert.equal(extensionIds.get('pp_uuid'), '1.3.6.1.4.1.34380.1.1.1');
  assert.equal(extensionIds.get('pp_securitypolicy'), '1.3.6.1.4.1.34380.1.1.22');
  assert.equal(extensionIds.get('pp_owner'), '1.3.6.1.4.1.34380.1.1.26');
  assert.equal(extensionIds.get('pp_auth_role'), '1.3.6.1.4.1.34380.1.3.13');
});
