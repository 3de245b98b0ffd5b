// The TLS gate before a real HTTP listener, with real certificates: who gets in, who does not, and what they are told.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { Access } from '../../../server/access/access.ts';
import { allowlistOf } from '../../../server/access/allowlist.ts';
import { readRules } from '../../../server/config/authorization.ts';
import { parseHocon } from '../../../server/config/hocon.ts';
import type { Problem } from '../../../server/config/tree.ts';
import type { Exchange } from '../../../server/http/exchange.ts';
import { type Listener, startListener } from '../../../server/http/listener.ts';
import { type GateOptions, startTlsGate, type TlsGate } from '../../../server/http/tls-gate.ts';
import type { Logger } from '../../../server/log.ts';
import { cipherName } from '../../../server/tls/options.ts';
import { silentLogs } from '../../support/logs.ts';
import { until } from '../../support/waiting.ts';
import { type Certificates, makeCertificates, opensslMissing } from '../tls/certificates.ts';

const log = silentLogs().area('tls');
/** Reasons of refused certificates that the gate's log tells, and the addresses that it gives with them and failed handshakes. */
const refusals: string[] = [];
const addresses: unknown[] = [];
const gateLog: Logger = Object.assign(Object.create(log) as Logger, {
  info: ({ address }: { readonly address?: string }) => void addresses.push(address),
  warn: ({ reason, address }: { readonly reason: string; readonly address?: string }, text: string) => {
    addresses.push(address);
    if (text === 'client certificate refused') refusals.push(reason);
  },
});

interface Answer {
  readonly status: number;
  readonly body: string;
}

const LONG_CHUNKS = 60;
const LONG_CHUNK = 100_000;

/** Requests that went over a connection that had been used before. */
let reusedCount = 0;

describe('cipher suites', () => {
  test("Java's and OpenSSL's names are both taken", () => {
    const names: [string, string][] = [
      ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384'],
      ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
      ['TLS_DHE_RSA_WITH_AES_128_GCM_SHA256', 'DHE-RSA-AES128-GCM-SHA256'],
      ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
      ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
      ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
      ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ];
    for (const [written, openssl] of names) assert.equal(cipherName(written), openssl);
    assert.throws(() => cipherName('TLS_NONSENSE'), /cipher-suites: "TLS_NONSENSE" is not known/);
  });
});

