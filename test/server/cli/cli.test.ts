// The command line: arguments, help, what commands send to a server and how they tell failures.

import assert from 'node:assert/strict';
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { reasonOf } from '../../../engine/reason.ts';
import { type OptionSpec, parseArguments } from '../../../server/cli/arguments.ts';
import { progressLine, startProgress } from '../../../server/cli/progress.ts';
import { rowLines, tableLines } from '../../../server/cli/table.ts';
import { muster } from '../../support/muster.ts';
import { until } from '../../support/waiting.ts';
import { makeCertificates, opensslMissing } from '../tls/certificates.ts';
import { launch } from './server-process.ts';
import { BrokenAnswer, fakeServer, run } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-cli-'));
after(() => rmSync(folder, { recursive: true }));

describe('arguments', () => {
  const specs: Record<string, OptionSpec> = {
    data: { type: 'text', short: 'd', doc: '' },
    gzip: { type: 'boolean', doc: '' },
    json: { type: 'switch', doc: '' },
    table: { type: 'switch', excludes: 'json', doc: '' },
  };
  const parse = (...argv: string[]) => parseArguments(argv, specs, { min: 0, max: 1 });

  test('values, switches and Booleans', () => {
    assert.deepEqual(parse('--data=x', '--gzip', '--json', 'y').options, { data: 'x', gzip: 'true', json: 'true' });
    assert.deepEqual(parse('-d', 'x', '--no-gzip').options, { data: 'x', gzip: 'false' });
    assert.deepEqual(parse('--gzip=false', '--gzip=true').options, { gzip: 'true' });
    assert.deepEqual(parse('--', '--no-gzip').positionals, ['--no-gzip']);
  });

  test('all problems are told at once', () => {
    assert.deepEqual(parse('--dta', '--data', '--json', '--json=1', 'a', 'b').problems, [
      '--dta is not an option; did you mean `--data`?',
      '--data needs a value (VALUE); `--json` looks like an option',
      '--json takes no value',
      'unexpected argument `b`',
    ]);
    assert.deepEqual(parse('').problems, ['an argument is empty']);
    assert.deepEqual(parse('--no-json').problems, ['--no-json is not an option']);
    assert.deepEqual(parse('--gzip', 'false').problems, ['--gzip false is written --gzip=false or --no-gzip']);
    assert.deepEqual(parse('--gzip', 'true').problems, ['--gzip true is written --gzip=true or --gzip']);
    assert.deepEqual(parse('--gzip', '--', 'false').positionals, ['false']);
    assert.deepEqual(parse('--json', '--table').problems, ['--table and --json exclude each other']);
  });
});

describe('help', () => {
  test('no command and an unknown one give status 2, help gives 0', async () => {
    assert.equal((await run([])).status, 2);
    const { status, err } = await run(['strat']);
    assert.equal(status, 2);
    assert.match(err, /`strat` is not a command; did you mean `start`\?/);
    const help = await run(['help']);
    assert.equal(help.status, 0);
    assert.match(help.out, /Exit statuses: 0/);
    assert.match((await run(['start', '--help'])).out, /^ {6}--\[no-\]gzip-enable {2,}Whether/m);
    const surplus = await run(['help', 'start', 'stop']);
    assert.deepEqual([surplus.status, surplus.out], [2, '']);
    assert.match(surplus.err, /unexpected argument `stop`/);
    for (const name of ['version', '--version', '-V']) {
      const { status: refused, out, err: told } = await run([name, 'extra']);
      assert.deepEqual([refused, out], [2, ''], name);
      assert.match(told, /^muster version: unexpected argument `extra`$/m, name);
    }
    assert.equal((await run(['-V'])).out, (await run(['version'])).out);
  });

  test('every command explains itself with examples, within the width of the terminal', async () => {
    const { out } = await run(['--help']);
    const names = [...out.matchAll(/^ {2}([a-z-]+) {2}/gm)].map((match) => match[1]!);
    assert.ok(names.length >= 9, out);
    for (const name of names) {
      if (name === 'help') continue;
      const help = await run([name, '--help'], { columns: 80 });
      assert.equal(help.status, 0, name);
      assert.match(help.out, new RegExp(`^Usage: muster ${name}`));
      assert.match(help.out, /Examples:/, name);
    }
  });
});

test('help: a setting stands under the headline of what it is about', async () => {
  const { out } = await run(['start', '--help'], { columns: 200 });
  const headlines = new Map<string, string>();
  let headline = '';
  for (const line of out.split('\n')) {
    headline = /^(\S.*):$/.exec(line)?.[1] ?? headline;
    const option = /^ {6}--(?:\[no-\])?([a-z-]+)/.exec(line)?.[1];
    if (option !== undefined) headlines.set(option, headline);
  }
  assert.deepEqual(
    ['http', 'https', 'https-port', 'command-priority', 'facts-blocklist', 'pretty-print', 'mapped-memory'].map(
      (name) => headlines.get(name),
    ),
    ['Listeners', 'Listeners', 'Listeners', 'Commands', 'Commands', 'Queries and access', 'Memory'],
  );
});

