// The machine's clock is set while the server works: what runs goes on, nothing is lost, and nothing expires that is not old.
// The clock is the processes' `Date`, which a module that every thread loads first lets the test set.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkStore } from '../support/check-store.ts';
import { replaceCatalog, replaceFacts, storeReport, timeText } from '../support/commands.ts';
import { atEnd } from '../support/endings.ts';
import { RawClient } from '../support/raw-client.ts';
import { TestServer } from '../support/server.ts';
import { pause, until } from '../support/waiting.ts';
import { checkQuiet } from './checks.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A module that adds the number in a file to what the clock says. */
const shifting = (file: string): string => `
import { readFileSync } from 'node:fs';
const real = Date.now;
Date.now = () => {
  try {
    return real() + Number(readFileSync(${JSON.stringify(file)}, 'utf8'));
  } catch {
    return real();
  }
};
`;

test('clock: a clock that is set ends no query and no thread, and expires nothing early', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-clock-'));
  atEnd(t, () => rmSync(folder, { recursive: true }));
  const [file, module] = [join(folder, 'shift'), join(folder, 'clock.mjs')];
  writeFileSync(module, shifting(file));
  const set = (shift: number): void => writeFileSync(file, String(shift));
  set(0);
  const server = await TestServer.start(t, {
    nodeArgs: ['--import', module],
    args: ['--query-threads', '1', '--partitions', '2', '--query-timeout-default', '60'],
  });
  const time = Date.now() - DAY;
  for (let i = 0; i < 60; i++) await server.apply(replaceCatalog(`node-${i}`, i + 1, time + i, 150));
  const whole = await server.ask('/pdb/query/v4/resources');
  const nodesTold = () => server.metric('puppetlabs.puppetdb.population:name=num-nodes', 'Value');

  for (const shift of [2 * HOUR, -2 * DAY, 3 * DAY, 0]) {
    const what = `clock set to ${shift / HOUR} hours off`;
    // A figure that is kept for some seconds from now.
    assert.ok((await nodesTold()) >= 60, what);
    // A query in the middle of its answer, whose client waits.
    const reader = await RawClient.open(server.port, { flowing: false });
    reader.send('GET /pdb/query/v4/resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await pause(300);
    set(shift);
    const now = await server.ask('/pdb/meta/v1/server-time');
    const told = Date.parse((JSON.parse(now.text) as { server_time: string }).server_time);
    assert.ok(Math.abs(told - Date.now() - shift) < 60_000, `${what}: the server says ${timeText(told)}`);
    // Longer than the watch over hanging threads takes to look.
    await pause(2500);
    const reading = reader.readSlowly(100_000_000);
    const received = await reader.closed(30_000);
    reading.stop();
    assert.match(received, /^HTTP\/1\.1 200 /, what);
    assert.ok(reader.receivedBytes > Buffer.byteLength(whole.text), `${what}: ${reader.receivedBytes} bytes`);
    assert.ok(received.endsWith('\r\n0\r\n\r\n'), `${what}: the answer breaks off: ${received.slice(-200)}`);
    const certname = `shifted-${shift}`;
    await server.apply(replaceFacts(certname, 1, time));
    await server.apply(storeReport(certname, 1, time));
    const clean = await server.ask('/pdb/admin/v1/cmd', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ command: 'clean', version: 1, payload: ['expire_nodes', 'purge_reports'] }),
    });
    assert.equal(clean.status, 200, clean.text);
    const nodes = await server.query<{ certname: string; expired: string | null }>('nodes');
    assert.ok(
      nodes.some((node) => node.certname === certname),
      `${what}: ${certname} is gone`,
    );
    assert.equal(nodes.filter(({ expired }) => expired === null).length, nodes.length, what);
    await until(`${what}: the figures go on`, async () => (await nodesTold()) === nodes.length, 30_000);
    assert.equal((await server.ask('/status/v1/simple')).text, 'running', what);
  }
  assert.equal((await server.query('nodes')).length, 64);
  await until('everything is processed', async () => (await server.depth()) === 0);
  checkQuiet(server);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});

test('clock: timestamps far ahead and far back are stored as sent, and expire what is old and nothing else', async (t) => {
  const server = await TestServer.start(t, { args: ['--partitions', '2'] });
  const at = (text: string, command: ReturnType<typeof replaceFacts>, time: number) => {
    const payload = command.payload.replaceAll(timeText(time), text);
    assert.notEqual(payload, command.payload);
    return { command: command.command, version: command.version, certname: command.certname, payload };
  };
  const now = Date.now();
  const times: Readonly<Record<string, string>> = {
    past: '1970-01-01T00:00:00.000Z',
    'long-past': '0001-06-01T00:00:00.000Z',
    future: '2999-12-31T23:59:59.999Z',
    'far-future': '9999-12-31T23:59:59.999Z',
    zone: '2026-03-01T00:30:00.000+14:00',
    leap: '2024-02-29T23:59:59.999Z',
  };
  for (const [certname, text] of Object.entries(times)) {
    await server.apply(at(text, replaceFacts(certname, 1, now), now));
    const [row] = await server.query<{ facts_timestamp: string }>('nodes', ['=', 'certname', certname]);
    assert.ok(row !== undefined, certname);
    const [factset] = await server.query<{ producer_timestamp: string }>('factsets', ['=', 'certname', certname]);
    assert.equal(factset?.producer_timestamp, timeText(Date.parse(text)), certname);
  }
  // Data that claim to be from the future stay until something newer comes.
  await server.apply(replaceFacts('future', 2, now));
  const [version] = await server.query<{ value: number }>('facts', [
    'and',
    ['=', 'certname', 'future'],
    ['=', 'name', 'version'],
  ]);
  assert.equal(version?.value, 1);
  const clean = await server.ask('/pdb/admin/v1/cmd', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ command: 'clean', version: 1, payload: ['expire_nodes'] }),
  });
  assert.equal(clean.status, 200, clean.text);
  const active = (await server.query<{ certname: string }>('nodes')).map((node) => node.certname);
  const weekAgo = now - 7 * DAY;
  const young = Object.entries(times).filter(([, text]) => Date.parse(text) >= weekAgo);
  assert.deepEqual(active.sort(), young.map(([certname]) => certname).sort());
  assert.equal(await server.stop(), 0);
  assert.deepEqual(await checkStore(server.dir), []);
});
