// Archives between Muster and a real PuppetDB, both ways: what one exports, the other imports to the same query results.
// PuppetDB and PostgreSQL come from Debian's packages and take minutes, so this runs with MUSTER_INTEGRATION=1 only.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Endings } from '../support/endings.ts';
import { muster } from '../support/muster.ts';
import { outputOf } from '../support/programs.ts';
import { TestServer } from '../support/server.ts';
import { until } from '../support/waiting.ts';
import { assertSameContents, contentsOf } from './support/contents.ts';
import { oddCommands, oddName } from './support/odd-node.ts';
import { packagesMissing } from './support/packages.ts';
import { type PuppetDb, puppetdbPackages, puppetdbPackagesUsed, startPuppetDb } from './support/puppetdb.ts';

const skip = await packagesMissing(puppetdbPackagesUsed, { large: true, install: puppetdbPackages });

const fill = fileURLToPath(new URL('../../dist/perf/fill.js', import.meta.url));
const programMaxMs = 120_000;
/** The fleet's runs took place at times of their own. */
const keepAll = ['--node-ttl', '0s', '--report-ttl', '3650d'];
const withoutPackages = { factsetHashes: false };

const node = (script: string, ...args: string[]) =>
  outputOf(process.execPath, [script, ...args], { maxMs: programMaxMs });

describe('an archive', { skip, concurrency: false }, () => {
  let folder: string;
  let puppetdb: PuppetDb;
  let source: TestServer;
  const endings = new Endings();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'muster-migration-'));
    endings.after(() => rmSync(folder, { recursive: true, force: true }));
    source = await TestServer.start(endings, { args: keepAll });
    puppetdb = await startPuppetDb(endings);
  });

  after(() => endings.run());

  /** Run by run: Debian's PuppetDB fails over a command that a newer one overtakes, and waits long to try it again. */
  async function fleet(url: string, count: number, first: number): Promise<void> {
    const nodes = ['--nodes', `${count}`, '--first-node', `${first}`, '--resources', '20-60', '--quiet'];
    for (const run of ['0', '1']) await node(fill, '--url', url, ...nodes, '--runs', '1', '--first-run', run);
  }

  /** Resolves when PuppetDB has processed all commands; rejects when it has discarded one or cannot get through. */
  async function puppetdbIsDone(): Promise<void> {
    const metric = async (name: string): Promise<number> => {
      const answer = await fetch(`${puppetdb.url}/metrics/v2/read/puppetlabs.puppetdb.mq:name=global.${name}`);
      return ((await answer.json()) as { value: { Count: number } }).value.Count;
    };
    await until('PuppetDB has processed all commands', async () => (await metric('depth')) === 0, 60_000);
    assert.equal(await metric('discarded'), 0);
  }

  test('of ours is imported by PuppetDB, to the same contents', async () => {
    await fleet(source.url, 6, 0);
    for (const command of oddCommands(Date.now() - 60_000)) await source.apply(command);
    const file = join(folder, 'ours.tgz');
    await node(muster, 'export', '--url', source.url, file);
    await node(muster, 'import', '--no-wait', '--url', puppetdb.url, file);
    await puppetdbIsDone();
    assertSameContents(await contentsOf(puppetdb.url, withoutPackages), await contentsOf(source.url, withoutPackages));

    const target = await TestServer.start(endings, { args: keepAll });
    await node(muster, 'import', '--url', target.url, file);
    const all = { factsetHashes: true };
    assertSameContents(await contentsOf(target.url, all), await contentsOf(puppetdb.url, all));
  });

  test('of PuppetDB is imported here, to the same contents; a second time it changes nothing', async () => {
    // Beside what came from us, it has what its own clients sent.
    await fleet(puppetdb.url, 3, 6);
    await puppetdbIsDone();
    const target = await TestServer.start(endings, { args: keepAll });
    await node(muster, 'import', '--from', puppetdb.url, '--url', target.url);
    const contents = await contentsOf(puppetdb.url, withoutPackages);
    assertSameContents(await contentsOf(target.url, withoutPackages), contents);
    assert.ok(contents.get('nodes')?.some((row) => row.includes(oddName)));

    await node(muster, 'import', '--from', puppetdb.url, '--url', target.url);
    assertSameContents(await contentsOf(target.url, withoutPackages), contents);
    const complaints = target.logLines().filter(({ level }) => level === 'error' || level === 'fatal');
    assert.deepEqual(complaints, []);
  });
});