describe('muster config', () => {
  test('a table on a terminal, JSON in a pipe, with the place of each value', async () => {
    const file = join(folder, 'muster.ini');
    writeFileSync(file, '[database]\nnode-ttl = 3d\n');
    const table = await run(['config', '-c', file, '--changed', '--report-ttl', '4d'], { terminal: true });
    assert.equal(table.status, 0);
    assert.equal(table.out, `[database]\nnode-ttl    3d  ${file}:2\nreport-ttl  4d  --report-ttl\n`);
    const json = JSON.parse((await run(['config', '-c', file])).out) as {
      name: string;
      value: string;
      source: string;
    }[];
    const row = json.find(({ name }) => name === 'node-ttl');
    assert.deepEqual([row?.value, row?.source], ['3d', `${file}:2`]);
    assert.ok(json.length > 40);
  });

  test('a wrong configuration gives status 2 and all problems', async () => {
    const { status, err } = await run(['config', '--node-ttl', 'x', '--http-port', 'y']);
    assert.equal(status, 2);
    assert.match(err, /2 problems/);
    assert.match(err, /--node-ttl/);
    assert.match(err, /--http-port/);
  });
});

describe('muster query', () => {
  const rows = [
    { certname: 'a.example.com', value: { x: 1 }, n: 1 },
    { certname: 'b', value: null, n: 22 },
  ];

  test('JSON in a pipe, as the server sent it', async () => {
    const server = await fakeServer(() => JSON.stringify(rows));
    const { status, out } = await run(['query', '--url', server.url, 'nodes { }']);
    assert.equal(status, 0);
    assert.equal(out, `${JSON.stringify(rows)}\n`);
    assert.deepEqual(JSON.parse(server.asked[0]!.body), { query: 'nodes { }' });
    assert.equal(server.asked[0]!.url, '/pdb/query/v4');
    await server.close();
  });

  test('a table on a terminal', async () => {
    const server = await fakeServer(() => JSON.stringify(rows));
    const { out, err } = await run(['query', 'nodes { }'], { terminal: true, environment: { MUSTER_URL: server.url } });
    assert.deepEqual(out.split('\n'), [
      'certname       value     n',
      '-------------  -------  --',
      'a.example.com  {"x":1}   1',
      'b                       22',
      '',
    ]);
    assert.equal(err, '2 rows\n');
    await server.close();
  });

  test('trees and parameters go as they should', async () => {
    const server = await fakeServer(() => '[]');
    await run(['query', '--url', `${server.url}/`, '--timeout', '5', '--explain', '["from","nodes"]']);
    assert.deepEqual(JSON.parse(server.asked[0]!.body), { query: ['from', 'nodes'], explain: 'analyze', timeout: 5 });
    assert.equal((await run(['query', '--url', server.url, '["from",'])).status, 2);
    await server.close();
  });

  test('numbers keep their digits, in trees and in tables', async () => {
    const big = '{"value":12345678901234567890},{"value":1.0},{"value":{"x":9007199254740993}},{"value":[0.1,null]}';
    const server = await fakeServer(() => `[${big}]`);
    const tree = '["from", "facts", ["=", "value", 12345678901234567890]]';
    const { out } = await run(['query', '--url', server.url, '--table', tree]);
    assert.equal(server.asked[0]!.body, `{"query":${tree}}`);
    assert.deepEqual(
      out.split('\n').map((line) => line.trim()),
      ['value', '-'.repeat(22), '12345678901234567890', '1.0', '{"x":9007199254740993}', '[0.1,null]', ''],
    );
    await server.close();
  });

  test('a table shows what nests as deeply as a command may', async () => {
    const deep = `${'['.repeat(1000)}${']'.repeat(1000)}`;
    const server = await fakeServer(() => `[{"value":${deep}}]`);
    const { status, err } = await run(['query', '--url', server.url, '--table', 'facts { }']);
    assert.deepEqual([status, err], [0, '1 row\n']);
    await server.close();
  });

  test('forms of the answer that exclude each other are refused', async () => {
    for (const [one, other] of [
      ['--json', '--table'],
      ['--explain', '--ast'],
    ] as const) {
      const { status, err } = await run(['query', other, one, 'nodes { }']);
      assert.equal(status, 2);
      assert.match(err, new RegExp(`^muster query: ${one} and ${other} exclude each other\n`));
    }
  });

  test('a current folder that is gone is told in a line', async (t) => {
    t.mock.method(process, 'cwd', () => {
      throw Object.assign(new Error('ENOENT: no such file or directory, uv_cwd'), {
        code: 'ENOENT',
        syscall: 'uv_cwd',
      });
    });
    assert.deepEqual(await run(['config', '--data', 'here']), {
      status: 1,
      out: '',
      err: 'muster: the current folder was removed; change to another one\n',
    });
  });

  test("a refusal is told in the server's words, no server is status 3", async () => {
    const server = await fakeServer(() => [400, 'PQL parse error at line 1, column 1']);
    const refused = await run(['query', '--url', server.url, 'x']);
    assert.equal(refused.status, 1);
    assert.match(refused.err, /^muster: \/pdb\/query\/v4: 400 PQL parse error at line 1, column 1/);
    const elsewhere = await run(['query', '--url', `${server.url}/pdb/`, 'x']);
    assert.match(elsewhere.err, /^muster: \/pdb\/pdb\/query\/v4: 400 /, 'the path that was asked for');
    await server.close();
    const gone = await run(['query', '--url', server.url, 'x']);
    assert.equal(gone.status, 3);
    assert.match(gone.err, /no answer from http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    assert.equal((await run(['query', '--url', 'nonsense', 'x'])).status, 2);
  });
});

test('an answer that breaks off is told in a line', async () => {
  const server = await fakeServer(({ url }) => (url.startsWith('/status') ? 'running' : new BrokenAnswer('[{"a":')));
  for (const command of [
    ['query', '--table', 'nodes { }'],
    ['query', 'nodes { }'],
    ['stats'],
    ['delete', '--yes', 'web1'],
  ]) {
    const { status, err } = await run([...command, '--url', server.url]);
    assert.deepEqual([status, err], [1, 'muster: the answer broke off: aborted\n'], command.join(' '));
  }
  await server.close();
});

test('an answer that is no JSON is told in a line, with the address that it came from', async () => {
  const server = await fakeServer(() => '<html>It works!</html>');
  const whose = `is ${server.url} the address of a PuppetDB or Muster?`;
  for (const [command, path] of [
    [['stats'], '/pdb/meta/v1/version'],
    [['delete', '--yes', 'web1'], '/pdb/query/v4/nodes'],
  ] as const) {
    const { status, err } = await run([...command, '--url', server.url]);
    assert.deepEqual([status, err], [1, `muster: the answer to ${path} is no JSON; ${whose}\n`]);
  }
  await server.close();
});

test('an answer that is JSON of another form is told in a line, too', async () => {
  let metrics = 'null';
  const server = await fakeServer(({ url }) => {
    if (url.startsWith('/metrics')) return metrics;
    return url.startsWith('/pdb/meta') && metrics !== 'null' ? '{"version":"1"}' : 'null';
  });
  const whose = `is ${server.url} the address of a PuppetDB or Muster?`;
  const told = async (command: readonly string[], path: string): Promise<void> => {
    const { status, err } = await run([...command, '--url', server.url]);
    assert.deepEqual([status, err], [1, `muster: the answer to ${path} is JSON of another form; ${whose}\n`]);
  };
  await told(['stats'], '/pdb/meta/v1/version');
  await told(['delete', '--yes', 'web1'], '/pdb/query/v4/nodes');
  for (metrics of ['{"status":403}', '[null]', '"all is well"']) await told(['stats'], '/metrics/v2');
  await server.close();
});

test('muster stats tells by its status, too, whether the server works', async () => {
  for (const code of [200, 503]) {
    const server = await fakeServer(({ url }) => {
      if (url.startsWith('/status')) return [code, code === 200 ? 'running' : 'error'];
      return url.startsWith('/metrics') ? '[]' : '{"version":"1"}';
    });
    const { status, out } = await run(['stats', '--url', server.url]);
    const table = await run(['stats', '--table', '--url', server.url]);
    await server.close();
    assert.match(table.out, code === 200 ? /^running\n\nactive nodes +-\n/ : /^not running\n\n/);
    assert.deepEqual([status, JSON.parse(out).running], code === 200 ? [0, true] : [1, false]);
  }
});

test('an answer that leads elsewhere is none', async () => {
  const server = await fakeServer(() => [302, '']);
  const { status, out, err } = await run(['query', '--url', server.url, 'nodes {}']);
  assert.deepEqual([status, out, err], [1, '', 'muster: /pdb/query/v4: 302 Found\n']);
  await server.close();
});

describe('administration', () => {
  test('clean sends what was asked for', async () => {
    const server = await fakeServer(() => '{"ok": true}');
    const payload = async (...argv: string[]) => {
      const { status } = await run(['clean', '--url', server.url, ...argv]);
      assert.equal(status, 0);
      return (JSON.parse(server.asked.at(-1)!.body) as { payload: unknown[] }).payload;
    };
    assert.deepEqual(await payload(), []);
    assert.deepEqual(await payload('expire_nodes', 'other'), ['expire_nodes', 'other']);
    assert.deepEqual(await payload('purge_nodes', '--batch-limit', '7'), [['purge_nodes', { batch_limit: 7 }]]);
    assert.equal((await payload('--batch-limit', '7')).length, 8);
    assert.equal((await run(['clean', '--url', server.url, 'expire_node'])).status, 2);
    assert.equal((await run(['clean', '--url', server.url, 'expire_nodes', '--batch-limit', '3'])).status, 2);
    await server.close();
  });

  test('a conflict is a failure with its reason', async () => {
    const server = await fakeServer(() => [409, '{"kind":"conflict","msg":"Another cleanup is already in progress"}']);
    const { status, err } = await run(['clean', '--url', server.url]);
    assert.equal(status, 1);
    assert.match(err, /Another cleanup is already in progress/);
    await server.close();
  });

  test('requests name the program and its version', async () => {
    const server = await fakeServer(() => '[]');
    await run(['query', '--url', server.url, 'nodes {}']);
    await server.close();
    const { out } = await run(['version']);
    assert.equal(server.asked[0]!.headers['user-agent'], `muster/${/^version=(.*)$/m.exec(out)![1]}`);
  });

  test('delete needs --yes where nobody can be asked', async () => {
    const server = await fakeServer(({ method }) => (method === 'GET' ? '[{"certname":"x"}]' : '{"deleted": "x"}'));
    assert.equal((await run(['delete', '--url', server.url, 'x'])).status, 2);
    assert.equal(server.asked.length, 0);
    assert.equal((await run(['delete', '--url', server.url, '--yes', 'x', 'y'])).out, 'deleted x\ndeleted y\n');
    assert.deepEqual(JSON.parse(server.asked[3]!.body), { command: 'delete', version: 1, payload: { certname: 'y' } });
    await server.close();
  });

  test('delete tells of nodes that there are not, and deletes the others', async () => {
    const server = await fakeServer(({ url }) => {
      if (!url.startsWith('/pdb/query/v4/nodes?')) return '{}';
      const [, [, , certname]] = JSON.parse(new URL(url, 'http://x').searchParams.get('query')!);
      return certname === 'x/y' ? '[]' : '[{}]';
    });
    const { status, out, err } = await run(['delete', '--url', server.url, '--yes', 'x/y', 'z', '..']);
    assert.deepEqual([status, out, err], [1, 'deleted z\ndeleted ..\n', 'muster: there is no node x/y\n']);
    assert.equal(server.asked.filter(({ method }) => method === 'POST').length, 2);
    await server.close();
  });

  test('delete shows names in one line each', async () => {
    const server = await fakeServer(({ url }) => (url.includes('gone') ? '[]' : '[{}]'));
    const { out, err } = await run(['delete', '--url', server.url, '--yes', 'a\nb', 'gone\u001b[2J']);
    await server.close();
    assert.deepEqual([out, err], ['deleted a\\nb\n', 'muster: there is no node gone\\u001b[2J\n']);
  });
});

describe('archives', () => {
  test('export writes a private file only when it is complete, and replaces none', async () => {
    const server = await fakeServer(() => Buffer.from('archive'));
    const file = join(folder, 'all.tgz');
    assert.equal((await run(['export', '--url', server.url, file])).status, 0);
    assert.equal(readFileSync(file, 'utf8'), 'archive');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(server.asked[0]!.url, /anonymization_profile=none$/);
    assert.equal((await run(['export', '--url', server.url, file])).status, 2);
    assert.equal((await run(['export', '--url', server.url, '-f', file])).status, 0);
    const asked = server.asked.length;
    for (const [parent, why] of [
      [join(folder, 'nowhere'), 'no such file or directory'],
      [file, 'not a directory'],
    ] as const) {
      const path = join(parent, 'all.tgz');
      const refused = await run(['export', '--url', server.url, path]);
      assert.deepEqual([refused.status, refused.err], [1, `muster: ${path} cannot be written: ${why}\n`]);
    }
    assert.equal(server.asked.length, asked);
    await server.close();
    assert.equal((await run(['export', '--url', server.url, join(folder, 'none.tgz')])).status, 3);
    assert.equal(existsSync(join(folder, 'none.tgz')), false);
  });

  test('the file - is standard output and input, as bytes', async () => {
    // No text in any encoding.
    const archive = Buffer.from([0x1f, 0x8b, 0xff, 0x00, 0xfe]);
    const server = await fakeServer(({ url }) =>
      url.startsWith('/status') ? '{"status":{"queue_depth":0}}' : url.startsWith('/metrics') ? [403, ''] : archive,
    );
    const exporting = launch(['export', '--url', server.url, '-']);
    const parts: Buffer[] = [];
    exporting.child.stdout!.on('data', (part: Buffer) => parts.push(part));
    assert.equal(await exporting.ended, 0, exporting.err());
    assert.deepEqual(Buffer.concat(parts), archive);
    assert.equal(exporting.err(), 'exported 0.0 kB\n');
    const shown = await run(['export', '--url', server.url, '-'], { terminal: true });
    assert.deepEqual([shown.status, shown.out], [2, '']);
    assert.match(shown.err, /nothing for a terminal/);
    assert.equal(existsSync('-'), false);

    const imported = await run(['import', '--url', server.url, '-'], { input: archive });
    assert.equal(imported.status, 0, imported.err);
    const { body } = server.asked.find(({ method, url }) => method === 'POST' && url === '/pdb/admin/v1/archive')!;
    assert.ok(body.includes(`\r\n\r\n${archive.toString('latin1')}\r\n--`));
    const typed = await run(['import', '--url', server.url, '-'], { terminal: true });
    assert.deepEqual([typed.status, typed.err], [2, 'muster: there is no archive on standard input\n']);
    await server.close();
  });

  test('export replaces nothing that is no file, and a signal leaves nothing behind', async () => {
    const device = await run(['export', '-f', '/dev/null']);
    assert.deepEqual([device.status, device.err], [2, 'muster: /dev/null is no file that can be replaced\n']);

    // The archive begins and does not end.
    const server = createServer((_, response) => void response.writeHead(200).write('archive'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const exporting = launch(['export', '--url', url, join(folder, 'begun.tgz')]);
    const begun = () => readdirSync(folder).filter((name) => name.startsWith('begun.tgz'));
    await until('the archive begins', () => begun().length > 0, 60_000);
    exporting.child.kill('SIGINT');
    assert.equal(await exporting.ended, 'SIGINT');
    assert.deepEqual(begun(), []);
    server.closeAllConnections();
    server.close();
  });

  test('import waits for as many commands as were in the queue, whatever comes meanwhile, and for no retries', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    // Depth, of that waiting for another attempt, and all that have come.
    for (const [queues, told] of [
      [[[7, 7, 20]], 'but for 7 in the queue that failed and will be tried again\n'],
      [
        [
          [9, 2, 20],
          [8, 2, 24],
          [9, 2, 29],
          [1000, 2, 2000],
        ],
        'but for 2 in the queue that failed and will be tried again\n',
      ],
      [
        [
          [3, 0, 20],
          [1, 0, 20],
          [0, 0, 20],
          [5, 0, 25],
        ],
        '',
      ],
    ] as const) {
      let polls = 0;
      const server = await fakeServer(({ url, body }) => {
        if (url !== '/metrics/v2') return '{"ok": true}';
        const names = (JSON.parse(body) as { mbean: string }[]).map(({ mbean }) => mbean.replace(/.*\./, ''));
        if (names[0] === 'discarded') return '[{"status":200,"value":7}]';
        assert.deepEqual(names, ['depth', 'awaiting-retry', 'size']);
        return JSON.stringify(queues[polls++]!.map((value) => ({ status: 200, value })));
      });
      const { status, out, err } = await run(['import', '--url', server.url, file]);
      await server.close();
      assert.deepEqual([status, err], [0, told]);
      assert.match(out, /all commands are stored/);
      assert.equal(polls, Math.min(queues.length, 3));
    }
  });

  test('import tells what became a dead letter meanwhile, and fails', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    for (const [discarded, told] of [
      [1, 'but for 1 that became a dead letter meanwhile: see `muster dead-letters`\n'],
      [20, 'but for 20 that became dead letters meanwhile: see `muster dead-letters`\n'],
    ] as const) {
      let count = 4;
      const server = await fakeServer(({ url, body }) => {
        if (url === '/pdb/admin/v1/archive') count += discarded;
        if (url !== '/metrics/v2') return '{"ok": true}';
        const values = body.includes('discarded') ? [count] : [0, 0, 9];
        return JSON.stringify(values.map((value) => ({ status: 200, value })));
      });
      const { status, err } = await run(['import', '--url', server.url, file]);
      await server.close();
      assert.deepEqual([status, err], [1, told]);
    }
  });

  test('import tells of no dead letters where it does not know how many there were before', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    let polls = 0;
    const server = await fakeServer(({ url, body }) => {
      if (url !== '/metrics/v2') return '{"ok": true}';
      if (polls++ === 0) return [503, 'not yet'];
      const values = body.includes('discarded') ? [4] : [0, 0, 9];
      return JSON.stringify(values.map((value) => ({ status: 200, value })));
    });
    const { status, err } = await run(['import', '--url', server.url, file]);
    await server.close();
    assert.deepEqual([status, err], [0, '']);
  });

  test('import uploads a file and waits until the queue is empty, where metrics are not for everybody', async () => {
    let polls = 3;
    const server = await fakeServer(({ url }) =>
      url.startsWith('/status')
        ? JSON.stringify({ status: { queue_depth: --polls } })
        : url.startsWith('/metrics')
          ? polls === 2
            ? JSON.stringify(Array(3).fill({ status: 404 }))
            : [403, 'Forbidden']
          : '{"ok": true}',
    );
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    const { status, out } = await run(['import', '--url', server.url, file]);
    assert.equal(status, 0);
    assert.match(out, /all commands are stored/);
    const upload = server.asked.find(({ url }) => url === '/pdb/admin/v1/archive');
    const boundary = /boundary=(.+)$/.exec(upload!.headers['content-type']!)![1]!;
    assert.match(upload!.body, /name="archive"; filename="archive.tgz"\r\n[\s\S]*\r\n\r\nthe archive\r\n--/);
    assert.ok(upload!.body.endsWith(`\r\n--${boundary}--\r\n`));
    await server.close();
  });

  test('import knows of retries and dead letters without metrics, for which it does not ask', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    let discarded = 4;
    const server = await fakeServer(({ url }) => {
      if (url === '/pdb/admin/v1/archive') discarded += 1;
      if (url !== '/pdb/admin/v1/queue') return url.startsWith('/metrics') ? [403, 'Forbidden'] : '{"ok": true}';
      return JSON.stringify({ depth: 1, 'awaiting-retry': 1, size: 20, discarded });
    });
    const { status, out, err } = await run(['import', '--url', server.url, file]);
    await server.close();
    assert.equal(status, 1);
    assert.match(out, /^all commands are stored$/m);
    assert.equal(
      err,
      'but for 1 in the queue that failed and will be tried again\n' +
        'but for 1 that became a dead letter meanwhile: see `muster dead-letters`\n',
    );
    assert.ok(server.asked.every(({ url }) => !url.startsWith('/metrics') && !url.startsWith('/status')));
  });

  test('import asks no second time for what is refused, and says what it does not know', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    let depth = 3;
    const server = await fakeServer(({ url }) => {
      if (url.startsWith('/status')) return JSON.stringify({ status: { queue_depth: --depth } });
      if (url === '/pdb/admin/v1/queue') return [404, 'Not Found'];
      return url.startsWith('/metrics') ? [403, 'Forbidden'] : '{"ok": true}';
    });
    const { status, out, err } = await run(['import', '--url', server.url, file]);
    await server.close();
    assert.deepEqual([status, err], [0, '']);
    assert.equal(
      out.trimEnd().split('\n').at(-1),
      'all commands are stored; whether any failed and will be tried again, or became dead letters, the server does not tell',
    );
    const asked = (path: string) => server.asked.filter(({ url }) => url === path).length;
    assert.deepEqual([asked('/pdb/admin/v1/queue'), asked('/metrics/v2')], [1, 1]);
  });

  test('import counts from where the server tells how many commands have come, not from what it did not tell', async () => {
    const file = join(folder, 'in.tgz');
    writeFileSync(file, 'the archive');
    // The first one asks for dead letters.
    let asked = 0;
    const figures = [null, [5, 1_000_000], [5, 1_000_002], [1, 1_000_003], [0, 1_000_003]] as const;
    const server = await fakeServer(({ url }) => {
      if (url.startsWith('/status')) return '{"status":{"queue_depth":5}}';
      if (url.startsWith('/metrics')) return [503, 'not now'];
      if (url !== '/pdb/admin/v1/queue') return '{"ok": true}';
      const at = asked++ - 1;
      const known = at < 0 ? ([0, 0] as const) : figures[Math.min(at, figures.length - 1)]!;
      if (known === null) return [500, 'not now'];
      return JSON.stringify({ depth: known[0], 'awaiting-retry': 0, size: known[1], discarded: 0 });
    });
    const { status, out } = await run(['import', '--url', server.url, file]);
    await server.close();
    assert.equal(status, 0);
    assert.match(out, /^all commands are stored$/m);
    // Until five have left since the second reading, and dead letters once more.
    assert.equal(asked, 1 + 4 + 1);
  });

  test('import --from takes everything from another server', async () => {
    const old = await fakeServer(() => 'from there');
    const server = await fakeServer(() => '{"ok": true}');
    const { status } = await run(['import', '--no-wait', '--url', server.url, '--from', old.url]);
    assert.equal(status, 0);
    assert.equal(old.asked[0]!.url, '/pdb/admin/v1/archive');
    assert.match(server.asked[0]!.body, /from there/);
    assert.equal((await run(['import', '--url', server.url])).status, 2);
    await old.close();
    await server.close();
  });

  test('import --from says which of the two servers refused', async () => {
    const old = await fakeServer(() => [403, 'Forbidden']);
    const server = await fakeServer(() => '{"ok": true}');
    const { status, err } = await run(['import', '--url', server.url, '--from', old.url]);
    await old.close();
    await server.close();
    assert.deepEqual([status, err], [1, `muster: ${old.url}/pdb/admin/v1/archive: 403 Forbidden\n`]);
    assert.equal(server.asked.filter(({ method }) => method === 'POST').length, 0);
  });
});

