// Certificates for tests, made with the openssl program: an authority, a server, and clients that are right, expired,
// revoked, unlisted or from another authority. Node cannot make certificates itself.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  readonly folder: string;
  readonly ca: string;
  readonly crl: string;
  /** An authority below `ca`, that one, and the lists of both, as Puppet's CA has them. */
  readonly chain: { readonly ca: string; readonly crl: string };
  path(name: string, kind: 'pem' | 'key'): string;
  /** What node's clients take. */
  client(name: string): { readonly cert: Buffer; readonly key: Buffer };
  /** A new certificate of the same authority under the same file name. */
  renew(name: string, commonName: string): void;
  revoke(name: string): void;
  /** Makes the list of `ca` anew, as one that has expired. */
  expireLists(): void;
}

/** Why the tests cannot run here, or false. */
export function opensslMissing(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'the openssl program is not here';
  }
}

const configuration = (folder: string, name: string) => `
[ca]
default_ca = default
[default]
database = ${folder}/${name}.index
serial = ${folder}/${name}.serial
new_certs_dir = ${folder}
certificate = ${folder}/${name}.pem
private_key = ${folder}/${name}.key
default_md = sha256
default_days = 2
default_crl_days = 2
policy = policy
unique_subject = no
copy_extensions = none
[extended]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:alias.example.com, IP:192.0.2.7, IP:2001:db8::7, URI:urn:x, email:a@example.com
1.3.6.1.4.1.34380.1.1.13 = ASN1:UTF8String:db
1.3.6.1.4.1.34380.1.1.26 = ASN1:FORMAT:UTF8,UTF8String:Zoë
1.3.6.1.4.1.34380.1.2.300000 = ASN1:PRINTABLESTRING:own
1.3.6.1.4.1.34380.1.2.2 = ASN1:INTEGER:7
1.3.6.1.4.1.34380.1.2.3 = DER:0C:7F:41
1.3.6.1.4.1.34380.1.2.4 = DER:0C:01:41:0C:01:42
2.999.1 = ASN1:UTF8String:joint
1.3.6.1.4.1.34380.1.3.39 = ASN1:UTF8String:true
[policy]
commonName = supplied
[authority]
basicConstraints = critical, CA:TRUE
[server]
subjectAltName = DNS:localhost, IP:127.0.0.1
[client]
basicConstraints = CA:FALSE
`;

/**
 * Makes an authority `ca` with server `server` and clients `right`, `extended` (with extensions), `two` (with two
 * common names), `unlisted`, `revoked`, `expired`, a stranger, and one that names nobody, nor an issuer. An authority `below` that one has clients `deep` and `deep-revoked`.
 */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'muster-tls-'));
  const path = (name: string, kind: string) => join(folder, `${name}.${kind}`);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const books = (name: string) => {
    writeFileSync(path(name, 'cnf'), configuration(folder, name));
    writeFileSync(path(name, 'index'), '');
    writeFileSync(path(name, 'serial'), '01\n');
  };
  const authority = (name: string) => {
    const subject = ['-subj', `/CN=${name}`, '-days', '2'];
    openssl('req', '-x509', ...newKey, '-keyout', path(name, 'key'), '-out', path(name, 'pem'), ...subject);
    books(name);
  };
  const issue = (
    ca: string,
    name: string,
    commonName: string,
    kind: 'server' | 'client' | 'extended' | 'authority',
    dates: string[] = [],
  ) => {
    const request = path(name, 'csr');
    openssl('req', '-new', ...newKey, '-keyout', path(name, 'key'), '-out', request, '-subj', `/CN=${commonName}`);
    const files = ['-in', request, '-out', path(name, 'pem'), '-extensions', kind];
    openssl('ca', '-batch', '-notext', '-config', path(ca, 'cnf'), ...files, ...dates);
  };
  const writeCrl = (name = 'ca', dates: string[] = []) =>
    openssl('ca', '-gencrl', '-config', path(name, 'cnf'), '-out', path(name, 'crl'), ...dates);
  const writeChain = () => {
    for (const kind of ['pem', 'crl']) {
      const [below, above] = ['below', 'ca'].map((name) => readFileSync(path(name, kind), 'utf8'));
      writeFileSync(path('chain', kind), `${below}${above}`);
    }
  };

  authority('ca');
  authority('other');
  issue('ca', 'server', 'server.example.com', 'server');
  issue('ca', 'right', 'right.example.com', 'client');
  issue('ca', 'extended', 'extended.example.com', 'extended');
  issue('ca', 'two', 'right.example.com/CN=other.example.com', 'client');
  issue('ca', 'unlisted', 'unlisted.example.com', 'client');
  issue('ca', 'revoked', 'revoked.example.com', 'client');
  issue('ca', 'expired', 'expired.example.com', 'client', [
    '-startdate',
    '20200101000000Z',
    '-enddate',
    '20200102000000Z',
  ]);
  issue('other', 'stranger', 'right.example.com', 'client');
  openssl('req', '-x509', ...newKey, '-keyout', path('nameless', 'key'), '-out', path('nameless', 'pem'), '-subj', '/');
  openssl('ca', '-config', path('ca', 'cnf'), '-revoke', path('revoked', 'pem'));
  writeCrl();

  issue('ca', 'below', 'below', 'authority');
  books('below');
  issue('below', 'deep', 'deep.example.com', 'client');
  issue('below', 'deep-revoked', 'deep-revoked.example.com', 'client');
  openssl('ca', '-config', path('below', 'cnf'), '-revoke', path('deep-revoked', 'pem'));
  writeCrl('below');
  writeChain();

  return {
    folder,
    ca: path('ca', 'pem'),
    crl: path('ca', 'crl'),
    chain: { ca: path('chain', 'pem'), crl: path('chain', 'crl') },
    path,
    client: (name) => ({ cert: readFileSync(path(name, 'pem')), key: readFileSync(path(name, 'key')) }),
    renew: (name, commonName) => issue('ca', name, commonName, 'server'),
    revoke: (name) => {
      openssl('ca', '-config', path('ca', 'cnf'), '-revoke', path(name, 'pem'));
      writeCrl();
    },
    expireLists: () => {
      writeCrl('ca', ['-crl_lastupdate', '20200101030405Z', '-crl_nextupdate', '20200102030405Z']);
      writeChain();
    },
  };
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
