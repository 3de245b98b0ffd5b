// The logs: levels by area that can change, readable lines, what is hidden, and the access log's form.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { accessLine, createAccessLog } from '../../server/access-log.ts';
import type { RequestRecord } from '../../server/http/exchange.ts';
import { createLogs, jsonLine, readableLine } from '../../server/log.ts';
import { LogSink } from '../../server/log-sink.ts';
import { silentLogs } from '../support/logs.ts';
import { until } from '../support/waiting.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-log-'));
after(() => rmSync(folder, { recursive: true }));

/** The text of the file once there is some: files are opened and written in the background. */
async function written(file: string, log: { end(): Promise<void> }, again = () => {}): Promise<string> {
  let text = '';
  await until(`${file} has something`, async () => {
    again();
    await log.end();
    text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return text !== '';
  });
  return text;
}

describe('log', () => {
  test('areas have their levels, which can change for loggers that are held', async () => {
    const file = join(folder, 'levels.log');
    const logs = createLogs({ level: 'info', areas: { http: 'debug' }, format: 'json', file });
    const query = logs.area('query');
    query.debug('not yet');
    logs.area('http').debug('http');
    logs.setLevels({ level: 'debug', areas: { http: 'error' } });
    query.debug({ ms: 3 }, 'now');
    logs.area('http').warn('no more');
    const lines = (await written(file, logs))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      lines.map(({ level, area, msg, ms }) => [level, area, msg, ms]),
      [
        ['debug', 'http', 'http', undefined],
        ['debug', 'query', 'now', 3],
      ],
    );
  });

  test('passwords and keys that slip into fields are hidden', async () => {
    const file = join(folder, 'secrets.log');
    const logs = createLogs({ level: 'info', areas: {}, format: 'json', file });
    logs
      .area('main')
      .info({ password: 'geheim', options: { privateKey: 'geheim' }, headers: { authorization: 'x' } }, 'y');
    assert.doesNotMatch(await written(file, logs), /geheim/);
  });

  test('an error is told once, not again as the cause of the one that quotes it', async () => {
    const file = join(folder, 'causes.log');
    const logs = createLogs({ level: 'info', areas: {}, format: 'json', file });
    const cause = new Error('EFBIG: file too large, write');
    const err = new Error(`it cannot be written: ${cause.message}`, { cause });
    logs.area('main').error({ err }, 'failed');
    const entry = JSON.parse(await written(file, logs)) as { err: Record<string, string> };
    assert.equal(entry.err['message'], 'it cannot be written: EFBIG: file too large, write');
    assert.equal(entry.err['type'], 'Error');
    assert.match(entry.err['stack']!, /caused by: Error: EFBIG/);
  });

  test('lines of a log that ends while its file is being opened, which takes long, are written once', async () => {
    const file = join(folder, 'opening.log');
    const sink = new LogSink(file, () => {});
    sink.write('a line\n');
    const ended = sink.end();
    const until = performance.now() + 60;
    while (performance.now() < until);
    await ended;
    assert.equal(await written(file, sink), 'a line\n');
  });

  test('lines go out by themselves, together, in a moment', async () => {
    const file = join(folder, 'moment.log');
    const logs = createLogs({ level: 'info', areas: {}, format: 'json', file });
    // Opened in the background: what comes before that goes out when it is open.
    logs.area('main').info('first');
    await written(file, logs);
    for (const round of [1, 2]) {
      for (let i = 0; i < 3; i++) logs.area('main').info(`${round}`);
      const before = readFileSync(file, 'utf8');
      assert.ok(!before.includes(`"${round}"`), 'not one by one');
      const end = performance.now() + 5000;
      while (readFileSync(file, 'utf8') === before) {
        assert.ok(performance.now() < end, 'in vain');
        await setTimeout(5);
      }
      assert.equal(readFileSync(file, 'utf8').split(`"${round}"`).length - 1, 3);
    }
  });

  test('a file is opened again after rotation', async () => {
    const file = join(folder, 'rotate.log');
    const logs = createLogs({ level: 'info', areas: {}, format: 'readable', file });
    logs.area('main').info('before');
    await written(file, logs);
    renameSync(file, `${file}.1`);
    logs.reopen();
    // Lines go to the old file until the new one is open.
    const after = () => logs.area('main').info('after');
    const text = await written(file, logs, after);
    assert.match(readFileSync(`${file}.1`, 'utf8'), /INFO {2}\[main\] before\n/);
    assert.match(text, /^\S+Z INFO {2}\[main\] after\n$/);
  });

  test('lines written while the file is being opened go out without another one', async (t) => {
    const file = join(folder, 'slow.log');
    const logs = createLogs({ level: 'info', areas: {}, format: 'readable', file });
    logs.area('main').info('before');
    await written(file, logs);
    renameSync(file, `${file}.1`);
    // Opening it lasts until somebody reads.
    if (spawnSync('mkfifo', [file]).status !== 0) return t.skip('no mkfifo here');
    logs.reopen();
    logs.area('main').info('after');
    await setTimeout(200);
    const reader = spawn('head', ['-n', '1', file], { stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 });
    const [text] = (await once(reader.stdout, 'data')) as [Buffer];
    assert.match(text.toString(), /INFO {2}\[main\] after\n$/);
  });

  test('a file is opened once, so that it is open or told to be none', async (t) => {
    const file = join(folder, 'once.log');
    const fail = (...parameters: unknown[]) => process.nextTick(parameters.at(-1) as () => void, new Error('EMFILE'));
    t.mock.method(fs, 'open', fail);
    const sink = new LogSink(file, () => assert.fail('a line was lost'));
    const line = `${'x'.repeat(5000)}\n`;
    sink.write(line);
    assert.equal(await written(file, sink), line);
  });

  test('of lines that cannot be written a few megabytes wait', async (t) => {
    const full = '/dev/full';
    if (!existsSync(full)) return t.skip('no such device here');
    const sink = new LogSink(full, () => {});
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 200_000; i++) sink.write(`${'x'.repeat(500)}\n`);
    await setTimeout(100);
    const grown = process.memoryUsage().heapUsed - before;
    assert.ok(grown < 50 << 20, `${grown >>> 20} MB`);
  });

  test('a log that cannot be written ends, also when no line was tried yet', (t) => {
    if (!existsSync('/dev/full')) return t.skip('no such device here');
    const sink = new URL('../../server/log-sink.ts', import.meta.url).href;
    const program = `
      const { LogSink } = await import(${JSON.stringify(sink)});
      const sink = new LogSink('/dev/full', () => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      sink.write('line\\n');
      await sink.end();
      sink.write('later\\n');
      await sink.end();
      console.log('ended');`;
    const args = ['--import', 'tsx', '--input-type=module', '-e', program];
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    assert.deepEqual([stdout, status], ['ended\n', 0]);
  });

  test('lines that were lost are counted and told, once there is room again', async (t) => {
    const file = join(folder, 'unread.log');
    if (spawnSync('mkfifo', [file]).status !== 0) return t.skip('no mkfifo here');
    // Open at both ends, so that neither waits for the other; nobody reads yet.
    const fifo = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
    t.after(() => closeSync(fifo));
    let lost = 0;
    const sink = new LogSink(file, (lines) => (lost += lines));
    const lines = 20_000;
    for (let i = 0; i < lines; i++) sink.write(`${'x'.repeat(499)}\n`);
    await setTimeout(100);
    assert.equal(lost, 0);
    let read = 0;
    const buffer = Buffer.alloc(64 << 10);
    const readSome = (): void => {
      try {
        read += readSync(fifo, buffer);
      } catch {
        // Nothing is there at the moment.
      }
    };
    await until('it is told', () => {
      readSome();
      return lost > 0;
    });
    await until('the rest is there', () => {
      readSome();
      return read >= (lines - lost) * 500;
    });
    assert.equal(read / 500 + lost, lines);
  });

  test('readable lines show fields and stacks', () => {
    const entry = {
      level: 'warn',
      time: 'T',
      area: 'query',
      msg: 'slow',
      ms: 12,
      text: 'a b',
      err: { stack: 'E: x\n at y' },
    };
    assert.equal(
      readableLine(`${JSON.stringify(entry)}\n`, false),
      'T WARN  [query] slow ms=12 text="a b"\n    E: x\n     at y\n',
    );
    assert.equal(readableLine('no json', false), 'no json');
  });
});