describe('TLS gate', { skip: opensslMissing() }, () => {
  let certificates: Certificates;
  let listener: Listener;
  let gate: TlsGate;
  let access: Access;

  const settingsOf = (changed: Partial<GateOptions['settings']> = {}): GateOptions['settings'] => ({
    httpsHost: '127.0.0.1',
    httpsPort: 0,
    clientAuth: 'need',
    sslCert: certificates.path('server', 'pem'),
    sslKey: certificates.path('server', 'key'),
    sslCaCert: certificates.ca,
    sslCertChain: null,
    sslCrl: certificates.crl,
    sslProtocols: ['TLSv1.3', 'TLSv1.2'],
    cipherSuites: null,
    ...changed,
  });

  before(async () => {
    certificates = makeCertificates();
    const list = join(certificates.folder, 'allowlist');
    writeFileSync(list, '# those who may\nright.example.com\nrevoked.example.com\n\nexpired.example.com\n');
    access = new Access({ allowlist: allowlistOf({ allowlist: list, allowedNames: [] }), rules: null, log });
    const who = (exchange: Exchange) => {
      exchange.reply({ status: 200, contentType: 'text/plain', body: `${exchange.listener} ${exchange.clientName}` });
    };
    const echo = async (exchange: Exchange) => {
      exchange.reply({ status: 200, contentType: 'text/plain', body: await exchange.body(1_000_000) });
    };
    // Of shared memory that is used again as soon as it is free.
    const long = async (exchange: Exchange) => {
      const writer = exchange.stream({ status: 200, contentType: 'text/plain' });
      for (let index = 0; index < LONG_CHUNKS; index++) {
        const chunk = Buffer.from(new SharedArrayBuffer(LONG_CHUNK)).fill(65 + (index % 26));
        if (!writer.write(chunk, () => void chunk.fill('-'))) await writer.drained();
      }
      writer.end();
    };
    listener = await startListener({
      at: 'accept',
      kind: 'https',
      mounts: ['/pdb/meta', '/status', '/metrics']
        .map((prefix) => ({ prefix, handler: who }))
        .concat({ prefix: '/pdb/echo', handler: echo as typeof who })
        .concat({ prefix: '/pdb/long', handler: long as typeof who })
        .map((mount) => access.guard(mount)),
      isStarting: () => false,
      refuseClient: access.refuseClient,
      onError: (error) => assert.fail(error as Error),
    });
    gate = await startTlsGate({ settings: settingsOf(), listener, log: gateLog });
  });

  after(async () => {
    const stopped = gate.stop();
    await listener.stop(0);
    await stopped;
    rmSync(certificates.folder, { recursive: true });
  });

  interface Ask {
    readonly client?: string | null;
    readonly port?: number;
    readonly agent?: Agent;
    readonly headers?: Record<string, string>;
    readonly body?: string;
  }

  function ask(
    path: string,
    { client = 'right', port = gate.port, agent, headers = {}, body }: Ask = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port,
          path,
          method: body === undefined ? 'GET' : 'POST',
          headers,
          ca: readFileSync(certificates.ca),
          ...(client === null ? {} : certificates.client(client)),
          agent: agent ?? new Agent({ keepAlive: false, maxCachedSessions: 0 }),
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
          response.on('end', () => {
            if (outgoing.reusedSocket) reusedCount += 1;
            resolve({ status: response.statusCode!, body: text });
          });
          response.on('error', reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  const refusedBy = (path: string, options: Ask, code: RegExp) =>
    assert.rejects(ask(path, options), (error: NodeJS.ErrnoException) => code.test(`${error.code} ${error.message}`));

  test('the right client gets in under its name', async () => {
    assert.deepEqual(await ask('/pdb/meta'), { status: 200, body: 'https right.example.com' });
  });

  test('no certificate, another authority, expired and revoked: the handshake fails', async () => {
    await refusedBy('/pdb/meta', { client: null }, /CERTIFICATE_REQUIRED|ECONNRESET|alert/i);
    await refusedBy('/pdb/meta', { client: 'stranger' }, /UNKNOWN_CA|ECONNRESET|alert|hang up/i);
    await refusedBy('/pdb/meta', { client: 'expired' }, /EXPIRED|ECONNRESET|alert|hang up/i);
    await refusedBy('/pdb/meta', { client: 'revoked' }, /REVOKED|ECONNRESET|alert|hang up/i);
    await until('the log tells of three', () => refusals.length === 3);
    assert.match(refusals.join(), /^[A-Z_]*(?:ISSUER|VERIFY|SIGNATURE)[A-Z_]*,CERT_HAS_EXPIRED,CERT_REVOKED$/);
    assert.ok(addresses.length >= 3);
    for (const address of addresses) assert.match(String(address), /127\.0\.0\.1$/);
  });

  test('a client that is not on the allowlist is told so, below /pdb only', async () => {
    assert.deepEqual(await ask('/pdb/meta', { client: 'unlisted' }), {
      status: 403,
      body:
        'Permission denied: The client certificate name unlisted.example.com doesnt appear in the certificate allowlist. ' +
        "Is your master's (or other PuppetDB client's) certname listed in PuppetDB's certificate-allowlist file?",
    });
    assert.deepEqual(await ask('/pdb/unknown', { client: 'unlisted' }).then(({ status }) => status), 403);
    assert.equal((await ask('/status', { client: 'unlisted' })).status, 200);
    assert.equal((await ask('/metrics', { client: 'unlisted' })).status, 200);
  });

  test('a long answer is what it was, though its memory is used again', async () => {
    const { body } = await ask('/pdb/long');
    const expected = Array.from({ length: LONG_CHUNKS }, (_, index) =>
      String.fromCharCode(65 + (index % 26)).repeat(LONG_CHUNK),
    );
    assert.equal(body === expected.join(''), true);
  });

  test('headers cannot change who the client is', async () => {
    const headers = { 'X-Muster-Client-Name': 'right.example.com', 'X-Client-DN': 'CN=right.example.com' };
    assert.equal((await ask('/pdb/meta', { client: 'unlisted', headers })).status, 403);
    assert.equal((await ask('/status', { client: 'unlisted', headers })).body, 'https unlisted.example.com');
  });

  test('a certificate with two common names is of nobody in particular', async () => {
    assert.equal((await ask('/pdb/meta', { client: 'two' })).status, 403);
    assert.equal((await ask('/status', { client: 'two' })).body, 'https null');
  });

  test('bodies and several requests on a connection pass', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const reusedBefore = reusedCount;
    const body = 'x'.repeat(300_000);
    assert.equal((await ask('/pdb/echo', { agent, body })).body.length, body.length);
    assert.equal((await ask('/pdb/echo', { agent, body: 'again' })).body, 'again');
    assert.equal((await ask('/pdb/meta', { agent })).body, 'https right.example.com');
    assert.equal(reusedCount - reusedBefore, 2);
    agent.destroy();
  });

  test('a request with two framings is refused', async () => {
    const text = await raw(
      'POST /pdb/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /pdb/meta HTTP/1.1\r\n\r\n',
    );
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1);
  });

  function raw(text: string, options: ConnectionOptions = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const credentials = { ...certificates.client('right'), ca: readFileSync(certificates.ca), ...options };
      const socket = connect({ host: '127.0.0.1', port: gate.port, ...credentials });
      let answer = '';
      socket.on('secureConnect', () => socket.write(text));
      socket.on('data', (chunk) => (answer += chunk));
      socket.on('end', () => resolve(answer));
      socket.on('error', reject);
    });
  }

  test('TLS 1.2 is spoken, what is older is not', async () => {
    const text = 'GET /pdb/meta HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    assert.match(await raw(text, { maxVersion: 'TLSv1.2' }), /^HTTP\/1\.1 200 /);
    await assert.rejects(raw(text, { maxVersion: 'TLSv1.1' }));
  });

  test('a session is not resumed: its certificate would not be looked at again', async () => {
    const isReused = (maxVersion: 'TLSv1.2' | 'TLSv1.3', before: Buffer | null) =>
      new Promise<{ readonly reused: boolean; readonly session: Buffer | undefined }>((resolve, reject) => {
        const credentials = { ...certificates.client('right'), ca: readFileSync(certificates.ca), maxVersion };
        const session = before === null ? {} : { session: before };
        const socket = connect({ host: '127.0.0.1', port: gate.port, ...credentials, ...session });
        let last: Buffer | undefined;
        socket.on('session', (given: Buffer) => (last = given));
        socket.on('secureConnect', () =>
          socket.write('GET /pdb/meta HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
        );
        socket.on('end', () => resolve({ reused: socket.isSessionReused(), session: last ?? socket.getSession() }));
        socket.on('error', reject).resume();
      });
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const { session = null } = await isReused(version, null);
      assert.equal((await isReused(version, session)).reused, false, version);
    }
  });

  test('each of the suites for TLS 1.2 that are offered by default can be agreed on', async (t) => {
    const files = { cert: certificates.path('rsa', 'pem'), key: certificates.path('rsa', 'key') };
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', files.key, '-out', files.cert, ...subject];
    execFileSync('openssl', ['req', '-x509', ...made], { stdio: 'ignore' });
    const ofRsa = await startTlsGate({
      settings: settingsOf({ sslCert: files.cert, sslKey: files.key }),
      listener,
      log,
    });
    t.after(() => ofRsa.stop());
    const text = 'GET /pdb/meta HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (const exchange of ['ECDHE-ECDSA', 'ECDHE-RSA', 'DHE-RSA']) {
      const at = exchange.endsWith('-RSA') ? { port: ofRsa.port, ca: readFileSync(files.cert) } : {};
      for (const algorithm of ['AES256-GCM-SHA384', 'AES128-GCM-SHA256']) {
        const ciphers = `${exchange}-${algorithm}`;
        assert.match(await raw(text, { maxVersion: 'TLSv1.2', ciphers, ...at }), /^HTTP\/1\.1 200 /, ciphers);
      }
    }
  });

  test('cleartext on the TLS port is turned away and the gate goes on', async () => {
    const { connect: connectPlain } = await import('node:net');
    await new Promise<void>((resolve) => {
      const socket = connectPlain(gate.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n\r\n'));
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.resume();
    });
    assert.equal((await ask('/pdb/meta')).status, 200);
  });

  test('a client that never begins its handshake is cut off, and holds up no end', async () => {
    const { connect: connectPlain } = await import('node:net');
    const silent = (port: number): Promise<Socket> =>
      new Promise((resolve) => {
        const socket = connectPlain(port, '127.0.0.1', () => resolve(socket));
        socket.on('error', () => {}).resume();
      });
    const hasty = await startTlsGate({ settings: settingsOf(), listener, log: gateLog, handshakeMs: 100 });
    const late = await silent(hasty.port);
    await once(late, 'close');
    await hasty.stop();
    const other = await startTlsGate({ settings: settingsOf(), listener, log: gateLog });
    const waiting = await silent(other.port);
    assert.equal((await ask('/pdb/meta', { port: other.port })).status, 200);
    const closed = once(waiting, 'close');
    const began = performance.now();
    await other.stop();
    await closed;
    assert.ok(performance.now() - began < 5000, 'its handshake is not waited for');
  });

  test('a stop lets connections that have begun go on', async () => {
    const other = await startTlsGate({ settings: settingsOf(), listener, log });
    const requests = listener.requestCount;
    const outgoing = request({
      host: '127.0.0.1',
      port: other.port,
      path: '/pdb/echo',
      method: 'POST',
      headers: { 'content-length': 4 },
      ca: readFileSync(certificates.ca),
      ...certificates.client('right'),
      agent: false,
    });
    outgoing.write('be');
    await until('the request has come', () => listener.requestCount > requests);
    const stopped = other.stop();
    outgoing.end('un');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    response.resume();
    await stopped;
  });

  test('client-auth = want: no certificate is nobody, a wrong one is turned away', async () => {
    const other = await startTlsGate({ settings: settingsOf({ clientAuth: 'want' }), listener, log });
    const { port } = other;
    assert.equal((await ask('/status', { client: null, port })).body, 'https null');
    assert.match((await ask('/pdb/meta', { client: null, port })).body, /certificate name null doesnt appear/);
    const metrics = await ask('/metrics', { client: null, port });
    assert.deepEqual(metrics, {
      status: 403,
      body: 'Forbidden request: /metrics (method :get). Please see the server logs for details.',
    });
    assert.equal((await ask('/pdb/meta', { port })).status, 200);
    await refusedBy('/status', { client: 'stranger', port }, /./);
    await refusedBy('/status', { client: 'revoked', port }, /./);
    await other.stop();
  });

  test('a refused certificate is told with whose it is, and a flood of them in few lines', async (t) => {
    const lines: (Record<string, unknown> | string)[] = [];
    const warn = (fields: Record<string, unknown>, text: string) => void lines.push(fields, text);
    const other = await startTlsGate({
      settings: settingsOf({ clientAuth: 'want' }),
      listener,
      log: Object.assign(Object.create(log) as Logger, { warn }),
    });
    const { port } = other;
    await refusedBy('/status', { client: 'revoked', port }, /./);
    const { serialNumber } = new X509Certificate(readFileSync(certificates.path('revoked', 'pem')));
    assert.deepEqual(lines, [
      {
        address: '127.0.0.1',
        clientName: 'revoked.example.com',
        serial: serialNumber,
        issuer: 'CN=ca',
        reason: 'CERT_REVOKED',
      },
      'client certificate refused',
    ]);
    await refusedBy('/status', { client: 'nameless', port }, /./);
    const [nameless] = lines.splice(2, 2) as [Record<string, unknown>, string];
    assert.deepEqual(Object.keys(nameless), ['address', 'serial', 'reason']);
    for (let count = 2; count < 22; count++) await refusedBy('/status', { client: 'stranger', port }, /./);
    assert.equal(lines.length / 2, 19);
    const { now } = performance;
    t.mock.method(performance, 'now', () => now.call(performance) + 60_000);
    await refusedBy('/status', { client: 'stranger', port }, /./);
    assert.equal(lines.length / 2, 20);
    const { clientName, issuer, untold } = lines.at(-2) as Record<string, unknown>;
    assert.deepEqual([clientName, issuer, untold], ['right.example.com', 'CN=other', 2]);
    await refusedBy('/status', { client: 'stranger', port }, /./);
    assert.equal((lines.at(-2) as Record<string, unknown>)['untold'], undefined);
    await other.stop();
  });

  test('what speaks no TLS is told, and a flood of it in few lines', async () => {
    const lines: string[] = [];
    const info = (_fields: unknown, text: string) => void lines.push(text);
    const other = await startTlsGate({
      settings: settingsOf(),
      listener,
      log: Object.assign(Object.create(log) as Logger, { info }),
    });
    for (let count = 0; count < 25; count++) {
      const client = connectPlain(other.port, '127.0.0.1', () => client.end('GET / HTTP/1.1\r\n\r\n'));
      await once(client.resume(), 'close');
    }
    assert.deepEqual(lines, Array(20).fill('TLS handshake failed'));
    await other.stop();
  });

  test('an authority below another has a revocation list of its own', async () => {
    const { ca, crl } = certificates.chain;
    const other = await startTlsGate({ settings: settingsOf({ sslCaCert: ca, sslCrl: crl }), listener, log });
    const { port } = other;
    for (const client of ['right', 'deep']) {
      assert.equal((await ask('/status', { client, port })).body, `https ${client}.example.com`);
    }
    for (const client of ['revoked', 'deep-revoked']) await refusedBy('/status', { client, port }, /./);
    assert.throws(
      () => other.reload(settingsOf({ sslCrl: ca })),
      /ssl-crl-path .*chain\.pem: no certificate revocation/,
    );
    await other.stop();
  });

  test('client-auth = none: nobody is asked', async () => {
    const other = await startTlsGate({ settings: settingsOf({ clientAuth: 'none' }), listener, log });
    assert.equal((await ask('/status', { port: other.port })).body, 'https null');
    await other.stop();
  });

  test('the rules of auth.conf decide on /status and /metrics', async () => {
    const text = `authorization { version: 1, rules: [
      { name: m, sort-order: 1, match-request: { path: /metrics, type: path }, allow: "right.*" }
      { name: s, sort-order: 1, match-request: { path: /status, type: path, method: get }, allow-unauthenticated: true } ] }`;
    const rules = readRules(parseHocon(text, 'auth.conf'), []);
    access.replace({ allowlist: null, rules, log });
    assert.equal((await ask('/metrics')).status, 403);
    assert.equal((await ask('/status')).status, 200);
    assert.equal((await ask('/status', { body: 'x' })).status, 403);
    assert.equal((await ask('/pdb/meta', { client: 'unlisted' })).status, 200);
  });

  test("Puppet's extensions in the certificate decide where rules ask for them", async () => {
    const allowed = async (subjects: string, client = 'extended') => {
      const problems: Problem[] = [];
      const text = `authorization { version: 1, rules: [
        { name: m, sort-order: 1, match-request: { path: /metrics, type: path }, ${subjects} } ] }`;
      const rules = readRules(parseHocon(text, 'auth.conf'), problems);
      assert.deepEqual(problems, []);
      access.replace({ allowlist: null, rules, log });
      return (await ask('/metrics', { client })).status === 200;
    };
    for (const subjects of [
      'allow: { extensions: { pp_role: db } }',
      'allow: [ nobody, { extensions: { "1.3.6.1.4.1.34380.1.1.13": [web, db] } } ]',
      'allow: { extensions: { pp_owner: "Zoë", pp_cli_auth: "true", "1.3.6.1.4.1.34380.1.2.300000": own } }',
      'allow: { extensions: { subject-alt-name: { ip: "2001:db8:0:0:0:0:0:7" } } }',
      'allow: "alias.example.com"',
    ]) {
      assert.equal(await allowed(subjects), true, subjects);
      assert.equal(await allowed(subjects, 'right'), false, subjects);
    }
    assert.equal(await allowed('allow: { extensions: { pp_role: web } }'), false);
    assert.equal(await allowed('allow: "*", deny: { extensions: { pp_role: db } }'), false);
    assert.equal(await allowed('allow: "*", deny: { extensions: { pp_role: db } }', 'right'), true);
    access.replace({ allowlist: null, rules: null, log });
  });

  test('a reload changes certificate and revocations for new connections, open ones end with their next answer', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal((await ask('/status', { agent })).status, 200);
    const reusedBefore = reusedCount;
    const fingerprint = await serverFingerprint();
    certificates.renew('server', 'server2.example.com');
    certificates.revoke('unlisted');
    gate.reload(settingsOf());
    assert.notEqual(await serverFingerprint(), fingerprint);
    await refusedBy('/status', { client: 'unlisted' }, /REVOKED|ECONNRESET|alert|hang up/i);
    assert.equal((await ask('/status', { agent })).status, 200);
    assert.equal(reusedCount - reusedBefore, 1);
    assert.equal((await ask('/status', { agent })).status, 200);
    assert.equal(reusedCount - reusedBefore, 1, 'one that was open before had ended');
    assert.equal((await ask('/status', { agent })).status, 200);
    assert.equal(reusedCount - reusedBefore, 2, 'one that came behind it stays');
    agent.destroy();
  });

  test('a reload with files of no use changes nothing', async () => {
    const fingerprint = await serverFingerprint();
    const broken = join(certificates.folder, 'broken.pem');
    writeFileSync(broken, 'nonsense');
    assert.throws(() => gate.reload(settingsOf({ sslCert: broken })));
    assert.throws(() => gate.reload(settingsOf({ sslKey: join(certificates.folder, 'missing') })), /ENOENT/);
    // OpenSSL itself does not compare keys of different algorithms.
    const rsa = join(certificates.folder, 'rsa.pem');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(rsa, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    assert.throws(
      () => gate.reload(settingsOf({ sslKey: rsa })),
      /ssl-key .*rsa\.pem is not the key of the certificate/,
    );
    assert.equal(await serverFingerprint(), fingerprint);
    assert.equal((await ask('/status')).status, 200);
  });

  test('a client that is refused for an expired revocation list is told as the fault of the server', async () => {
    const lines: string[] = [];
    const warn = ({ reason }: { readonly reason: string }, text: string) => void lines.push(reason, text);
    const own = makeCertificates();
    own.expireLists();
    const other = await startTlsGate({
      settings: settingsOf({ sslCaCert: own.ca, sslCrl: own.crl }),
      listener,
      log: Object.assign(Object.create(log) as Logger, { warn }),
    });
    const client = connect({ host: '127.0.0.1', port: other.port, ...own.client('right'), rejectUnauthorized: false });
    client.on('error', () => {}).resume();
    await until('the log tells of it', () => lines.length > 0);
    assert.deepEqual(lines, [
      'CRL_HAS_EXPIRED',
      "client certificate refused: the server's own revocation list (ssl-crl-path) has expired",
    ]);
    client.destroy();
    await other.stop();
    rmSync(own.folder, { recursive: true });
  });

  function serverFingerprint(): Promise<string> {
    return new Promise((resolve, reject) => {
      const credentials = { ...certificates.client('right'), ca: readFileSync(certificates.ca) };
      const socket = connect({ host: '127.0.0.1', port: gate.port, ...credentials }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  }
});
