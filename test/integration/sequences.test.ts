// After the same commands in the same order, a real PuppetDB and Muster show the same: newer and older ones, equal ones again, nodes that
// are deactivated and come back. PuppetDB and PostgreSQL come from Debian's packages and take minutes, so this runs with
// MUSTER_INTEGRATION=1 only. MUSTER_VARIATIONS says how many commands are sent, MUSTER_SEED which.

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { Endings } from '../support/endings.ts';
import { Random, testNumber, testSeed } from '../support/random.ts';
import { askPort, type ClientCommand, commandTarget, TestServer } from '../support/server.ts';
import { assertSameContents, contentsOf } from './support/contents.ts';
import { packagesMissing } from './support/packages.ts';
import { type PuppetDb, puppetdbPackages, puppetdbPackagesUsed, startPuppetDb } from './support/puppetdb.ts';
import { commandsOf } from './support/varied-sequences.ts';

const skip = await packagesMissing(puppetdbPackagesUsed, { large: true, install: puppetdbPackages });

const COUNT = testNumber('MUSTER_VARIATIONS', 2000);
const NODES = 16;
/** How often the contents are compared. */
const LOOKS = 8;
const DAY = 86_400_000;
const WAIT_SECONDS = 30;

describe('beside a real PuppetDB, commands in sequence', { skip, concurrency: false }, () => {
  let puppetdb: PuppetDb;
  let muster: TestServer;
  const endings = new Endings();
  const agent = new Agent({ keepAlive: true, maxSockets: NODES * 2 });

  before(async () => {
    endings.after(() => agent.destroy());
    const retention = { 'node-purge-ttl': '3650d', 'resource-events-ttl': '3650d' };
    puppetdb = await startPuppetDb(endings, retention);
    const args = Object.entries({ 'node-ttl': '0s', 'report-ttl': '3650d', 'gc-interval': '0', ...retention });
    muster = await TestServer.start(endings, { args: args.flatMap(([name, value]) => [`--${name}`, value]) });
  });

  after(() => endings.run());

  async function apply(port: number, command: ClientCommand): Promise<void> {
    const headers = { 'Content-Type': 'application/json' };
    const target = commandTarget(command, WAIT_SECONDS);
    const { status, text } = await askPort(port, target, { method: 'POST', headers, body: command.payload, agent });
    assert.equal(status, 200, `port ${port}: ${text}\n${command.payload}`);
  }

  test('of each node one after the other, contents are the same', async (t) => {
    const random = new Random(testSeed('sequences'));
    const begin = Date.now() - 30 * DAY;
    const nodes = Array.from({ length: NODES }, (_, i) => commandsOf(`node-${i}.example.com`, random.fork(), begin));
    const ports = [Number(new URL(puppetdb.url).port), muster.port];
    const options = { factsetHashes: true, packagesAndStates: true };
    for (let look = 0; look < LOOKS; look++) {
      await Promise.all(
        nodes.map(async (node) => {
          for (let i = 0; i < COUNT / LOOKS / NODES; i++) {
            const command = node.next().value;
            await Promise.all(ports.map((port) => apply(port, command)));
          }
        }),
      );
      // Comparing may take longer than a server keeps idle connections.
      agent.destroy();
      const theirs = await contentsOf(puppetdb.url, options);
      assertSameContents(await contentsOf(muster.url, options), theirs);
      const rows = [...theirs].map(([target, { length }]) => `${length} of ${decodeURIComponent(target)}`);
      if (look === LOOKS - 1) t.diagnostic(rows.join(', '));
      const empty = [...theirs].filter(([, { length }]) => length === 0).map(([target]) => target);
      assert.deepEqual(empty, [], 'nothing to compare');
    }
  });
});
