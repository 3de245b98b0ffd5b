// `muster start` as a process: the ready line, what it answers, signals, the lock, and data that outlives it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { nativeFunction } from '../../../workers/system/native.ts';
import { muster } from '../../support/muster.ts';
import { RawClient } from '../../support/raw-client.ts';
import { until } from '../../support/waiting.ts';
import { type Certificates, makeCertificates, opensslMissing } from '../tls/certificates.ts';
import { cleanUp, launch, nodes, start, submit } from './server-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-start-'));
after(async () => {
  await cleanUp();
  rmSync(folder, { recursive: true, force: true });
});

describe('muster start', () => {
  test('takes commands, answers queries, stops on SIGTERM with status 0, and has the data after a restart', async () => {
    const data = join(folder, 'data');
    const first = await start(['--data', data]);
    assert.match(first.ready, new RegExp(`data in ${data}, process ${first.child.pid}\\)$`));
    assert.equal(await (await fetch(`${first.url}/status/v1/simple`)).text(), 'running');
    assert.equal((await submit(first.url, 'a.example.com')).status, 200);
    assert.deepEqual(await nodes(first.url, (names) => names.length > 0), ['a.example.com']);
    assert.equal(statSync(data).mode & 0o777, 0o700);
    first.child.kill('SIGTERM');
    assert.equal(await first.ended, 0);
    // What scripts look for in PuppetDB's log.
    assert.match(
      first.err(),
      /PuppetDB version \d[\s\S]*Starting PuppetDB, entering maintenance mode[\s\S]*Ensuring default database is up to date[\s\S]*PuppetDB finished starting, disabling maintenance mode[\s\S]*Shutdown request received; puppetdb exiting\./,
    );

    const second = await start(['--data', data]);
    assert.deepEqual(await nodes(second.url, (names) => names.length > 0), ['a.example.com']);
    second.child.kill('SIGINT');
    assert.equal(await second.ended, 0);
  });

  test('a second server on the same data is refused with a reason', async () => {
    const data = join(folder, 'shared');
    const port = join(folder, 'shared.port');
    const first = await start(['--data', data, '--port-file', port]);
    const second = launch(['start', '--http', '127.0.0.1:0', '--data', data, '--port-file', port]);
    assert.equal(await second.ended, 1);
    assert.match(second.err(), /shared.* used by another process/);
    assert.equal(readFileSync(port, 'utf8'), `${new URL(first.url).port}\n`);
    assert.equal((await submit(first.url, 'x')).status, 200);
    first.child.kill('SIGTERM');
    assert.equal(await first.ended, 0);
  });

  test('a backup is not started on', async () => {
    const data = join(folder, 'a-backup');
    mkdirSync(data);
    writeFileSync(join(data, 'backup.json'), '{}');
    const server = launch(['start', '--http', '127.0.0.1:0', '--data', data]);
    assert.equal(await server.ended, 2);
    assert.match(server.err(), /a-backup is a backup: .*muster restore/);
    assert.deepEqual(readdirSync(data), ['backup.json']);
  });

  test('a port that everyone in the network reaches without a certificate is warned of', async () => {
    const server = await start(['--data', join(folder, 'open'), '--http', '0.0.0.0:0']);
    await server.seen('err', /http: 0\.0\.0\.0 .*without a certificate/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('lines about commands tell programs what they tell people', async () => {
    const server = await start(['--data', join(folder, 'told'), '--log-format', 'json']);
    assert.equal((await submit(server.url, 'a.example.com')).status, 200);
    const [line] = await server.seen('err', /^.*command.*processed for a\.example\.com.*$/m);
    const { ms, hash, ...command } = JSON.parse(line).command;
    assert.deepEqual(command, { name: 'replace facts', certname: 'a.example.com', outcome: 'stored' });
    assert.ok(ms >= 0 && /^[0-9a-f]{40}$/.test(hash), line);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('another number of partitions than the directory has is told, and has no effect', async () => {
    const data = join(folder, 'divided');
    for (const partitions of ['2', '3']) {
      const server = await start(['--data', data, '--partitions', partitions]);
      server.child.kill('SIGTERM');
      assert.equal(await server.ended, 0);
      const told = /partitions: 3 has no effect, the data directory was made with 2/.test(server.err());
      assert.equal(told, partitions === '3');
    }
  });

  test('an access log that cannot be opened is told as one', async () => {
    const file = join(folder, 'none', 'access.log');
    const refused = launch([
      'start',
      '--http',
      '127.0.0.1:0',
      '--data',
      join(folder, 'unlogged'),
      '--access-log',
      file,
    ]);
    assert.equal(await refused.ended, 2);
    assert.equal(existsSync(join(folder, 'unlogged')), false);
    assert.match(
      refused.err(),
      /^muster: the access log .*none\/access\.log cannot be opened: no such file or directory$/m,
    );
  });

  test('a data directory that is a file is refused with a reason', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const refused = launch(['start', '--http', '127.0.0.1:0', '--data', file]);
    assert.equal(await refused.ended, 1);
    assert.match(refused.err(), /^muster: the data directory .*file cannot be made: it is there and is no directory$/m);
  });

  test("a folder with somebody else's files under a store's names is refused and stays as it is, others do not matter", async () => {
    const data = join(folder, 'elses');
    mkdirSync(join(data, 'scratch-000', 'work'), { recursive: true });
    writeFileSync(join(data, 'notes'), 'mine');
    const refused = launch(['start', '--http', '127.0.0.1:0', '--data', data]);
    assert.equal(await refused.ended, 1);
    assert.match(refused.err(), /^muster: .*elses is no data directory: .*scratch-000/m);
    assert.deepEqual(readdirSync(data, { recursive: true }).sort(), ['notes', 'scratch-000', 'scratch-000/work']);
    rmSync(join(data, 'scratch-000'), { recursive: true });
    const server = await start(['--data', data]);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    assert.equal(readFileSync(join(data, 'notes'), 'utf8'), 'mine');
  });

  for (const [data, why] of [
    ['/proc/muster/data', /^muster: the data directory .*data cannot be made: (no such file|permission denied)/m],
    ['/dev/null/data', /^muster: the data directory .*data cannot be made: \/dev\/null is no directory$/m],
  ] as const) {
    test(`a data directory that cannot be made is refused with a reason: ${data}`, async () => {
      const refused = launch(['start', '--http', '127.0.0.1:0', '--data', data]);
      assert.equal(await refused.ended, 1);
      assert.match(refused.err(), why);
    });
  }

  test('an address that is taken is refused with a reason and leaves the data free', async () => {
    const first = await start(['--data', join(folder, 'one')]);
    const data = join(folder, 'two');
    const second = launch(['start', '--http', new URL(first.url).host, '--data', data]);
    assert.equal(await second.ended, 1);
    assert.match(
      second.err(),
      /^muster: cannot listen on 127\.0\.0\.1:\d+ \(http-host and http-port\): the address is in use/m,
    );
    assert.match(second.err(), /the server could not start/);
    assert.doesNotMatch(second.err(), /Shutdown request received/);
    const third = await start(['--data', data]);
    for (const { child, ended } of [first, third]) {
      child.kill('SIGTERM');
      assert.equal(await ended, 0);
    }
  });

  test('settings come from files and the environment; port file and restart file are written when ready', async () => {
    const config = join(folder, 'conf.ini');
    const [ports, restarts] = [join(folder, 'run/ports'), join(folder, 'run/restarts')];
    writeFileSync(
      config,
      `[global]\nrestart-file = ${restarts}\n[developer]\npretty-print = true\n[jetty]\nhost = 127.0.0.1\nport = 0\n`,
    );
    const environment = { MUSTER_DATA: join(folder, 'env'), MUSTER_PORT_FILE: ports };
    const server = launch(['services', '-c', config], environment);
    const [, url = ''] = await server.seen('out', /ready on (http:\/\/[^ ]+)/);
    assert.equal(readFileSync(ports, 'utf8'), `${new URL(url).port}\n`);
    assert.equal(readFileSync(restarts, 'utf8'), '1');
    await submit(url, 'a');
    assert.match(await (await fetch(`${url}/pdb/query/v4/nodes`)).text(), /^\[ \{\n/);
    server.child.kill('SIGHUP');
    await server.seen('err', /configuration read again/);
    assert.equal(readFileSync(restarts, 'utf8'), '2');
    // What has been read is taken over all the same.
    rmSync(join(folder, 'run'), { recursive: true });
    writeFileSync(join(folder, 'run'), '');
    server.child.kill('SIGHUP');
    await server.seen('err', /the restart file cannot be written.*configuration read again/s);
    assert.doesNotMatch(server.err(), /of no use; everything stays/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('a port file is there while the server is ready, and a log that cannot be opened again is told of', async () => {
    const port = join(folder, 'ready-port');
    const logs = join(folder, 'moved-logs');
    mkdirSync(logs);
    const log = join(logs, 'access.log');
    const server = await start(['--data', join(folder, 'port-data'), '--port-file', port, '--access-log', log]);
    assert.match(readFileSync(port, 'utf8'), /^\d+\n$/);
    rmSync(logs, { recursive: true });
    server.child.kill('SIGHUP');
    await server.seen('err', /a log file cannot be opened again, .*ENOENT/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    assert.equal(existsSync(port), false);
  });

  test('HTTPS that a reload would begin is named, and the rest is taken over', { skip: opensslMissing() }, async () => {
    const config = join(folder, 'tls-reload.ini');
    const plain = '[jetty]\nhost = 127.0.0.1\nport = 0\n';
    writeFileSync(config, plain);
    const server = await start(['--data', join(folder, 'tls-reload-data'), '--config', config]);
    const made = makeCertificates();
    const [cert, key] = [made.path('server', 'pem'), made.path('server', 'key')];
    writeFileSync(config, `${plain}ssl-cert = ${cert}\nssl-key = ${key}\nssl-ca-cert = ${made.ca}\n`);
    server.child.kill('SIGHUP');
    await server.seen(
      'err',
      /ssl-cert.*ssl-key.*ssl-ca-cert.*take effect after a restart|take effect after a restart.*ssl-cert/s,
    );
    await server.seen('err', /configuration read again/);
    rmSync(made.folder, { recursive: true });
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('a port file that is a device is written to, not replaced', async () => {
    const device = join(folder, 'device');
    symlinkSync('/dev/null', device);
    const server = await start(['--data', join(folder, 'device-data'), '--port-file', device]);
    assert.ok(statSync(device).isCharacterDevice());
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test("the query log has clients' queries, and not what the server asks itself", async () => {
    const server = await start(['--data', join(folder, 'asked'), '--log-queries', '--log-format', 'json']);
    const paths = ['/status/v1/simple', '/metrics/prometheus', '/pdb/admin/v1/archive', '/pdb/query/v4/producers'];
    for (const path of paths) await (await fetch(server.url + path)).arrayBuffer();
    await server.seen('err', /"query finished"/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    assert.deepEqual(server.err().match(/"path":"[^"]+"/g), ['"path":"/producers"']);
    assert.match(server.err(), /"address":"127\.0\.0\.1","method":"GET","path":"\/producers"/);
  });

  test('a wrong configuration gives status 2 and starts nothing', async () => {
    const data = join(folder, 'never');
    const server = launch(['start', '--data', data, '--node-ttl', 'x', '--command-threads', '0']);
    assert.equal(await server.ended, 2);
    assert.match(server.err(), /2 problems/);
    assert.equal(existsSync(data), false);
  });

  test('SIGHUP changes log levels, and a configuration of no use changes nothing', async () => {
    const config = join(folder, 'levels.ini');
    writeFileSync(config, '[muster]\nlog-level = warn\n');
    const server = await start(['--data', join(folder, 'levels'), '-c', config]);
    writeFileSync(config, '[muster]\nlog-level = info\nlog-levels = http=debug\n[database]\nnode-tl = 3d\n');
    server.child.kill('SIGHUP');
    await server.seen('err', /`:node-tl` does not exist/);
    await server.seen('err', /configuration read again/);
    await fetch(`${server.url}/pdb/meta/v1/version`);
    await server.seen('err', /"area":"http".*\/pdb\/meta\/v1\/version/);
    writeFileSync(config, '[muster]\nlog-level = loud\n');
    server.child.kill('SIGHUP');
    await server.seen('err', /everything stays as it was/);
    assert.equal(await (await fetch(`${server.url}/status/v1/simple`)).text(), 'running');
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('SIGHUP opens renamed log files again, also when the configuration has become of no use', async () => {
    const config = join(folder, 'rotate.ini');
    const [log, access] = [join(folder, 'rotate.log'), join(folder, 'rotate-access.log')];
    const lines = `[muster]\nlog-file = ${log}\naccess-log = ${access}\n`;
    writeFileSync(config, lines);
    const server = await start(['--data', join(folder, 'rotate'), '-c', config]);
    for (const file of [log, access]) renameSync(file, `${file}.1`);
    writeFileSync(config, `${lines}[database]\nnode-ttl = forever\n`);
    server.child.kill('SIGHUP');
    await until('the new log', () => existsSync(log) && /everything stays as it was/.test(readFileSync(log, 'utf8')));
    await fetch(`${server.url}/pdb/meta/v1/version`);
    await until(
      'the new access log',
      () => existsSync(access) && /meta\/v1\/version/.test(readFileSync(access, 'utf8')),
    );
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('logs that cannot be written keep it neither from working nor from ending', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('no full device here');
    const logs = ['--log-file', '/dev/full', '--access-log', '/dev/full'];
    const server = await start(['--data', join(folder, 'unwritten'), ...logs]);
    assert.equal(await (await fetch(`${server.url}/status/v1/simple`)).text(), 'running');
    server.child.kill('SIGTERM');
    const ended = await Promise.race([server.ended, pause(20_000, 'still there', { ref: false })]);
    assert.equal(ended, 0);
  });

  test('an error that nobody expected ends it, also when its log cannot be written and nothing has told so', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('no full device here');
    const fails = "process.on('SIGUSR2', () => { throw new Error('unexpected'); });";
    const imports = `--import=data:text/javascript,${encodeURIComponent(fails)}`;
    const logs = ['--log-file', '/dev/full', '--log-level', 'fatal'];
    const server = await start(['--data', join(folder, 'crashed'), ...logs], { NODE_OPTIONS: imports });
    server.child.kill('SIGUSR2');
    const hasStatus = nativeFunction('void _exit(int status)') !== null;
    assert.equal(
      await Promise.race([server.ended, pause(20_000, 'still there', { ref: false })]),
      hasStatus ? 1 : 'SIGKILL',
    );
  });

  test('a limit of open files, or of addresses, that is too low is told with what is needed', async (t) => {
    if (!existsSync('/proc/self/limits')) return t.skip('no limits to read here');
    const server = `'${process.execPath}' '${muster}' start --data '${join(folder, 'files')}' --http 127.0.0.1:0`;
    const run = (limit: string) =>
      spawnSync('sh', ['-c', `ulimit ${limit}; exec ${server} --partitions 50`], { timeout: 30_000, encoding: 'utf8' });
    for (const [limit, told] of [
      ['-n 150', /^muster: .*at most 150 open files.* needs \d+ .*\n$/],
      ['-v 419430400', /^muster: .*at most 400 GB of addresses.* needs more than 3\d\d\d GB .*\n$/],
    ] as const) {
      const { status, stderr } = run(limit);
      assert.equal(status, 1);
      assert.match(stderr, told);
      assert.equal(existsSync(join(folder, 'files')), false);
    }
  });

  test('SIGUSR1 opens no debugger', async () => {
    const server = await start(['--data', join(folder, 'usr1')]);
    server.child.kill('SIGUSR1');
    assert.equal(await (await fetch(`${server.url}/status/v1/simple`)).text(), 'running');
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    assert.doesNotMatch(server.err(), /Debugger/);
  });

  test('SIGQUIT writes the status to the log, and SIGUSR2 does nothing', async () => {
    const server = await start(['--data', join(folder, 'quit')]);
    server.child.kill('SIGUSR2');
    server.child.kill('SIGQUIT');
    await server.seen('err', /"puppetdb-status"/);
    assert.equal(await (await fetch(`${server.url}/status/v1/simple`)).text(), 'running');
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
  });

  test('a second signal ends it at once, whatever is still running', async () => {
    const server = await start(['--data', join(folder, 'second')]);
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      'POST /pdb/cmd/v1?command=replace_facts&version=5&certname=x HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{',
    );
    await once(socket, 'connect');
    await fetch(`${server.url}/status/v1/simple`);
    server.child.kill('SIGTERM');
    await server.seen('err', /Shutdown request received/);
    // One that follows at once may belong to the first.
    await until('it has ended', () => !server.child.kill('SIGTERM') || server.child.signalCode !== null);
    assert.equal(await server.ended, 'SIGKILL');
    socket.destroy();
  });

  test('two signals at once are one: it ends in order', async () => {
    const server = await start(['--data', join(folder, 'both')]);
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    assert.equal(await server.ended, 0);
  });

  test('a stop that has to wait says for what, and what it broke off', async () => {
    const server = await start(['--data', join(folder, 'slow'), '--shutdown-timeout', '2']);
    const client = await RawClient.open(Number(new URL(server.url).port));
    client.send('POST /pdb/cmd/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    // A request has been received when the next one of its client's kind has been answered, long since.
    for (let n = 0; n < 3; n++) await fetch(`${server.url}/status/v1/simple`);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    const told = server
      .err()
      .split('\n')
      .filter((line) => line.includes('"requests":1'));
    assert.equal(told.length, 2, server.err());
    assert.match(told[0]!, /waiting for requests that are being answered/);
    assert.match(told[1]!, /requests that had not ended are broken off/);
    await client.closed();
  });

  test('a stop with a delay serves on, old connections and new ones, while the status says stopping', async () => {
    const data = join(folder, 'delayed');
    const server = await start(['--data', data, '--stop-delay', '10m']);
    const asked = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const kept = await RawClient.open(Number(new URL(server.url).port));
    kept.send(asked('/status/v1/simple'));
    await kept.until((received) => received.endsWith('running'));
    server.child.kill('SIGTERM');
    await server.seen('err', /Shutdown request received/);
    kept.send(asked('/status/v1/simple'));
    // The answer is the last one: who asks again may come to another server.
    const told = await kept.closed();
    assert.match(
      told.slice(told.lastIndexOf('HTTP/1.1')),
      /^HTTP\/1\.1 503 [\s\S]*Connection: close\r\n[\s\S]*\r\n\r\nstopping$/,
    );
    const whole = await fetch(`${server.url}/status/v1/services`);
    const services = (await whole.json()) as Record<string, { state: string; status: Record<string, unknown> }>;
    assert.equal(whole.status, 503);
    assert.deepEqual(
      Object.entries(services).map(([name, { state }]) => [name, state]),
      [
        ['puppetdb-status', 'stopping'],
        ['status-service', 'running'],
      ],
    );
    assert.equal(services['puppetdb-status']!.status['read_db_up?'], true);
    assert.equal((await submit(server.url, 'late.example.com')).status, 200);
    assert.deepEqual(await nodes(server.url, (names) => names.length > 0), ['late.example.com']);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 'SIGKILL');

    const again = await start(['--data', data, '--stop-delay', '500ms']);
    assert.deepEqual(await nodes(again.url, (names) => names.length > 0), ['late.example.com']);
    const began = performance.now();
    again.child.kill('SIGTERM');
    assert.equal(await again.ended, 0);
    assert.ok(performance.now() - began >= 500);
  });

  test('acknowledged commands survive kill -9', async () => {
    const data = join(folder, 'killed');
    const first = await start(['--data', data]);
    const names = Array.from({ length: 50 }, (_, index) => `n${index}.example.com`);
    const statuses = await Promise.all(names.map(async (name) => (await submit(first.url, name, false)).status));
    assert.ok(statuses.every((status) => status === 200));
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await start(['--data', data]);
    const found = await nodes(second.url, (all) => all.length === names.length);
    assert.deepEqual(found, [...names].sort());
    second.child.kill('SIGTERM');
    assert.equal(await second.ended, 0);
  });
});

describe('muster start with HTTPS', { skip: opensslMissing() }, () => {
  let certificates: Certificates;

  function ask(url: string, client: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const options = { ca: readFileSync(certificates.ca), ...certificates.client(client), agent: false as const };
      const outgoing = httpsRequest(new URL('/pdb/meta/v1/version', url), options, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode!));
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  test('certificates decide, and SIGHUP reads certificates, revocations and the allowlist again', async () => {
    certificates = makeCertificates();
    const list = join(certificates.folder, 'allowlist');
    writeFileSync(list, 'right.example.com\n');
    const file = (name: string, kind: 'pem' | 'key') => certificates.path(name, kind);
    const server = await start(
      ['--data', join(folder, 'tls'), '--https', '127.0.0.1:0', '--certificate-allowlist', list].concat(
        ['--ssl-cert', file('server', 'pem'), '--ssl-key', file('server', 'key')],
        ['--ssl-ca-cert', certificates.ca, '--ssl-crl-path', certificates.crl],
      ),
    );
    const url = /https:\/\/[^ ]+/.exec(server.ready)![0];
    assert.equal(await ask(url, 'right'), 200);
    assert.equal(await ask(url, 'unlisted'), 403);
    await assert.rejects(ask(url, 'revoked'));
    const expiring = () => server.err().match(/"level":"warn".*ssl-crl-path: .*ca\.crl: .* expires soon/g)?.length;
    assert.equal(expiring(), 1);

    writeFileSync(list, 'unlisted.example.com\n');
    certificates.revoke('right');
    server.child.kill('SIGHUP');
    await server.seen('err', /configuration read again/);
    assert.equal(expiring(), 2);
    assert.equal(await ask(url, 'unlisted'), 200);
    await assert.rejects(ask(url, 'right'));
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0);
    rmSync(certificates.folder, { recursive: true });
  });
});