const hostile = [
  'a\n2026-11-21T00:00:00.000Z INFO  [main] forged',
  'a\r\nb',
  '\x1b[2Jgone',
  '\x9b31m',
  'a\u2028b',
  '\u202egpj.exe',
  '\x00\x07\x7f',
];

describe('readable log', () => {
  test('what clients send is one entry of visible characters, wherever it stands', () => {
    for (const text of hostile) {
      const entry = {
        level: 'info',
        time: 'T',
        area: 'command',
        msg: `done for ${text}`,
        certname: text,
        deep: { text },
      };
      const line = readableLine(JSON.stringify(entry), false);
      assert.match(line, /^T INFO {2}\[command\] done for [^\p{C}\p{Zl}\p{Zp}]*\n$/u, JSON.stringify(line));
      const failed = readableLine(JSON.stringify({ ...entry, err: { stack: `Error: ${text}\n    at x` } }), false);
      for (const part of failed.trimEnd().split('\n').slice(1)) assert.match(part, /^ {4}[^\p{C}\p{Zl}\p{Zp}]+$/u);
    }
  });

  test('JSON says the same, and nothing of it moves a cursor', () => {
    const entry = { level: 'info', msg: 'evil\u009b31mRED\x7f\u202e\u{e0001}\nx größe 🚀' };
    const line = jsonLine(`${JSON.stringify(entry)}\n`);
    assert.match(line, /^[^\p{C}\p{Zl}\p{Zp}]*\n$/u);
    assert.deepEqual(JSON.parse(line), entry);
  });

  test('what is escaped can be told, what people write stays', () => {
    const line = (msg: string) => readableLine(JSON.stringify({ level: 'info', time: 'T', area: 'main', msg }), false);
    assert.equal(line('a\nb\x1bc\u202e'), 'T INFO  [main] a\\nb\\u001bc\\u202e\n');
    assert.equal(line('größe 日本 🚀 \\n'), 'T INFO  [main] größe 日本 🚀 \\n\n');
  });
});