describe('what went wrong', () => {
  test('refusals keep their lines and lose what would move the cursor', async () => {
    const server = await fakeServer(() => [400, 'PQL parse error at line 1:\n\nnodes {\n       ^\n\u001b[2Jgone']);
    const { status, err } = await run(['query', '--url', server.url, 'nodes {']);
    await server.close();
    assert.equal(status, 1);
    assert.equal(err, 'muster: /pdb/query/v4: 400 PQL parse error at line 1:\n\nnodes {\n       ^\n\\u001b[2Jgone\n');
  });

  test('the system is quoted without codes and calls', async () => {
    const missing = await run(['import', join(folder, 'nothing.tgz')]);
    assert.deepEqual([missing.status, missing.err], [2, `muster: ${folder}/nothing.tgz: no such file or directory\n`]);
    // There, and not to be opened, like a file of somebody else.
    const socket = createServer();
    await once(socket.listen(join(folder, 'socket')), 'listening');
    const unopened = await run(['import', join(folder, 'socket')]);
    socket.close();
    assert.deepEqual([unopened.status, unopened.err], [2, `muster: ${folder}/socket: no such device or address\n`]);
    const cert = await run(['query', '--cert', '/nothing', 'nodes { }']);
    assert.equal(cert.err, 'muster: --cert: /nothing: no such file or directory\n');
    assert.equal(reasonOf(new Error('EXAMPLE: of ours')), 'EXAMPLE: of ours');
  });

  test('a reader that has seen enough is no failure, output that cannot be written is told', async () => {
    const server = await fakeServer(() => JSON.stringify('x'.repeat(1_000_000)));
    const ended = async (child: ChildProcess) => {
      let err = '';
      child.stderr!.on('data', (chunk) => (err += chunk));
      const [status] = await once(child, 'close');
      return { status, err };
    };
    for (const args of [
      ['config', '--reference'],
      ['query', '--url', server.url, 'nodes {}'],
    ]) {
      const printed = (stdio: StdioOptions) => spawn(process.execPath, [muster, ...args], { stdio });
      const read = printed(['ignore', 'pipe', 'pipe']);
      read.stdout!.destroy();
      assert.deepEqual(await ended(read), { status: 0, err: '' });

      if (!existsSync('/dev/full')) continue;
      const full = openSync('/dev/full', 'w');
      const { status, err } = await ended(printed(['ignore', full, 'pipe']));
      closeSync(full);
      assert.equal(status, 1);
      assert.equal(err, 'muster: the output cannot be written: no space left on device\n');
    }
    await server.close();
  });

  test('client certificates that are of no use are told in a line, before they are used', async () => {
    const file = join(folder, 'no.pem');
    writeFileSync(file, 'no certificate');
    const alone = await run(['query', '--cert', file, 'nodes { }']);
    const together = 'muster: give --cert and --key together, or neither: there is';
    assert.deepEqual([alone.status, alone.err], [2, `${together} --cert, and no --key\n`]);
    const variable = await run(['query', 'nodes { }'], { environment: { MUSTER_KEY: file } });
    assert.deepEqual([variable.status, variable.err], [2, `${together} $MUSTER_KEY, and no --cert\n`]);
    const missing = await run(['query', 'nodes { }'], { environment: { MUSTER_CERT: '/nothing' } });
    assert.equal(missing.err, 'muster: $MUSTER_CERT: /nothing: no such file or directory\n');
    const both = await run(['query', '--cert', file, '--key', file, 'nodes { }']);
    assert.equal(both.status, 2);
    assert.match(both.err, /^muster: --cert, --key: [a-z ]+\n$/i);
  });

  test('a server that wants a client certificate, or has one of an unknown authority, is told as one', {
    skip: opensslMissing(),
  }, async (t) => {
    const made = makeCertificates();
    const elsewhere = makeCertificates();
    const [cert, key, ca] = [made.path('server', 'pem'), made.path('server', 'key'), made.ca].map((path) =>
      readFileSync(path),
    );
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      const options = { cert, key, ca, requestCert: true, rejectUnauthorized: true, maxVersion };
      const server = createHttpsServer(options, (_, response) => response.end('{}'));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const url = `https://localhost:${(server.address() as AddressInfo).port}`;
      const { status, err } = await run(['stats', '--url', url, '--ca', made.ca]);
      assert.equal(status, 3);
      assert.equal(
        err,
        `muster: ${url} wants a client certificate; give --cert and --key, or $MUSTER_CERT and $MUSTER_KEY\n`,
      );
      const foreign = ['--cert', elsewhere.path('server', 'pem'), '--key', elsewhere.path('server', 'key')];
      const refused = await run(['stats', '--url', url, '--ca', made.ca, ...foreign]);
      assert.equal(refused.status, 3);
      assert.match(
        refused.err,
        /^muster: no answer from .*; if it refused the client certificate, its log \(area tls\) says why\n$/,
      );
      server.closeAllConnections();
      server.close();
    }
    const open = createHttpsServer({ cert, key }, (_, response) => response.end('{}'));
    await once(open.listen(0, '127.0.0.1'), 'listening');
    t.after(() => {
      open.closeAllConnections();
      open.close();
    });
    const address = `https://localhost:${(open.address() as AddressInfo).port}`;
    const unknown = await run(['stats', '--url', address]);
    assert.equal(unknown.status, 3);
    assert.match(
      unknown.err,
      /^muster: no answer from .* certificate.*; give the authority of its certificate as --ca or \$MUSTER_CA\n$/,
    );
    const other = await run(['stats', '--url', address, '--ca', elsewhere.ca]);
    assert.equal(other.status, 3);
    assert.match(other.err, /^muster: no answer from .* certificate.*\n$/);
    assert.doesNotMatch(other.err, /--ca or/, 'one was given');
    const crossed = await run(['stats', '--url', address.replace('https:', 'http:')]);
    assert.equal(crossed.status, 3);
    assert.match(crossed.err, /^muster: no answer from .*; if it speaks HTTPS, its URL begins with https:\/\/\n$/);
    const plain = await fakeServer(() => '{}');
    const secure = plain.url.replace('http:', 'https:');
    assert.deepEqual(await run(['stats', '--url', secure]), {
      status: 3,
      out: '',
      err: `muster: no answer from ${secure}: it does not speak HTTPS; if it speaks HTTP, its URL begins with http://\n`,
    });
    await plain.close();
    for (const one of [made, elsewhere]) rmSync(one.folder, { recursive: true });
  });

  test('a query is sent only when it can be one', async () => {
    const server = await fakeServer(() => '[]');
    const query = (...args: string[]) => run(['query', '--url', server.url, ...args]);
    for (const timeout of ['x', ' ', '-1', 'Infinity']) {
      assert.deepEqual(await query(`--timeout=${timeout}`, 'nodes { }'), {
        status: 2,
        out: '',
        err: `muster: --timeout: \`${timeout}\` is no number of seconds\n`,
      });
    }
    assert.equal((await query('--timeout', '-1', 'nodes { }')).status, 2);
    assert.deepEqual(await query(' '), { status: 2, out: '', err: 'muster: the query is empty\n' });
    assert.equal(server.asked.length, 0);
    assert.equal((await query('--timeout', '1.5', 'nodes { }')).status, 0);
    assert.equal(JSON.parse(server.asked[0]!.body).timeout, 1.5);
    // The number would be no time at all.
    assert.equal((await query('--timeout', '0', 'nodes { }')).status, 0);
    assert.equal(JSON.parse(server.asked[1]!.body).timeout, '0');
    await server.close();
  });

  test('wrong usage shows the right one; unknown operations are told which there are', async () => {
    assert.match((await run(['query'])).err, /^Usage: muster query \[OPTIONS\] QUERY$/m);
    assert.match((await run(['clean', 'nonsense'])).err, /no operation; there are expire_nodes, .*other\n$/);
    assert.match((await run(['clean', 'purge_node'])).err, /did you mean `purge_nodes`\?/);
  });
});

