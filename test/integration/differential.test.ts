// What a real PuppetDB takes, Muster takes, to the same contents, and what it refuses is refused: for input that nobody meant to
// send. PuppetDB and PostgreSQL come from Debian's packages and take minutes, so this runs with MUSTER_INTEGRATION=1 only.
// MUSTER_VARIATIONS says how many commands are tried (all: about 8,000 in 6 minutes), MUSTER_SEED which, MUSTER_PATIENCE how
// many times longer PuppetDB may take for one.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Endings } from '../support/endings.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { askPort, commandTarget, TestServer } from '../support/server.ts';
import { assertSameContents, contentsOf } from './support/contents.ts';
import { packagesMissing } from './support/packages.ts';
import { type PuppetDb, puppetdbPackages, puppetdbPackagesUsed, startPuppetDb } from './support/puppetdb.ts';
import { type VariedCommand, variedCommands } from './support/varied-commands.ts';

const skip = await packagesMissing(puppetdbPackagesUsed, { large: true, install: puppetdbPackages });

const COUNT = testNumber('MUSTER_VARIATIONS', 1000);
const CONNECTIONS = 32;
/** PuppetDB tries again later what fails inside, and tells nobody meanwhile. On a busy machine it takes longer than that for what it takes. */
const WAIT_SECONDS = 3 * testNumber('MUSTER_PATIENCE', 1);

describe('beside a real PuppetDB', { skip, concurrency: false }, () => {
  let puppetdb: PuppetDb;
  let muster: TestServer;
  const endings = new Endings();
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS * 2 });

  before(async () => {
    endings.after(() => agent.destroy());
    puppetdb = await startPuppetDb(endings);
    muster = await TestServer.start(endings, { args: ['--node-ttl', '0s', '--report-ttl', '3650d'] });
  });

  after(() => endings.run());

  async function isTaken(port: number, command: VariedCommand): Promise<boolean> {
    const headers = { 'Content-Type': 'application/json' };
    const target = commandTarget(command, WAIT_SECONDS);
    const { status } = await askPort(port, target, { method: 'POST', headers, body: command.payload, agent });
    assert.ok(status === 200 || status === 503, `status ${status}`);
    return status === 200;
  }

  test('commands with one value changed are taken and refused alike, to the same contents', async (t) => {
    const random = new Random(testSeed('differential'));
    const all = variedCommands();
    const chosen = COUNT >= all.length ? all : Array.from({ length: COUNT }, () => random.pick(all));
    const ports = [Number(new URL(puppetdb.url).port), muster.port];
    const different: string[] = [];
    let taken = 0;
    const queue = [...new Set(chosen)];
    const sent = queue.length;
    const sender = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const command = next;
        const [theirs, ours] = await Promise.all(ports.map((port) => isTaken(port, command)));
        if (theirs !== ours) different.push(`${command.what}: ${ours ? 'taken here only' : 'refused here only'}`);
        if (theirs) taken++;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sender));
    t.diagnostic(`${sent} commands of ${all.length}, ${taken} taken`);
    assert.deepEqual(different, []);
    assert.ok(taken > sent / 10 && taken < sent, 'some of both kinds');
    const ours = await contentsOf(muster.url, { factsetHashes: true });
    const theirs = await contentsOf(puppetdb.url, { factsetHashes: true, mayBreakOff: true });
    const unread = [...ours.keys()].filter((path) => !theirs.has(path));
    t.diagnostic(`broken off by PuppetDB: ${unread.join(', ') || 'none'}`);
    assert.ok(unread.length < 3, `nothing to compare with: ${unread}`);
    assertSameContents(ours, theirs);
  });
});