const record: RequestRecord = {
  method: 'GET',
  path: '/metrics/v2/list',
  queryString: '',
  listener: 'http',
  remoteAddress: '127.0.0.1',
  clientName: null,
  referer: '',
  userAgent: 'curl/7.88.1',
  uncompressedLength: '',
  status: 200,
  bytes: 1475,
  completed: true,
  started: Date.UTC(2026, 10, 21, 0, 23, 23, 900),
  elapsedMs: 5.2,
};

describe('access log', () => {
  test("a line has PuppetDB's form", () => {
    assert.equal(
      accessLine(record),
      '127.0.0.1 - - [21/Nov/2026:00:23:23 +0000] "GET /metrics/v2/list HTTP/1.1" 200 1475 "-" "curl/7.88.1" 5 -\n',
    );
  });

  test('what clients send cannot break out of its field', () => {
    const line = accessLine({ ...record, userAgent: 'a" 500\nx', queryString: 'q="', clientName: 'c\nd', status: 0 });
    assert.equal(
      line,
      '127.0.0.1 - c\\x0ad [21/Nov/2026:00:23:23 +0000] "GET /metrics/v2/list?q=\\" HTTP/1.1" - 1475 "-" "a\\" 500\\x0ax" 5 -\n',
    );
  });

  test('nor do anything to a terminal', () => {
    const odd = { userAgent: 'é\u009b31m\u202e', clientName: '\x7f', uncompressedLength: '5 "x" - evil' };
    assert.equal(
      accessLine({ ...record, ...odd }),
      '127.0.0.1 - \\x7f [21/Nov/2026:00:23:23 +0000] "GET /metrics/v2/list HTTP/1.1" 200 1475 "-" "é\\x9b31m\\u202e" 5 "5 \\"x\\" - evil"\n',
    );
    assert.match(accessLine({ ...record, uncompressedLength: '512' }), / 5 512\n$/);
  });

  test('goes to its file', async () => {
    const file = join(folder, 'access.log');
    const log = createAccessLog(file, silentLogs().area('http'));
    log.write(record);
    assert.equal(await written(file, log), accessLine(record));
  });
});

test('log: a reader that has stopped holds up no end', async (t) => {
  const fifo = join(folder, 'stopped');
  if (spawnSync('mkfifo', [fifo]).status !== 0) return t.skip('no mkfifo here');
  // Reads only when the test is over, so that the write that hangs comes back.
  const reader = openSync(fifo, 'r+');
  const sink = new LogSink(fifo, () => {});
  for (let line = 0; line < 2000; line++) sink.write(`${'x'.repeat(100)}\n`);
  const began = performance.now();
  await sink.end();
  assert.ok(performance.now() - began < 5000);
  sink.write('after the end\n');
  readSync(reader, Buffer.alloc(1 << 20));
  closeSync(reader);
});
