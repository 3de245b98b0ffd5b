// Archives beyond any limit on bodies: the real server and the real `muster import`, and how much memory that takes.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { createGzip } from 'node:zlib';
import { tarEnd, tarFile } from '../../../server/ops/archive/tar.ts';
import { atEnd } from '../../support/endings.ts';
import { TestServer } from '../../support/server.ts';
import { run } from '../cli/support.ts';

const MIB = 1024 * 1024;
const time = '2026-11-20T00:00:00.000Z';

const facts = (certname: string, size: number): Buffer => {
  const values = { certname, noise: randomBytes(Math.ceil(size * 0.75)).toString('base64') };
  return Buffer.from(
    JSON.stringify({ certname, environment: 'production', producer: null, producer_timestamp: time, values }),
  );
};

const noise = randomBytes(MIB);

/** An archive of so many nodes with facts of a MiB, and so many MiB that are no commands. Nothing is packed. */
async function writeArchive(file: string, nodes: number, others: number): Promise<void> {
  function* parts() {
    const metadata = JSON.stringify({ timestamp: time, command_versions: { replace_facts: 5 } });
    yield* tarFile('puppetdb-bak/export-metadata.json', Buffer.from(metadata), 1);
    for (let node = 0; node < nodes; node++) {
      const certname = `node${node}.example.com`;
      yield* tarFile(`puppetdb-bak/facts/${certname}.json`, facts(certname, MIB), 1);
    }
    for (let other = 0; other < others; other++) yield* tarFile(`notes/${other}`, noise, 1);
    yield tarEnd();
  }
  await pipeline(Readable.from(parts()), createGzip({ level: 0 }), createWriteStream(file));
}

test('import: an archive larger than any other body is taken, in memory that does not grow with it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-large-'));
  atEnd(t, async () => rmSync(folder, { recursive: true, force: true }));
  const server = await TestServer.start(t, { args: ['--node-ttl', '0s', '--request-body-max-size', '16M'] });
  const nodes = 20;
  const peakOf = async (others: number): Promise<number> => {
    const file = join(folder, `${others}.tgz`);
    await writeArchive(file, nodes, others);
    assert.ok(statSync(file).size > (nodes + others) * MIB);
    let peak = server.privateMiB();
    const timer = setInterval(() => {
      peak = Math.max(peak, server.privateMiB());
    }, 20);
    const { status, out, err } = await run(['import', '--url', server.url, file]);
    clearInterval(timer);
    assert.equal(status, 0, err);
    assert.match(out, new RegExp(`, ${nodes} commands\n`));
    rmSync(file);
    return peak;
  };
  const small = await peakOf(0);
  const large = await peakOf(300);
  t.diagnostic(`private memory at most: ${small.toFixed(0)} MiB with 20 MiB, ${large.toFixed(0)} MiB with 320 MiB`);
  assert.ok(large < small + 100, `${small.toFixed(0)} MiB with 20 MiB, ${large.toFixed(0)} MiB with 320 MiB`);
  await server.drained();
  assert.equal((await server.query('nodes')).length, nodes);
  assert.equal((await server.query('facts/noise')).length, nodes);
});

test('import: a limit of its own, an archive of nothing, and files that are none, each with its reason', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-large-'));
  atEnd(t, async () => rmSync(folder, { recursive: true, force: true }));
  const server = await TestServer.start(t, { args: ['--archive-max-size', '1M'] });
  const refuses = async (file: string, reason: RegExp, expected = 1) => {
    const { status, out, err } = await run(['import', '--url', server.url, file]);
    assert.deepEqual([status, out], [expected, ''], err);
    assert.match(err, reason);
  };
  const file = join(folder, 'all.tgz');
  await writeArchive(file, 1, 2);
  await refuses(file, /413 The archive is larger than 1048576 bytes, the archive-max-size of this server/);
  await writeArchive(file, 0, 0);
  await refuses(file, /holds nothing to import: it has no file of a node below puppetdb-bak\/ \(in .*facts.*\)/);
  await refuses(file, /PuppetDB that has deactivated nodes exports nothing/);
  await pipeline(Readable.from([tarEnd()]), createGzip(), createWriteStream(file));
  await refuses(file, /Unable to find export metadata file 'puppetdb-bak\/export-metadata.json' in archive/);
  await pipeline(Readable.from(['']), createWriteStream(file));
  await refuses(file, /Input is not in the \.gz format/);
  await refuses(folder, /is a directory/i, 2);
  await refuses(join(folder, 'none.tgz'), /no such file/, 2);
});