describe('tables and progress', () => {
  test('wide columns give way to the width of the terminal', () => {
    const lines = tableLines([{ name: 'a'.repeat(50), value: 'b'.repeat(20), n: 1 }], 40);
    assert.ok(
      lines.every((line) => [...line].length <= 40),
      lines.join('\n'),
    );
    assert.match(lines[2]!, /^a+… {2}b+…? {2}1|^a+… {2}b+ +n/);
  });

  test('rows with more fields than a table has room for are blocks of lines', () => {
    const row = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`field_number_${i}`, `value ${i} of it`]));
    const rows = [
      { certname: 'node-00042.example.com', facts: { a: 1 }, ...row },
      { certname: 'b\x1b', facts: null, ...row },
    ];
    const lines = rowLines(rows, 80);
    assert.deepEqual(lines.slice(0, 3), [
      'certname         node-00042.example.com',
      'facts            {"a":1}',
      'field_number_0   value 0 of it',
    ]);
    assert.deepEqual(lines.slice(14, 17), ['', 'certname         b\\u001b', 'facts']);
    assert.deepEqual(rowLines(rows, 400), tableLines(rows, 400));
    const narrow = [{ certname: 'node-00042.example.com', value: 'x'.repeat(500) }];
    assert.deepEqual(rowLines(narrow, 80), tableLines(narrow, 80));
    assert.deepEqual(rowLines([], 80), []);
  });

  test('control characters do not reach the terminal', () => {
    assert.match(tableLines([{ x: 'a\x1b[2Jb\nc' }], 80)[2]!, /^a\\u001b\[2Jb\\nc$/);
  });

  test('fields that only later rows have get their column', () => {
    assert.deepEqual(tableLines([{ a: 1 }, { b: 'x' }], 80)[0], 'a  b');
    assert.deepEqual(tableLines([], 80), []);
  });

  test('a bar with share, amounts, rate and time left', () => {
    const options = { label: 'import', total: 100e6, unit: 'bytes' };
    const line = progressLine(options, 25e6, 100e6, 5000);
    assert.equal(line, 'import  [======>                 ]  25 %  25.0 MB of 100.0 MB  5.0 MB/s  15 s left');
    assert.equal(progressLine(options, 2000, null, 1000), 'import  2.0 kB  2.0 kB/s');
  });

  test('nothing is drawn when standard error is no terminal', () => {
    let text = '';
    const terminal = { err: (part: string) => void (text += part), errIsTerminal: false, columns: 80 };
    const progress = startProgress(terminal as never, { label: 'x', total: 1, unit: 'bytes' });
    progress.update(1);
    progress.finish('done');
    assert.equal(text, '');
  });
});
